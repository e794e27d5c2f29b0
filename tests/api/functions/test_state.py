"""State descriptors: names, types and what is refused."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish import Types
from flinkish.api.errors import IllegalArgumentError, NotSupportedError


def test_a_type_may_be_a_python_type():
    assert fl.ValueStateDescriptor("s", int).getType() == Types.LONG()
    assert fl.ListStateDescriptor("s", Types.INT()).getType() == Types.INT()
    assert fl.ReducingStateDescriptor("s", max, float).getType() == Types.DOUBLE()
    assert fl.ValueStateDescriptor("s").getType() is None
    of_map = fl.MapStateDescriptor("s", str, list[int])
    assert (of_map.keyType, of_map.valueType) == (Types.STRING(), Types.LIST(Types.LONG()))


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_state_has_a_name(name):
    with pytest.raises(IllegalArgumentError, match=r"ValueStateDescriptor: name: .* Pass a string"):
        fl.ValueStateDescriptor(name)


def test_queryable_state_names_the_alternative():
    with pytest.raises(NotSupportedError, match=r"setQueryable is not supported\. Write"):
        fl.ValueStateDescriptor("s").setQueryable("name")
