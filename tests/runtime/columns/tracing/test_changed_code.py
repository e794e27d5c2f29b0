"""Code and values that a function reads may be replaced between two batches, and some reads are calls."""

from __future__ import annotations

import builtins
import itertools
import types
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pytest

from flinkish import MapFunction, WatermarkGenerator, WatermarkStrategy
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns
from flinkish.testing import StreamTestHarness
from tests.column_counts import counted_runs

BATCH = pa.RecordBatch.from_pydict({"n": [1, 2, 3], "x": [0.5, -0.0, 7.25]})


def results(build, change, traces):
    """Return the output of a job for a batch, and for the same batch after ``change``; and whether each took the
    columns."""

    def built(stream):
        config = stream.getExecutionEnvironment().getConfig().setColumnChecks(0)
        if not traces:
            config.disableFunctionTracing()
        return build(stream)

    harness = StreamTestHarness(built)
    taken = []
    for step in (lambda: None, change):
        step()
        with counted_runs() as runs:
            harness._inputs[0].output.emitRecords(Records(RowColumns(BATCH), no_timestamps(3)))
        taken.append(bool(sum(runs.taken.values())))
    return [repr(element) for element in harness.getOutput() if hasattr(element, "value")], taken


SOURCE = """
import math
SCALE = 2
OBJECT = None

class Base:
    inherited = 3
    def of_base(self, n): return n + 1

class Other:
    weight = 50
    inherited = 60
    def times(self, n): return n * 100
    def of_base(self, n): return n * 200
    def __call__(self, r): return r.n - 7

class Thing(Base):
    weight = 5
    def __init__(self): self.own = 4
    def times(self, n): return n * 2
    def __call__(self, r): return r.n * 3
    @staticmethod
    def fixed(n): return n + 9

class Slotted:
    __slots__ = ("held",)

class Money(NamedTuple):
    amount: int
    unit: int = 1
    def doubled(self): return self.amount * 2

@dataclass
class Point:
    a: int
    b: int = 1
    def summed(self): return self.a + self.b
    @property
    def first(self): return self.a

def helper(n, by=10, *, more=1): return n + by + more
def outer(value):
    def inner(r): return r.n + value
    return inner

module = types.ModuleType("module")
module.value = 6
module.function = lambda n: n - 1
thing = Thing()
slotted = Slotted()
slotted.held = 8
enclosed = outer(1)
"""


def fresh():
    """The script, anew."""
    space = {
        "__name__": __name__,
        "MapFunction": MapFunction,
        "NamedTuple": NamedTuple,
        "dataclass": dataclass,
        "types": types,
    }
    exec(compile(SOURCE, "script.py", "exec"), space)
    return types.SimpleNamespace(space=space, **space)


def function(script, text):
    return eval(f"lambda r: {text}", script.space)


def globals_set(name, value):
    return lambda s: s.space.update({name: value})


def code_of(text):
    return eval(text).__code__


