"""``Configuration``: settings of a job by the names of Flink's options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Self

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError


class CheckpointingMode(Enum):
    """How often an element may count in state after a crash (Flink: ``CheckpointingMode``)."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"
    """Accepted; flinkish counts each element exactly once all the same."""


class RuntimeExecutionMode(Enum):
    """Whether a job shows every step or just the last (Flink: ``RuntimeExecutionMode``)."""

    STREAMING = "STREAMING"
    AUTOMATIC = "AUTOMATIC"
    BATCH = "BATCH"


class Configuration(Mapping[str, Any]):
    """Options by Flink's names, for ``env.configure`` (Flink: ``Configuration``).

    >>> Configuration({"parallelism.default": 4}).set("pipeline.max-parallelism", 16)
    Configuration({'parallelism.default': 4, 'pipeline.max-parallelism': 16})
    """

    OPTIONS = (
        "execution.buffer-timeout.interval",
        "execution.checkpointing.dir",
        "execution.checkpointing.interval",
        "execution.checkpointing.mode",
        "execution.runtime-mode",
        "parallelism.default",
        "pipeline.auto-watermark-interval",
        "pipeline.max-parallelism",
        "pipeline.object-reuse",
        "pipeline.operator-chaining.enabled",
    )
    """The options there are. Times are int ms or a Duration."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options: dict[str, Any] = {}
        if options is not None:
            instance(
                "Configuration", options, Mapping, 'Pass a dict, as {"parallelism.default": 4}.'
            )
        for name, value in (options or {}).items():
            self.set(name, value)

    def set(self, option: str, value: Any) -> Self:
        """Set an option. Raises IllegalArgumentError for one that flinkish does not have, since a
        setting without effect would be believed in."""
        if option not in self.OPTIONS:
            raise IllegalArgumentError(
                f"Configuration: flinkish has no option {option!r}. It has"
                f" {', '.join(self.OPTIONS)}; all else is set on the SparkSession."
            )
        self._options[option] = value
        return self

    def __getitem__(self, option: str) -> Any:
        if not isinstance(option, str):
            raise KeyError(option)
        return self._options[option]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def __repr__(self) -> str:
        return f"Configuration({self._options!r})"
