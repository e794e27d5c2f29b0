"""Stand-ins for the objects that a traced function reads from elsewhere: its *external constants*."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from enum import Enum, EnumType
from inspect import isclass
from operator import attrgetter, itemgetter
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from flinkish.api.functions.functions import RichFunction
from flinkish.api.types.fields import (
    Field,
    NamedField,
    PositionedField,
    WholeElement,
    field_read,
)
from flinkish.runtime.columns.tracing.expressions import Kind
from flinkish.runtime.columns.tracing.guards import (
    MISSING,
    found_in_class,
    has_plain_attributes,
    in_slot,
    is_data_descriptor,
    own_attribute,
)
from flinkish.runtime.columns.tracing.objects import CLASSES, Made, made_by_class, maker_of
from flinkish.runtime.columns.tracing.purity import HIDDEN
from flinkish.runtime.columns.tracing.record_classes import constructed
from flinkish.runtime.columns.tracing.symbolic_values import column_of, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol, is_constant, kind_of_constant
from flinkish.runtime.columns.tracing.unsupported import CannotTell, Unsupported

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace

MOST_CONTENT = 1_000
"""Larger containers are not traced, as each run has to check whether the contents have changed."""


class External:
    """Stands for an external constant that is an object: a module, class or function, or the
    function's own object."""

    __slots__ = ("_traced_name", "_traced_object", "_traced_trace")

    def __init__(self, trace: Trace, value: Any, name: str) -> None:
        self._traced_trace = trace
        self._traced_object = value
        self._traced_name = name

    def __getattr__(self, attribute: str) -> Any:
        value, trace = self._traced_object, self._traced_trace
        name, guards = f"{self._traced_name}.{attribute}", trace.guards
        if isinstance(value, EnumType) and attribute in value.__members__:
            return trace.known(guards.value(_member, value, attribute), name)
        kind = guards.class_of(value)
        if isinstance(value, Enum) and _is_plain_part(value, attribute):
            return trace.known(guards.value(getattr, value, attribute), name)
        if not has_plain_attributes(value):
            raise trace.unsupported(f"reads {name} of a {kind.__name__}")
        described = guards.member(kind, attribute)
        if isinstance(described, types.MemberDescriptorType) and not isclass(value):
            return trace.known(self._traced_there(in_slot, attribute, name), name)
        if is_data_descriptor(described):
            raise trace.unsupported(f"reads the property {name}")
        if isinstance(value, ModuleType):
            return trace.known(self._traced_there(own_attribute, attribute, name), name)
        if isclass(value):
            return self._traced_of_class(attribute, name)
        if guards.value(own_attribute, value, attribute) is not MISSING:
            return trace.known(own_attribute(value, attribute, MISSING), name)
        if described is not MISSING and described is vars(RichFunction).get(attribute):
            raise trace.unsupported(f"calls {name}")
        if isinstance(described, FunctionType):
            return trace.bound(described, self)
        if isinstance(described, staticmethod):
            return trace.known(described.__func__, name)
        if is_constant(described):
            return trace.known(guards.value(found_in_class, kind, attribute), name)
        if trace.exploring and described is MISSING and isinstance(value, RichFunction):
            raise CannotTell  # ``open`` may set it
        raise trace.unsupported(f"reads {name}")

    def _traced_there(self, get: Callable[[Any, Any, Any], Any], attribute: str, name: str) -> Any:
        """What ``get`` reads of the object. Raises Unsupported if that is missing."""
        value = self._traced_trace.guards.value(get, self._traced_object, attribute)
        if value is MISSING:
            raise self._traced_trace.unsupported(f"reads {name}, which is not there")
        return value

    def _traced_of_class(self, attribute: str, name: str) -> Any:
        guards, kind = self._traced_trace.guards, self._traced_object
        member = guards.member(kind, attribute)
        if isinstance(member, staticmethod):
            return self._traced_trace.known(member.__func__, name)
        if is_constant(member):
            return self._traced_trace.known(guards.value(found_in_class, kind, attribute), name)
        maker = maker_of(self._traced_trace, kind, attribute)
        if maker is not None:
            return maker
        raise self._traced_trace.unsupported(f"reads {name}")

    def __setattr__(self, attribute: str, value: Any) -> None:
        if not attribute.startswith("_traced_"):
            name = f"{self._traced_name}.{attribute}"
            raise self._traced_trace.unsupported(f"writes the attribute {name}")
        super().__setattr__(attribute, value)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        value, trace = self._traced_object, self._traced_trace
        replaced = trace.replacement(value)
        if not isclass(value) or (replaced is not None and value not in (dict, tuple)):
            trace.check_no_tokens(self._traced_name, arguments, named)
        if isclass(value) and value in CLASSES:
            return made_by_class(trace, value, arguments, named)
        if replaced is not None:
            takes = value is dict or (value in (min, max) and named.keys() == {"key"})
            if named and not takes:
                raise trace.unsupported(f"calls {self._traced_name} with {', '.join(named)}=")
            return replaced(trace, *arguments, **named)
        if isinstance(value, (FunctionType, MethodType, WholeElement)):
            try:
                return trace.callable_of(value)(*arguments, **named)
            except Unsupported as inner:
                raise Unsupported(
                    f"{trace.unsupported(f'calls {self._traced_name}')}, which {inner}"
                ) from None
        if isclass(value) and issubclass(value, Exception) and trace.onlyRaises():
            return Exception()
        if isclass(value):
            made = constructed(trace, value, arguments, named)
            if made is not None:
                return made
        raise trace.unsupported(f"calls {self._traced_name}")

    def _traced_unsupported(self, *arguments: Any) -> Any:
        raise self._traced_trace.unsupported(
            f"uses {self._traced_name}, a {type(self._traced_object).__name__}"
        )

    __bool__ = __contains__ = __getitem__ = __iter__ = __len__ = __hash__ = _traced_unsupported
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _traced_unsupported
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _traced_unsupported
    __format__ = __repr__ = __index__ = __setitem__ = _traced_unsupported


