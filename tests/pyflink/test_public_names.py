"""All of PyFlink's public names are there, with its parameters and defaults, or say what to write instead."""

from __future__ import annotations

import importlib
import inspect
from enum import Enum
from typing import Any

from flinkish.api.absent import AbsentNameError, absent_method
from flinkish.pyflink.absent import PYFLINK, AbsentMethods
from tests.pyflink.reference import PublicName, public_names

_JAVA = "it is made of an object of Java's"
_BUILDER = "made by its builder"
_MADE = "made by the stream"
_WORKER = "internal to PyFlink's worker"

DIFFERENT = {
    "common.typeinfo.BasicTypeInfo.__init__": "made by Types: an abstract class here",
    "common.typeinfo.InstantTypeInfo.__init__": "takes nothing",
    "common.typeinfo.DateTypeInfo.EPOCH_ORDINAL": _WORKER,
    "common.typeinfo.TimeTypeInfo.EPOCH_ORDINAL": _WORKER,
    "common.job_client.JobClient.trigger_savepoint": "a directory is needed",
    "common.restart_strategy.RestartStrategies.": "made by the methods of RestartStrategies",
    "datastream.async_retry_strategies.FixedDelayRetryStrategy.__init__": "predicates may be left out",
    "datastream.async_retry_strategies.ExponentialBackoffDelayRetryStrategy.__init__": "the same",
    "datastream.checkpoint_storage.FileSystemCheckpointStorage.__init__": "a path is needed",
    "datastream.connectors.file_system.FileSink.get_transformer": _JAVA,
    "datastream.connectors.kafka.KafkaSink.get_transformer": _JAVA,
    "datastream.connectors.kafka.FlinkKafkaProducer.": "Flink 1's: it says what to write",
    "datastream.data_stream.BroadcastStream.__init__": _MADE,
    "datastream.data_stream.BroadcastConnectedStream.__init__": _MADE,
    "datastream.data_stream.DataStream.broadcast": "two methods there, of one name",
    "datastream.data_stream.KeyedStream.AccumulateType": _WORKER,
    "datastream.functions.AsyncRetryStrategy.fixed_delay": "predicates may be left out",
    "datastream.functions.AsyncRetryStrategy.exponential_backoff": "the same",
    "datastream.functions.SinkFunction.__init__": _JAVA,
    "datastream.functions.SourceFunction.__init__": _JAVA,
    "datastream.slot_sharing_group.MemorySize.__init__": "bytes_size is needed",
    "datastream.state.StateTtlConfig.__init__": _BUILDER,
    "datastream.state.StateTtlConfig.Builder.__init__": "made by new_builder(ttl)",
    "datastream.state.StateTtlConfig.CleanupStrategies": _WORKER,
    "datastream.window.ContinuousEventTimeTrigger.register_next_fire_timestamp": _WORKER,
    "datastream.window.ContinuousProcessingTimeTrigger.register_next_fire_timestamp": _WORKER,
}
"""Why a name, or those that begin so, are not there or have other parameters."""

NAMES = public_names()
SAME = [name for name in NAMES if not str(name).startswith(tuple(DIFFERENT))]


def found(name: PublicName) -> Any:
    """Return flinkish's object of that name; None if an error says what to write instead."""
    try:
        value: Any = importlib.import_module(f"flinkish.pyflink.{name.module}")
        owner: Any = None
        for part in name.name.split("."):
            owner = value
            value = getattr(value, part)
    except AbsentNameError:
        return None
    except AttributeError:
        says = inspect.isclass(owner) and issubclass(owner, AbsentMethods)
        if says and absent_method(owner, part, PYFLINK) is not None:
            return None
        raise
    return value


def parameters(function: Any) -> list[str]:
    """The parameters of a function of flinkish, as the list writes them."""
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        given = parameter.default
        default = given if isinstance(given, Enum) else repr(given)
        default = "" if given is parameter.empty else f"={default}"
        shown.append(f"{stars}{parameter.name}{default}")
    return shown if not shown or shown[0] != "self" else shown[1:]


def difference(name: PublicName) -> str | None:
    """Describe the difference between a name and PyFlink's; None if there is none."""
    try:
        value = found(name)
    except AttributeError as error:
        return str(error)
    if value is None or name.kind not in ("function", "method", "static"):
        return None
    wanted = [part for part in (name.parameters or "()")[1:-1].split(", ") if part]
    ours = parameters(value)
    rest = ours[len(wanted) :]
    if ours[: len(wanted)] != wanted:
        return f"takes {ours}, and PyFlink's {wanted}"
    needed = [more for more in rest if "=" not in more and not more.startswith("*")]
    return f"needs {needed}, which PyFlink's has not" if needed else None


def test_each_name_of_pyflink_is_there_or_says_what_to_write():
    assert len(SAME) > 1_000
    differing = {str(name): different for name in SAME if (different := difference(name))}
    assert differing == {}


def test_each_difference_is_one_still():
    for start in DIFFERENT:
        names = [name for name in NAMES if str(name).startswith(start)]
        assert any(difference(name) for name in names), start