CHANGES = {
    "method": ("thing.times(r.n)", lambda s: setattr(s.Thing, "times", lambda self, n: n * 7)),
    "method of the object": (
        "thing.times(r.n)",
        lambda s: setattr(s.thing, "times", lambda n: n * 7),
    ),
    "method of a base": (
        "thing.of_base(r.n)",
        lambda s: setattr(s.Base, "of_base", lambda self, n: n * 7),
    ),
    "override in a subclass": (
        "thing.of_base(r.n)",
        lambda s: setattr(s.Thing, "of_base", lambda self, n: n * 7),
    ),
    "override of a class attribute": (
        "thing.inherited + r.n",
        lambda s: setattr(s.Thing, "inherited", 70),
    ),
    "code of a method": (
        "thing.times(r.n)",
        lambda s: setattr(s.Thing.times, "__code__", code_of("lambda self, n: n * 7")),
    ),
    "class attribute": ("thing.weight * r.n", lambda s: setattr(s.Thing, "weight", 70)),
    "class attribute of a base": (
        "thing.inherited + r.n",
        lambda s: setattr(s.Base, "inherited", 70),
    ),
    "class attribute, shadowed": ("thing.weight * r.n", lambda s: setattr(s.thing, "weight", 70)),
    "class attribute, of the class": (
        "Thing.weight * r.n",
        lambda s: setattr(s.Thing, "weight", 70),
    ),
    "class attribute, a property": (
        "thing.weight * r.n",
        lambda s: setattr(s.Thing, "weight", property(lambda self: 70)),
    ),
    "attribute": ("thing.own * r.n", lambda s: setattr(s.thing, "own", 70)),
    "attribute, a property": (
        "thing.own * r.n",
        lambda s: setattr(s.Thing, "own", property(lambda self: 70)),
    ),
    "attributes": ("thing.own * r.n", lambda s: setattr(s.thing, "__dict__", {"own": 70})),
    "__getattribute__": (
        "thing.own * r.n",
        lambda s: setattr(s.Thing, "__getattribute__", lambda self, name: 70),
    ),
    "class of the object": ("thing.times(r.n)", lambda s: setattr(s.thing, "__class__", s.Other)),
    "bases": (
        "thing.of_base(r.n)",
        lambda s: setattr(s.Thing, "__bases__", (type("New", (s.Base,), vars_of_base()),)),
    ),
    "static method": (
        "thing.fixed(r.n)",
        lambda s: setattr(s.Thing, "fixed", staticmethod(lambda n: n * 7)),
    ),
    "static method of a class": (
        "Thing.fixed(r.n)",
        lambda s: setattr(s.Thing, "fixed", staticmethod(lambda n: n * 7)),
    ),
    "slot": ("slotted.held + r.n", lambda s: setattr(s.slotted, "held", 70)),
    "global": ("SCALE * r.n", globals_set("SCALE", 70)),
    "global function": ("helper(r.n)", globals_set("helper", lambda n: n * 7)),
    "global object": ("thing.own * r.n", lambda s: s.space.update(thing=another(s))),
    "builtin": ("abs(r.n)", lambda s: builtin("abs", lambda value: 70)),
    "builtin, shadowed": ("max(r.n, 2)", globals_set("max", lambda *values: 70)),
    "builtin that converts": ("round(r.x)", lambda s: builtin("round", lambda value: 70)),
    "code": ("helper(r.n)", lambda s: setattr(s.helper, "__code__", code_of(HELPER))),
    "defaults": ("helper(r.n)", lambda s: setattr(s.helper, "__defaults__", (70,))),
    "named defaults": ("helper(r.n)", lambda s: setattr(s.helper, "__kwdefaults__", {"more": 70})),
    "a named default": ("helper(r.n)", lambda s: s.helper.__kwdefaults__.update(more=70)),
    "cell": ("enclosed(r)", lambda s: setattr(s.enclosed.__closure__[0], "cell_contents", 70)),
    "code of an inner function": (
        "outer(5)(r)",
        lambda s: setattr(s.outer, "__code__", code_of("lambda value: len")),
    ),
    "module": ("module.value + r.n", lambda s: setattr(s.module, "value", 70)),
    "function of a module": (
        "module.function(r.n)",
        lambda s: setattr(s.module, "function", lambda n: n * 7),
    ),
    "code of a function of a module": (
        "module.function(r.n)",
        lambda s: setattr(s.module.function, "__code__", code_of("lambda n: n * 7")),
    ),
    "class of a module": (
        "module.value + r.n",
        lambda s: setattr(s.module, "__class__", Chameleon),
    ),
    "function of math": ("math.floor(r.x)", lambda s: s.space.update(math=FakeMath)),
    "defaults of a NamedTuple": (
        "Money(r.n)",
        lambda s: setattr(s.Money.__new__, "__defaults__", (70,)),
    ),
    "method of a NamedTuple": (
        "Money(r.n).doubled()",
        lambda s: setattr(s.Money, "doubled", lambda self: 70),
    ),
    "field of a NamedTuple": (
        "Money(r.n).unit + r.n",
        lambda s: setattr(s.Money, "unit", property(lambda self: 70)),
    ),
    "__new__ of a NamedTuple": (
        "Money(r.n)[0]",
        lambda s: setattr(s.Money, "__new__", lambda cls, n: tuple.__new__(cls, (70, 1))),
    ),
    "method of a dataclass": (
        "Point(r.n).summed()",
        lambda s: setattr(s.Point, "summed", lambda self: 70),
    ),
    "property of a dataclass": (
        "Point(r.n).first",
        lambda s: setattr(s.Point, "first", property(lambda self: 70)),
    ),
    "defaults of a dataclass": (
        "Point(r.n).b",
        lambda s: setattr(s.Point.__init__, "__defaults__", (70,)),
    ),
    "__init__ of a dataclass": (
        "Point(r.n).a",
        lambda s: setattr(s.Point, "__init__", lambda self, a: setattr(self, "a", 70)),
    ),
    "__call__": ("thing", lambda s: setattr(s.Thing, "__call__", lambda self, r: r.n * 7)),
    "code of __call__": (
        "thing",
        lambda s: setattr(s.Thing.__call__, "__code__", code_of("lambda self, r: r.n * 7")),
    ),
    "class of what is called": ("thing", lambda s: setattr(s.thing, "__class__", s.Other)),
    "own code": (None, lambda s: setattr(s.main, "__code__", code_of("lambda r: r.n * 7"))),
    "own defaults": (None, lambda s: setattr(s.main, "__defaults__", (70,))),
}

