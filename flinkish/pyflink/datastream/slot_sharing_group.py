"""Slot sharing groups, accepted for ported jobs: Spark has no slots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import total_ordering
from typing import Any, ClassVar

from flinkish.pyflink.absent import AbsentMethods

__all__ = ["MemorySize", "SlotSharingGroup"]


@total_ordering
@dataclass(frozen=True)
class MemorySize(AbsentMethods):
    """A number of bytes (PyFlink: ``MemorySize``)."""

    bytes_size: int

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """A size of ``mebi_bytes`` MiB."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """The number of bytes."""
        return self.bytes_size

    def get_kibi_bytes(self) -> int:
        """The size in whole KiB."""
        return self.bytes_size >> 10

    def get_mebi_bytes(self) -> int:
        """The size in whole MiB."""
        return self.bytes_size >> 20

    def get_gibi_bytes(self) -> int:
        """The size in whole GiB."""
        return self.bytes_size >> 30

    def get_tebi_bytes(self) -> int:
        """The size in whole TiB."""
        return self.bytes_size >> 40

    def __lt__(self, other: MemorySize) -> bool:
        return self.bytes_size < other.bytes_size

    def __str__(self) -> str:
        return f"{self.bytes_size} bytes"


class SlotSharingGroupBuilder:
    """Builds a ``SlotSharingGroup``."""

    def __init__(self, name: str) -> None:
        self._group = SlotSharingGroup(name)

    def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroupBuilder:
        """Request ``cpu_cores`` cores."""
        return self._with(cpu_cores=cpu_cores)

    def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroupBuilder:
        """Request heap memory."""
        return self._with(task_heap_memory=task_heap_memory)

    def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroupBuilder:
        """Request heap memory, in MiB."""
        return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

    def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroupBuilder:
        """Request off-heap memory."""
        return self._with(task_off_heap_memory=task_off_heap_memory)

    def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroupBuilder:
        """Request off-heap memory, in MiB."""
        return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

    def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroupBuilder:
        """Request managed memory."""
        return self._with(managed_memory=managed_memory)

    def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroupBuilder:
        """Request managed memory, in MiB."""
        return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

    def set_external_resource(self, name: str, value: float) -> SlotSharingGroupBuilder:
        """Request ``value`` units of another resource, such as GPUs."""
        known = self._group.get_external_resources()
        return self._with(external_resources=tuple({**known, name: value}.items()))

    def build(self) -> SlotSharingGroup:
        """The group."""
        return self._group

    def _with(self, **resource: Any) -> SlotSharingGroupBuilder:
        self._group = replace(self._group, **resource)
        return self


@dataclass(frozen=True)
class SlotSharingGroup(AbsentMethods):
    """A group of operators (PyFlink: ``SlotSharingGroup``); it has no effect."""

    Builder: ClassVar[type[SlotSharingGroupBuilder]] = SlotSharingGroupBuilder

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: tuple[tuple[str, float], ...] = ()

    def get_name(self) -> str:
        """The name of the group."""
        return self.name

    def get_managed_memory(self) -> MemorySize | None:
        """The value that was set, without effect."""
        return self.managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        """The value that was set, without effect."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """The value that was set, without effect."""
        return self.task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        """The value that was set, without effect."""
        return self.cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """The value that was set, without effect."""
        return dict(self.external_resources)

    @staticmethod
    def builder(name: str) -> SlotSharingGroupBuilder:
        """A builder of a group of that name."""
        return SlotSharingGroupBuilder(name)
