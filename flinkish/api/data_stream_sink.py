"""``DataStreamSink``: where a stream ends."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from flinkish.api.arguments import instance, positive, text
from flinkish.api.config import MAX_KEY_GROUPS
from flinkish.api.transformations import SinkTransformation

T = TypeVar("T")


class DataStreamSink(Generic[T]):
    """A stream that has ended in a sink (Flink: the same)."""

    def __init__(self, transformation: SinkTransformation) -> None:
        self._transformation = transformation

    def name(self, name: str) -> Self:
        """Name the sink."""
        self._transformation.name = instance("name", name, str, "Pass a string.")
        return self

    def uid(self, uid: str) -> Self:
        """Give the sink an identity that stays when the job changes."""
        self._transformation.uid = text("uid", uid)
        return self

    def setParallelism(self, parallelism: int) -> Self:
        """Accepted for ported jobs; Spark decides how many tasks write."""
        self._transformation.parallelism = positive("setParallelism", parallelism, MAX_KEY_GROUPS)
        return self

    def setMaxParallelism(self, maxParallelism: int) -> Self:
        """Accepted for ported jobs; a sink has no key groups."""
        positive("setMaxParallelism", maxParallelism, MAX_KEY_GROUPS)
        return self

    def setDescription(self, description: str) -> Self:
        """Describe the sink in the plan."""
        self._transformation.description = instance(
            "setDescription", description, str, "Pass a string."
        )
        return self

    def disableChaining(self) -> Self:
        """Accepted for ported jobs: sinks are not chained."""
        return self

    def slotSharingGroup(self, slotSharingGroup: object) -> Self:
        """Accepted for ported jobs: Spark has no slots."""
        return self
