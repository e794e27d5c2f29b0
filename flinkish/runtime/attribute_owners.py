"""Finds the functions and classes of an operator that can hold values in attributes, and the
attributes that have changed.

An attribute is compared by the hash of its pickle, or by identity if it is large or cannot be
pickled.
"""

from __future__ import annotations

import array
import collections
import copyreg
import functools
import itertools
import math
import pickle
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from flinkish.api.functions.accumulators import Accumulator
from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.functions.functions import Function
from flinkish.api.functions.runtime_context import RuntimeContext

MOST_BYTES = 1 << 18
"""The size in bytes above which a value is compared by identity and length. A model, for example,
must not be pickled in every batch."""

MOST_SECONDS = 0.02
"""A value that takes longer to pickle (processor time, s) is compared by identity too."""

Place = tuple[str, int]
"""The name of an owner, and its index among the owners of that name."""


class Mark(NamedTuple):
    """The hash or identity by which an attribute is compared. A mark refers to the values that are
    compared by identity, so that no other object gets their identity."""

    identity: tuple[int, int | None]
    digest: bytes | None
    """None: the value is compared by identity and length."""
    size: int
    """The number of bytes hashed."""
    pinned: tuple[object, ...]

    def of(self, value: object, parts: frozenset[int]) -> bool:
        """Whether ``value`` is unchanged."""
        if self.digest is None:
            return self.identity == _identity(value)
        pickler = _Digest(parts, self.size)
        try:
            pickler.dump(value)
        except Exception:  # it has grown, or cannot be pickled any more
            return False
        return self.digest == pickler.file.digest()


class Owner(NamedTuple):
    """A function or class, and how its attributes are read."""

    name: str
    find: Callable[[], Any]
    """Returns the function or class; a method by name, as its class may be another's."""
    attributes: Callable[[], Iterable[tuple[str, object]]]
    parts: frozenset[int] = frozenset()
    """The identities of functions in the owner's attributes that are owners themselves."""

    def marks(self) -> dict[str, Mark]:
        return {name: _mark(value, self.parts) for name, value in self._kept()}

    def changed(self, before: Mapping[str, Mark]) -> list[str]:
        """The attributes that differ from the marks ``before``."""
        now = dict(self._kept())
        changed = [
            n for n, held in now.items() if n not in before or not before[n].of(held, self.parts)
        ]
        return changed + [name for name in before if name not in now]

    def put(self, name: str, *held: object) -> None:
        """Set the attribute ``name``; without a value, remove it."""
        subject = self.find()
        if isinstance(subject, types.FunctionType):
            _put_variable(subject, name, *held)
        elif isinstance(subject, functools.partial) and held and name not in vars(subject):
            in_args = name == "args"
            args = held[0] if in_args else subject.args
            keywords = subject.keywords if in_args else {**subject.keywords, name: held[0]}
            subject.__setstate__((subject.func, args, keywords, vars(subject)))  # type: ignore[attr-defined]
        elif isinstance(subject, type):
            setattr(subject, name, *held) if held else delattr(subject, name)
        elif name in _in_slots(_class(subject)):
            object.__setattr__(subject, name, *held) if held else object.__delattr__(subject, name)
        elif held:
            vars(subject)[name] = held[0]
        else:
            vars(subject).pop(name, None)

    def _kept(self) -> Iterator[tuple[str, object]]:
        return ((name, held) for name, held in self.attributes() if not of_engine(type(held)))


def owners_of(value: object) -> dict[Place, Owner]:
    """The functions and classes that ``value`` refers to and that can hold values in attributes."""
    places: dict[Place, Owner] = {}
    counts: collections.Counter[str] = collections.Counter()
    for owner in _Walk().owners(value):
        places[owner.name, counts[owner.name]] = owner
        counts[owner.name] += 1
    return places


