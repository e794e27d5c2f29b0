"""Flink's public methods, as ``flink_2_3_datastream_api.txt`` lists them, and the classes that
flinkish has for theirs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flinkish as fl

REFERENCE = Path(__file__).with_name("flink_2_3_datastream_api.txt")

CLASSES: dict[str, type[Any]] = {
    "DataStream": fl.DataStream,
    "SingleOutputStreamOperator": fl.SingleOutputStreamOperator,
    "KeyedStream": fl.KeyedStream,
    "WindowedStream": fl.WindowedStream,
    "AllWindowedStream": fl.AllWindowedStream,
    "ConnectedStreams": fl.ConnectedStreams,
    "BroadcastConnectedStream": fl.BroadcastConnectedStream,
    "JoinedStreams": fl.JoinedStreams,
    "CoGroupedStreams": fl.CoGroupedStreams,
    "KeyedStream.IntervalJoin": fl.IntervalJoin,
    "KeyedStream.IntervalJoined": fl.IntervalJoined,
    "StreamExecutionEnvironment": fl.StreamExecutionEnvironment,
    "Trigger": fl.Trigger,
    "Evictor": fl.Evictor,
    "WindowAssigner": fl.WindowAssigner,
    "KeyedProcessFunction": fl.KeyedProcessFunction,
    "ProcessWindowFunction": fl.ProcessWindowFunction,
    "TimerService": fl.TimerService,
}
"""flinkish's class for each of Flink's, by the name without the package."""


@dataclass(frozen=True)
class FlinkMethod:
    """A public method of Flink: ``map(MapFunction<T, R>)`` of ``DataStream``."""

    className: str
    name: str
    parameters: tuple[str, ...]

    @property
    def signature(self) -> str:
        """The name with the types of the parameters."""
        return f"{self.name}({', '.join(self.parameters)})"

    @property
    def isConstructor(self) -> bool:
        """Whether it makes an object."""
        return self.name == self.className.rpartition(".")[2]

    def fits(self, function: Callable[..., Any]) -> bool:
        """Whether ``function`` can be called with as many arguments."""
        least, most = _argument_counts(function)
        count = len(self.parameters)
        if self.parameters and self.parameters[-1].endswith("..."):
            return least <= count and most >= count
        return least <= count <= most


def flink_methods(text: str) -> Iterator[FlinkMethod]:
    """The methods in ``text``, each once."""
    seen = set()
    name = ""
    for line in text.splitlines():
        if line.startswith("## "):
            name = line.rpartition(".")[2].removeprefix("## ").replace("$", ".")
        elif line.startswith("- "):
            match = re.fullmatch(r"- .*?([\w$]+)\((.*)\);", line)
            assert match is not None, line
            parameters = tuple(_split(match[2]))
            method = FlinkMethod(name, match[1].rpartition("$")[2], parameters)
            if method not in seen:
                seen.add(method)
                yield method


def _split(parameters: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, character in enumerate(parameters):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            yield parameters[start:position].strip()
            start = position + 1
    if parameters.strip():
        yield parameters[start:].strip()


def _argument_counts(function: Callable[..., Any]) -> tuple[int, float]:
    least, most = 0, 0.0
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = float("inf")
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            most += 1
            least += parameter.default is parameter.empty
    return least, most