HELPER = "lambda n, by=10, *, more=1: n * 7"


def vars_of_base():
    return {"of_base": lambda self, n: n * 7}


def another(script):
    made = script.Thing()
    made.own = 70
    return made


class Chameleon(types.ModuleType):
    def __getattribute__(self, name):
        return 70 if name == "value" else super().__getattribute__(name)


class FakeMath:
    @staticmethod
    def floor(value):
        return 70


def builtin(name, value):
    setattr(builtins, name, value)


def outcome(text, change, traces):
    script = fresh()
    script.main = main = eval("lambda r, by=3: r.n + by", script.space)
    if text == "thing":
        main = script.thing
    elif text is not None:
        main = function(script, text)
    try:
        return results(lambda s: s.map(main), lambda: change(script), traces)
    except Exception as error:
        return f"{type(error).__name__}: {error}", None
    finally:
        for name, value in BUILTINS.items():
            setattr(builtins, name, value)


BUILTINS = {"abs": abs, "round": round}


@pytest.mark.parametrize(("text", "change"), CHANGES.values(), ids=CHANGES)
def test_what_is_replaced_between_batches_is_seen(text, change):
    right, _ = outcome(text, change, traces=False)
    found, taken = outcome(text, change, traces=True)
    assert found == right
    if taken is not None:
        assert taken[0]  # else the change would prove nothing
        assert right[:3] != right[3:]


def test_what_does_not_change_is_traced_once(monkeypatch):
    from flinkish.runtime.columns.tracing.trace import Trace

    traced = []
    follow = Trace.follow

    def counted(*given):
        traced.append(1)
        return follow(*given)

    monkeypatch.setattr(Trace, "follow", counted)
    for text in ("thing.times(r.n)", "Point(r.n).summed()", "helper(r.n) + max(r.n, 2)"):
        traced.clear()
        main = function(fresh(), text)
        results(lambda s, main=main: s.map(main), lambda: None, True)
        assert len(traced) == 1


COUNTS = itertools.count()


class Meta(type):
    @property
    def counted(cls):
        return next(COUNTS)


class OfMeta(metaclass=Meta):
    pass


class MetaWithGetattr(type):
    def __getattr__(cls, name):
        return next(COUNTS)


class OfMetaWithGetattr(metaclass=MetaWithGetattr):
    pass


class MetaWithGetattribute(type):
    def __getattribute__(cls, name):
        return next(COUNTS) if name == "counted" else super().__getattribute__(name)