def _mark(value: object, parts: frozenset[int]) -> Mark:
    until = time.thread_time() + MOST_SECONDS
    pickler = _Digest(parts, MOST_BYTES, until)
    try:
        pickler.dump(value)
    except Exception:  # the value is too large, or a pickle fails in one of its many ways
        return Mark(_identity(value), None, 0, (value,))
    if time.thread_time() > until:
        return Mark(_identity(value), None, 0, (value,))
    return Mark(_identity(value), pickler.file.digest(), pickler.file.size, tuple(pickler.pinned))


def _identity(value: object) -> tuple[int, int | None]:
    return id(value), len(value) if isinstance(value, _SIZED) else None


_SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset, collections.deque, array.array)


# ------------------------------------------------------------------ owners of attributes


class _Walk:
    """Searches an operator's objects for functions and classes that can hold attributes."""

    def __init__(self) -> None:
        self._seen: dict[int, object] = {}

    def owners(self, value: object) -> Iterator[Owner]:
        """The owners in ``value``, each once."""
        # A context refers to the task and everything in it, such as gauges
        if id(value) in self._seen or isinstance(value, (*_PLAIN, RuntimeContext)):
            return
        self._seen[id(value)] = value
        if isinstance(value, (list, tuple)) and not _is_ours(type(value)):
            yield from self._all(value)
        elif isinstance(value, dict):
            yield from self._all(value.values())
        elif isinstance(value, types.MethodType):
            yield from self.owners(value.__self__)
            yield from self.owners(value.__func__)
        elif isinstance(value, functools.partial):
            yield from self._all((value.func, value.args, value.keywords))
            yield Owner(
                "functools.partial",
                lambda: value,
                lambda: [("args", value.args), *value.keywords.items()],
            )
        elif isinstance(value, types.FunctionType):
            if _is_ours(value):
                yield from self._all(held for _, held in _of_function(value))
            elif _by_value(value):
                yield Owner(value.__qualname__, lambda: value, lambda: _of_function(value))
        elif isinstance(value, type):
            if _by_value(value):
                yield from _of_methods(value)
                yield Owner(value.__qualname__, lambda: value, lambda: _of_class(value))
        elif _is_ours(type(value)):
            # An object of flinkish holds no values itself, but may refer to a function that does.
            yield from self._all(held for _, held in _of_instance(value))
        elif isinstance(value, CheckpointedFunction):
            # The values of its attributes come from its state, and its snapshot keeps them.
            yield from self._all(type(value).__mro__)
        elif isinstance(value, Function) or _is_users(_class(value)):
            parts = [held for _, held in _of_instance(value) if _is_function(held)]
            of_parts = frozenset(map(id, parts))
            yield Owner(type(value).__name__, lambda: value, lambda: _of_instance(value), of_parts)
            yield from self._all((*parts, *type(value).__mro__))

    def _all(self, values: Iterable[object]) -> Iterator[Owner]:
        for value in list(values):
            yield from self.owners(value)


_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, types.ModuleType)


def _is_function(value: object) -> bool:
    """Whether ``value``, an attribute of an object, is searched as a separate function."""
    return isinstance(value, (Function, types.FunctionType, types.MethodType, functools.partial))


def _of_methods(kind: type) -> Iterator[Owner]:
    for name, held in _held_by(kind):
        if isinstance(held, types.FunctionType):
            find = functools.partial(_method, kind, name)
            yield Owner(held.__qualname__, find, functools.partial(_of_method, find))


def _method(kind: type, name: str) -> object:
    return dict(_held_by(kind)).get(name)


def _of_method(find: Callable[[], object]) -> Iterator[tuple[str, object]]:
    method = find()
    return _of_function(method) if isinstance(method, types.FunctionType) else iter(())


def _of_instance(value: object) -> Iterator[tuple[str, object]]:
    lazy = _lazy_names(_class(value))
    for name, held in list(getattr(value, "__dict__", {}).items()):
        if name not in lazy:
            yield name, held
    for name in _in_slots(_class(value)):
        if hasattr(value, name):
            yield name, getattr(value, name)
    if isinstance(value, tuple):  # a NamedTuple
        yield from ((str(position), held) for position, held in enumerate(value))


