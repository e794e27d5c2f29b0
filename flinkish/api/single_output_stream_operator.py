"""``SingleOutputStreamOperator``: the output of one operator, and ``DataStreamSource``, of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

from flinkish.api.arguments import instance, positive, text, whole_number
from flinkish.api.config import MAX_KEY_GROUPS
from flinkish.api.data_stream import DataStream
from flinkish.api.output_tag import OutputTag
from flinkish.api.transformations import SideOutputTransformation, Transformation
from flinkish.api.types import TypeInformation

if TYPE_CHECKING:
    from flinkish.api.environment import StreamExecutionEnvironment

T_co = TypeVar("T_co", covariant=True)
X = TypeVar("X")


class SingleOutputStreamOperator(DataStream[T_co]):
    """The output of an operator, which can be named and has side outputs (Flink: the same)."""

    def getName(self) -> str:
        """The operator's name."""
        return self._transformation.name

    def name(self, name: str) -> Self:
        """Name the operator; errors, metrics and the plan show it."""
        self._transformation.name = instance("name", name, str, "Pass a string.")
        return self

    def uid(self, uid: str) -> Self:
        """Give the operator an identity that stays when the job changes: its state is kept under
        it in the checkpoint."""
        self._transformation.uid = text("uid", uid)
        return self

    def setDescription(self, description: str) -> Self:
        """Describe the operator in the plan."""
        self._transformation.description = instance(
            "setDescription", description, str, "Pass a string."
        )
        return self

    def setParallelism(self, parallelism: int) -> Self:
        """With 1 a keyed operator is one task, which hands on in the order of its input, whatever the
        keys. Another number is shown in the plan, and the tasks are those of the environment."""
        self._transformation.parallelism = positive("setParallelism", parallelism, MAX_KEY_GROUPS)
        return self

    def setMaxParallelism(self, maxParallelism: int) -> Self:
        """Accepted for ported jobs; the number of key groups is that of the environment."""
        self._transformation.maxParallelism = positive(
            "setMaxParallelism", maxParallelism, MAX_KEY_GROUPS
        )
        return self

    def returns(self, typeInfo: TypeInformation[T_co] | type[T_co]) -> Self:
        """Say the type of the elements, which a lambda cannot: ``Types.STRING()``, or a Python type
        such as ``str``, ``list[int]`` or a dataclass (Flink's ``Class`` and ``TypeHint``)."""
        self._transformation.outputType = TypeInformation.of(typeInfo)
        return self

    def forceNonParallel(self) -> Self:
        """``setParallelism(1)``. An operator without keys is one task anyway."""
        return self.setParallelism(1)

    def setBufferTimeout(self, timeoutMillis: int) -> Self:
        """Accepted for ported jobs: elements travel a batch at a time."""
        whole_number("setBufferTimeout", timeoutMillis, -1)
        return self

    def disableChaining(self) -> Self:
        """Accepted for ported jobs: it only makes a job slower, so the operator is chained still."""
        return self

    def startNewChain(self) -> Self:
        """Accepted for ported jobs, like ``disableChaining``."""
        return self

    def slotSharingGroup(self, slotSharingGroup: object) -> Self:
        """Accepted for ported jobs: Spark has no slots. Size its executors instead."""
        return self

    def addMetricVariable(self, key: str, value: str) -> Self:
        """Accepted for ported jobs: metrics go by the operator's name, without variables."""
        return self

    def enableAsyncState(self) -> Self:
        """Accepted for ported jobs: state is read a page at a time, so there is no waiting."""
        return self

    def getSideOutput(self, sideOutputTag: OutputTag[X]) -> DataStream[X]:
        """The operator's side output of that tag."""
        instance(
            "getSideOutput", sideOutputTag, OutputTag, "Pass the one that the operator emits to."
        )
        return DataStream(
            self._environment, SideOutputTransformation(sideOutputTag, self._transformation)
        )


class DataStreamSource(SingleOutputStreamOperator[T_co]):
    """The output of a source (Flink: the same), with the watermarks that it was given."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: Transformation,
        source: Transformation | None = None,
    ) -> None:
        super().__init__(environment, transformation)
        self._source = source or transformation

    def getSideOutput(self, sideOutputTag: OutputTag[X]) -> DataStream[X]:
        """The source's side output of that tag, such as that of its malformed records."""
        mend = "Pass the one that the source was given, as in withMalformedRecords(tag)."
        instance("getSideOutput", sideOutputTag, OutputTag, mend)
        return DataStream(self._environment, SideOutputTransformation(sideOutputTag, self._source))
