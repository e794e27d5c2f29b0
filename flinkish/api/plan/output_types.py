"""The type of the elements that a transformation emits, as far as it can be inferred."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, TypeAlias

from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from flinkish.api.functions.function_types import (
    collected_type,
    generic_argument,
    returned_item_type,
    returned_type,
)
from flinkish.api.functions.functions import (
    AggregateFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
)
from flinkish.api.functions.join import ProcessJoinFunction
from flinkish.api.functions.process import KeyedProcessFunction, ProcessFunction
from flinkish.api.functions.two_input import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from flinkish.api.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from flinkish.api.plan.operators import (
    FlatMapDescription,
    KeyedProcessDescription,
    MapDescription,
    OperatorDescription,
    ProcessDescription,
)
from flinkish.api.plan.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)
from flinkish.api.plan.two_input import (
    BroadcastProcessDescription,
    CoFlatMapDescription,
    CoMapDescription,
    CoProcessDescription,
    IntervalJoinDescription,
)
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.types.fields import Field, TupleOfFields, field_type
from flinkish.api.types.type_info import TypeInformation, Types

_Type: TypeAlias = "TypeInformation[Any] | None"


def output_type(transformation: Transformation) -> TypeInformation[Any]:
    """The type of the elements that ``transformation`` emits, or that a sink receives: the one
    declared with ``returns`` or ``outputType``, else the one that the function's annotations or the
    source provide, else PICKLED_BYTE_ARRAY."""
    return _output_type(transformation) or Types.PICKLED_BYTE_ARRAY()


def key_type(selector: Any, elements: TypeInformation[Any]) -> _Type:
    """The type of the keys that ``selector`` extracts from ``elements``."""
    if isinstance(selector, (str, int)):
        return field_type(elements, selector, "keyBy")
    if isinstance(selector, KeySelector):
        return generic_argument(selector, KeySelector, 1, "getKey")
    return returned_type(selector)


def check_key_types(
    subject: str, type1: TypeInformation[Any] | None, type2: TypeInformation[Any] | None
) -> None:
    """Raises InvalidProgramError if both types that the user gave are known and differ."""
    if type1 is not None and type2 is not None and type1 != type2:
        raise InvalidProgramError(
            f"{subject}: the streams are keyed by different types, {type1} and {type2}, so their keys"
            " can never be equal. Make both key selectors give the same type."
        )


def _output_type(transformation: Transformation) -> _Type:
    if transformation.outputType is not None:
        return transformation.outputType
    if isinstance(transformation, SourceTransformation):
        return transformation.source.getProducedType()
    if isinstance(transformation, SideOutputTransformation):
        return transformation.tag.getTypeInfo()
    if isinstance(transformation, (OneInputTransformation, TwoInputTransformation)):
        return _result_type(transformation.operator, transformation)
    if isinstance(transformation, UnionTransformation):
        found = {_output_type(stream) for stream in transformation.inputs}
        return found.pop() if len(found) == 1 else None
    if isinstance(transformation, (PartitionTransformation, SinkTransformation)):
        return _output_type(transformation.inputs[0])
    return None


@singledispatch
def _result_type(operator: OperatorDescription, transformation: Transformation) -> _Type:
    """The type of an operator's results."""
    return _output_type(transformation.inputs[0]) if operator.keepsType else None


@_result_type.register
def _map(operator: MapDescription, transformation: Transformation) -> _Type:
    [function] = operator.userFunctions
    if isinstance(function, TupleOfFields):
        elements = _output_type(transformation.inputs[0])
        return None if elements is None else _projected(elements, function.positions)
    if isinstance(function, MapFunction):
        return generic_argument(function, MapFunction, 1, "map")
    return returned_type(function)


def _projected(elements: TypeInformation[Any], fields: tuple[Field, ...]) -> _Type:
    if not elements.isComposite():
        return None
    types = [field_type(elements, field, "project") for field in fields]
    return Types.TUPLE([kind or Types.PICKLED_BYTE_ARRAY() for kind in types])


@_result_type.register
def _flat_map(operator: FlatMapDescription, transformation: Transformation) -> _Type:
    [function] = operator.userFunctions
    if isinstance(function, FlatMapFunction):
        return generic_argument(function, FlatMapFunction, 1) or _written_or_returned(
            function.flatMap
        )
    return _written_or_returned(function)


_PROCESS_RESULTS: tuple[tuple[type[Any], int, str], ...] = (
    (ProcessFunction, 1, "processElement"),
    (KeyedProcessFunction, 2, "processElement"),
    (CoFlatMapFunction, 2, "flatMap1"),
    (CoProcessFunction, 2, "processElement1"),
    (KeyedCoProcessFunction, 3, "processElement1"),
    (BroadcastProcessFunction, 2, "processElement"),
    (KeyedBroadcastProcessFunction, 3, "processElement"),
    (ProcessJoinFunction, 2, "processElement"),
    (ProcessWindowFunction, 1, "process"),
    (WindowFunction, 1, "apply"),
    (ProcessAllWindowFunction, 1, "process"),
    (AllWindowFunction, 1, "apply"),
)
"""The function classes that write to a collector, with the index of the type parameter of their
results, and the method whose ``out`` has the same type."""


@_result_type.register(ProcessDescription)
@_result_type.register(KeyedProcessDescription)
@_result_type.register(CoFlatMapDescription)
@_result_type.register(CoProcessDescription)
@_result_type.register(BroadcastProcessDescription)
@_result_type.register(IntervalJoinDescription)
def _process(operator: OperatorDescription, transformation: Transformation) -> _Type:
    return _collecting(operator.userFunctions[0])


@_result_type.register
def _co_map(operator: CoMapDescription, transformation: Transformation) -> _Type:
    return generic_argument(operator.function, CoMapFunction, 2, "map1")


@_result_type.register
def _window(operator: WindowOperatorDescription, transformation: Transformation) -> _Type:
    if operator.function is not None:
        return _collecting(operator.function)
    if isinstance(operator.aggregation, AggregateFunction):
        return generic_argument(operator.aggregation, AggregateFunction, 2, "getResult")
    return _output_type(transformation.inputs[0])


def _collecting(function: Any) -> _Type:
    for kind, position, method in _PROCESS_RESULTS:
        if isinstance(function, kind):
            found = generic_argument(function, kind, position)
            return found or _written_or_returned(getattr(function, method))
    return _written_or_returned(function)


def _written_or_returned(function: Any) -> _Type:
    return returned_item_type(function) or collected_type(function)