class Container(External):
    """Stands for a set, list or dict that a function looks into, which Python does for each
    element."""

    __slots__ = ("_traced_found", "_traced_get", "_traced_item", "_traced_kinds")

    def __init__(self, trace: Trace, value: Any, name: str) -> None:
        super().__init__(trace, value, name)
        self._traced_get: Any = None
        self._traced_item: Any = None

    def _traced_look(self) -> None:
        """Note the contents, and copy the container. Raises Unsupported if it is too large or not
        constant."""
        if self._traced_get is not None:
            return
        trace, container = self._traced_trace, self._traced_object
        if len(container) > MOST_CONTENT:
            raise trace.unsupported(
                f"looks into {self._traced_name}, which has more than {MOST_CONTENT}"
            )
        content = trace.guards.content(container)
        if not all(map(is_constant, content)):
            raise trace.unsupported(
                f"looks into {self._traced_name}, which has more than numbers and texts"
            )
        copied = tuple(container) if isinstance(container, list) else type(container)(container)
        self._traced_found = copied.__contains__
        self._traced_item = copied.__getitem__ if isinstance(copied, dict) else None
        self._traced_kinds = {kind_of_constant(each) for each in content[len(container) :]}
        self._traced_get = getattr(copied, "get", len)

    def __contains__(self, item: Any) -> bool:
        self._traced_look()
        if is_constant(item):
            return bool(self._traced_found(item))
        return bool(self._traced_call(self._traced_found, "bool", item))

    def __getitem__(self, key: Any) -> Any:
        self._traced_needs_dict("takes an item of")
        if is_constant(key):
            return self._traced_trace.constant(self._traced_item(key))
        return self._traced_call(self._traced_item, self._traced_kind(), key)

    def __getattr__(self, attribute: str) -> Any:
        if attribute != "get" or not isinstance(self._traced_object, dict):
            return super().__getattr__(attribute)
        return self._traced_get_default

    def _traced_get_default(self, key: Any, default: Any = None) -> Any:
        self._traced_needs_dict("looks into")
        trace = self._traced_trace
        if is_constant(key) and is_constant(default):
            return trace.constant(self._traced_get(key, default))
        if default is None:
            return self[key]  # what is not there is not exact, and then the function is called
        kind = self._traced_kind(trace.expression(default).kind)
        return self._traced_call(self._traced_get, kind, key, default)

    def _traced_needs_dict(self, action: str) -> None:
        if not isinstance(self._traced_object, dict):
            raise self._traced_trace.unsupported(f"{action} {self._traced_name}")
        self._traced_look()

    def _traced_kind(self, *kinds: Kind) -> Kind:
        """The kind of all values that may be found. Raises Unsupported if they have several."""
        (kind, *others) = {*self._traced_kinds, *kinds} or {None}
        if others or kind in (None, "none"):
            raise self._traced_trace.unsupported(
                f"finds values of several types in {self._traced_name}"
            )
        return kind

    def _traced_call(self, function: Any, kind: Kind, *arguments: Any) -> Symbol:
        trace = self._traced_trace
        expressions = [trace.expression(argument) for argument in arguments]
        return trace.noted(trace.expressions.call(function, kind, *expressions))


class Owner(External):
    """Stands for the object of a method that writes some of its attributes."""

    __slots__ = ("_traced_values",)

    def __init__(self, trace: Trace, value: Any, name: str, written: Mapping[str, Any]) -> None:
        super().__init__(trace, value, name)
        self._traced_values = dict(written)

    def __getattr__(self, attribute: str) -> Any:
        if attribute in self._traced_values:
            return self._traced_values[attribute]
        return super().__getattr__(attribute)

    def __setattr__(self, attribute: str, value: Any) -> None:
        if not attribute.startswith("_traced_") and attribute in self._traced_values:
            self._traced_values[attribute] = value
        else:
            super().__setattr__(attribute, value)


def _member(owner: Any, name: Any, missing: Any) -> Any:
    """A member of an enumeration, as a getter for ``Guards.value``."""
    return owner.__members__.get(name, missing)


def _is_plain_part(member: Enum, attribute: str) -> bool:
    """Whether ``attribute`` is the name or the value of ``member``, as every enumeration has
    them."""
    return (
        attribute in ("name", "value")
        and found_in_class(type(member), attribute) is vars(Enum)[attribute]
    )


def getter_of(trace: Trace, value: Any) -> Callable[..., Any] | None:
    """``value`` as a function that takes symbols, if it is a getter of a field; else None."""
    if isinstance(value, (NamedField, PositionedField)):
        field = field_read(value)
        return lambda element: _field_of(trace, element, field)
    hidden = isinstance(value, attrgetter) and any(
        part.startswith(HIDDEN) for name in value.__reduce__()[1] for part in name.split(".")
    )
    if hidden or not isinstance(value, (itemgetter, attrgetter)):
        return None

    def get(element: Any) -> Any:
        trace.check_no_tokens("a getter", (element,), {})
        return value(element)

    return get


def _field_of(trace: Trace, element: Any, field: Field | None) -> Any:
    if isinstance(element, Symbol):
        if trace.exploring:
            return element
        if element._traced_kind == "opaque" and not isinstance(element, Made):
            raise trace.unsupported("reads a field of a single value")  # of a list or a struct
    shape, columns = taken_apart(trace, element)
    return Symbol(trace, columns[column_of(shape, field)])
