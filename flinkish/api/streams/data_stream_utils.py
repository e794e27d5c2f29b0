"""``DataStreamUtils``: static methods that ported jobs call with a stream."""

from __future__ import annotations

from flinkish.api.arguments import instance, text
from flinkish.api.execution.client import CloseableIterator
from flinkish.api.functions.functions import KeySelectorLike
from flinkish.api.plan.transformations import check_bounded
from flinkish.api.streams.data_stream import DataStream
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.type_variables import K, T
from flinkish.api.types.type_info import TypeInformation


class DataStreamUtils:
    """Keys a stream again, or collects it (Flink: ``DataStreamUtils``)."""

    @staticmethod
    def reinterpretAsKeyedStream(
        stream: DataStream[T],
        keySelector: KeySelectorLike[T, K],
        typeInfo: TypeInformation[K] | None = None,
    ) -> KeyedStream[T, K]:
        """``stream`` keyed by ``keySelector``. Flink requires that each element is in the task of
        its key already, and does not move it; here elements are shuffled by key, so results are
        always right.

        >>> from flinkish.testing import StreamTestHarness
        >>> harness = StreamTestHarness(
        ...     lambda s: DataStreamUtils.reinterpretAsKeyedStream(
        ...         s.keyBy(lambda word: word).map(str.upper), lambda word: word
        ...     ).reduce(lambda a, b: a + b)
        ... )
        >>> for word in ("a", "a"):
        ...     harness.processElement(word)
        >>> [record.value for record in harness.getOutput()]
        ['A', 'AA']
        """
        _check("reinterpretAsKeyedStream", stream)
        return stream.keyBy(keySelector, typeInfo)

    @staticmethod
    def collect(stream: DataStream[T]) -> CloseableIterator[T]:
        """Run the job, and return an iterator over the elements of ``stream``, as
        ``stream.executeAndCollect()`` does."""
        return _check("collect", stream).executeAndCollect()

    @staticmethod
    def collectBoundedStream(stream: DataStream[T], jobName: str) -> list[T]:
        """Run the job, and return all elements of ``stream``. An unbounded one raises IllegalArgumentError."""
        name = text("collectBoundedStream: jobName", jobName)
        _check("collectBoundedStream", stream)
        fix = "Pass a limit: stream.executeAndCollect(jobName, limit)."
        check_bounded("collectBoundedStream", stream.getTransformation(), fix)
        with stream.executeAndCollect(name) as elements:
            return list(elements)


def _check(method: str, stream: DataStream[T]) -> DataStream[T]:
    return instance(
        f"DataStreamUtils.{method}", stream, DataStream, "Pass the stream first, then the rest."
    )