@functools.lru_cache(maxsize=1024)
def _in_slots(kind: type) -> tuple[str, ...]:
    slots = (base.__dict__.get("__slots__", ()) for base in kind.__mro__)
    names = itertools.chain.from_iterable((s,) if isinstance(s, str) else s for s in slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    code = function.__code__
    yield from function.__dict__.items()
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    yield from zip(names[len(names) - len(defaults) :], defaults)
    yield from (function.__kwdefaults__ or {}).items()
    for name in sorted(_global_names(code)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _put_variable(function: types.FunctionType, name: str, *held: object) -> None:
    code, defaults = function.__code__, function.__defaults__ or ()
    with_default = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        if held:
            cell.cell_contents = held[0]
        else:
            del cell.cell_contents
    elif name in with_default and held:
        pairs = zip(with_default, defaults)
        function.__defaults__ = tuple(held[0] if each == name else kept for each, kept in pairs)
    else:
        homes = (function.__dict__, function.__kwdefaults__ or {}, function.__globals__)
        home = next((home for home in homes if name in home), homes[-1])
        home.update({name: held[0]} if held else {})
        if not held:
            home.pop(name, None)


def _of_class(kind: type) -> Iterator[tuple[str, object]]:
    for name, held in _held_by(kind):
        if not hasattr(type(held), "__get__"):
            yield name, held


def _held_by(kind: type) -> Iterator[tuple[str, object]]:
    for name, held in list(vars(kind).items()):
        if isinstance(held, (staticmethod, classmethod)):
            yield name, held.__func__
        elif not (name.startswith("__") or name == "_abc_impl"):
            yield name, held


@functools.lru_cache(maxsize=1024)
def _global_names(code: types.CodeType) -> frozenset[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return frozenset(code.co_names).union(*map(_global_names, inner))


@functools.lru_cache(maxsize=1024)
def _lazy_names(kind: type) -> frozenset[str]:
    """The attributes of a class that are computed when they are first read."""
    return frozenset(
        name
        for base in kind.__mro__
        for name, held in vars(base).items()
        if isinstance(held, functools.cached_property)
    )


def _by_value(value: type | types.FunctionType) -> bool:
    """Whether a function or class was pickled by value with the job, so that each task creates it
    again. Otherwise it is in a module of the worker."""
    found: object = sys.modules.get(_module(value))
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not value:
        return True
    # In the process that pickled a class, unpickling returns the class itself, with other functions
    functions = (
        (value, *(held for _, held in _held_by(value))) if isinstance(value, type) else (value,)
    )
    return any(
        isinstance(each, types.FunctionType) and _has_globals_of_its_own(each) for each in functions
    )


def _has_globals_of_its_own(function: types.FunctionType) -> bool:
    module = sys.modules.get(function.__globals__.get("__name__", ""))
    return module is not None and function.__globals__ is not vars(module)


def _class(value: object) -> Any:
    return type(value)


def _module(kind: type | types.FunctionType) -> str:
    return str(kind.__module__ or "")


def _is_ours(kind: type | types.FunctionType) -> bool:
    return _module(kind).startswith("flinkish.")


def of_engine(kind: type) -> bool:
    """Whether flinkish gives objects of the class to functions, or collects them with each batch:
    states, contexts, collectors, metrics, accumulators."""
    return issubclass(kind, Accumulator) or _module(kind).startswith(
        (
            *("flinkish.runtime.", "flinkish.spark.", "flinkish.testing.", "flinkish.cep.operator"),
            "flinkish.compat.storm.task",
        )
    )


@functools.lru_cache(maxsize=1024)
def _is_users(kind: type) -> bool:
    """Whether a class belongs neither to Python nor to an installed package."""
    if _module(kind).partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
        return False
    file = getattr(sys.modules.get(_module(kind)), "__file__", None) or ""
    return "site-packages" not in file and "dist-packages" not in file


# ------------------------------------------------------------------ hashes of attributes


class _TooLarge(Exception):
    pass


class _Hashed:
    """A file that keeps only the hash of its data, and accepts at most ``most`` bytes."""

    def __init__(self, most: int) -> None:
        self._hash = blake2b(digest_size=16)
        self._most = most
        self.size = 0

    def write(self, data: Any) -> int:
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        self.size += size
        if self.size > self._most:
            raise _TooLarge
        self._hash.update(data)
        return size

    def digest(self) -> bytes:
        return self._hash.digest()


class _Digest(pickle.Pickler):
    """Pickles a value into a hash.

    An object that cannot be pickled counts by its identity: a lock, a connection, an ``lru_cache``,
    a function. In a container or an object of the user's own classes, this holds for each part. Any
    other object counts as a whole: the parts of a library's connection pool, for example, are not
    state of the user's function.
    """

    def __init__(self, parts: frozenset[int], most: int, until: float = math.inf) -> None:
        self.file = _Hashed(most)
        self._until = until
        super().__init__(self.file, protocol=5, buffer_callback=self._buffer)
        self._parts = parts
        self.pinned: list[object] = []

    def _buffer(self, buffer: pickle.PickleBuffer) -> None:
        self.file.write(buffer.raw())

    def reducer_override(self, value: Any) -> Any:
        kind = _class(value)
        if value is _token:
            return NotImplemented
        if time.thread_time() > self._until:
            raise _TooLarge
        if kind is types.FunctionType:
            return self._function(value)
        if isinstance(value, _KNOWN_BY_IDENTITY) or id(value) in self._parts or of_engine(kind):
            return self._by_identity(value)
        if kind is types.MethodType:
            return _token, ("method", id(value.__func__)), {"self": value.__self__}
        if kind is itertools.count:
            return _token, (repr(value),)
        try:
            if _module(kind) in _CONTAINERS or _is_ours(kind) or _is_users(kind):
                return self._reduced(value)
            whole = _Whole(self._parts, MOST_BYTES)
            whole.dump(value)
        except _TooLarge:
            raise
        except Exception:
            return self._by_identity(value)
        self.pinned += whole.pinned
        return _token, (whole.file.digest(),)

    def _reduced(self, value: Any) -> Any:
        own = copyreg.dispatch_table.get(type(value))
        reduced: Any = own(value) if own is not None else value.__reduce_ex__(5)
        if isinstance(reduced, str):
            return self._by_identity(value)
        lazy = _lazy_names(_class(value))
        if lazy and len(reduced) > 2 and isinstance(reduced[2], dict):
            state = {name: held for name, held in reduced[2].items() if name not in lazy}
            reduced = (*reduced[:2], state, *reduced[3:])
        return reduced

    def _function(self, value: types.FunctionType) -> Any:
        if not _by_value(value):
            return self._by_identity(value)
        code = value.__code__
        token = value.__qualname__, code.co_firstlineno, code.co_code
        # The function's variables come after it, as it may refer to itself
        return _token, token, {} if id(value) in self._parts else dict(_of_function(value))

    def _by_identity(self, value: object) -> Any:
        if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, type):
            # Another object each time; a ZoneInfo is pickled as a call of such a method
            return _token, (id(value.__self__), value.__name__)
        self.pinned.append(value)
        return _token, (id(value),)


class _Whole(_Digest):
    """Pickles an object of a library as a whole, or fails."""

    def reducer_override(self, value: Any) -> Any:
        if value is _token:
            return NotImplemented
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self._by_identity(value)
        return NotImplemented


def _token(*_: object) -> None:
    """In place of an object compared otherwise, in a pickle that is never loaded."""


_KNOWN_BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType)

_CONTAINERS = frozenset(("builtins", "collections", "datetime", "decimal", "array", "types"))