class OfMetaWithGetattribute(metaclass=MetaWithGetattribute):
    counted = 1


class MakingMeta(type):
    def __call__(cls, *given):
        return super().__call__(*(value + next(COUNTS) for value in given))


@dataclass
class Made(metaclass=MakingMeta):
    n: int


class ModuleOfProperties(types.ModuleType):
    @property
    def counted(self):
        return next(COUNTS)


class ModuleWithGetattribute(types.ModuleType):
    def __getattribute__(self, name):
        return next(COUNTS) if name == "counted" else super().__getattribute__(name)


class ObjectWithGetattribute:
    counted = 1

    def __getattribute__(self, name):
        return next(COUNTS) if name == "counted" else super().__getattribute__(name)


class ObjectWithGetattr:
    def __getattr__(self, name):
        return next(COUNTS)


class Descriptor:
    def __get__(self, owner, kind=None):
        return next(COUNTS)


class ObjectOfDescriptor:
    counted = Descriptor()


class DeletingDescriptor(Descriptor):
    def __delete__(self, owner):
        raise AttributeError


class ObjectOfDeletingDescriptor:
    counted = DeletingDescriptor()

    def __init__(self):
        vars(self)["counted"] = 1


MODULE = types.ModuleType("module_with_getattr")
MODULE.__getattr__ = lambda name: next(COUNTS)
PROPERTIES = ModuleOfProperties("of_properties")
GETATTRIBUTE = ModuleWithGetattribute("with_getattribute")
vars(GETATTRIBUTE)["counted"] = 1
OBJECT, GETTING, DESCRIBED = ObjectWithGetattribute(), ObjectWithGetattr(), ObjectOfDescriptor()
DELETING = ObjectOfDeletingDescriptor()

CALLS = {
    "metaclass property": lambda r: OfMeta.counted + r.n,
    "metaclass __getattr__": lambda r: OfMetaWithGetattr.counted + r.n,
    "metaclass __getattribute__": lambda r: OfMetaWithGetattribute.counted + r.n,
    "metaclass __call__": lambda r: Made(r.n).n,
    "module __getattr__": lambda r: MODULE.counted + r.n,
    "property of a module": lambda r: PROPERTIES.counted + r.n,
    "__getattribute__ of a module": lambda r: GETATTRIBUTE.counted + r.n,
    "__getattribute__": lambda r: OBJECT.counted + r.n,
    "__getattr__": lambda r: GETTING.counted + r.n,
    "descriptor": lambda r: DESCRIBED.counted + r.n,
    "descriptor that deletes": lambda r: DELETING.counted + r.n,
}


@pytest.mark.parametrize("main", CALLS.values(), ids=CALLS)
def test_a_read_that_is_a_call_is_one_for_each_element(main):
    global COUNTS
    COUNTS = itertools.count()
    right, _ = results(lambda s: s.map(main), lambda: None, traces=False)
    COUNTS = itertools.count()
    found, taken = results(lambda s: s.map(main), lambda: None, traces=True)
    assert found == right
    assert taken == [False, False]


class Highest(WatermarkGenerator):
    def __init__(self):
        self.top = 0

    def onEvent(self, event, eventTimestamp, output):
        self.top = max(self.top, event.n)

    def onPeriodicEmit(self, output):
        pass


@pytest.mark.parametrize("way", ["method", "code", "of the object"])
def test_a_generator_whose_method_is_replaced_is_called(way):
    def noted(traces):
        class Own(Highest):
            onEvent = types.FunctionType(Highest.onEvent.__code__, globals())

        def other(self, event, eventTimestamp, output):
            self.top = -1

        def change():
            if way == "method":
                Own.onEvent = other
            elif way == "code":
                Own.onEvent.__code__ = other.__code__
            else:
                generator.onEvent = types.MethodType(other, generator)

        generator = Own()
        strategy = WatermarkStrategy.forGenerator(lambda _: generator)
        results(lambda s: s.assignTimestampsAndWatermarks(strategy), change, traces)
        return generator.top

    assert noted(True) == noted(False) == -1
