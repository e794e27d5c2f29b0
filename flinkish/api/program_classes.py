"""``ProgramClasses``: the classes that another process cannot import, by their names.

These are the classes of the main script, of a notebook, and those defined inside functions. They
are shipped to the workers by value, with the functions of the job. Stored objects, such as state,
refer to them by name, and the job that reads the objects looks these names up among its own
classes: an object that one run of a program has stored is restored as an object of the class that
the next run defines.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, NoReturn
from weakref import WeakValueDictionary

import cloudpickle

from flinkish.api.errors import IncompatibleCheckpointError, InvalidProgramError
from flinkish.api.pickled_functions import TABLES, FunctionPickler
from flinkish.api.stored_names import at_top_level
from flinkish.api.type_variables import T

MAIN = "__main__"

_PICKLED_MAIN = b"\x8c\x08__main__"
"""The prefix of the name of such a class in a pickle."""

_LOCAL = "<locals>"

_MOST_BYTES = 1 << 20
"""A class of the main module to which no function of the job refers is shipped too, unless it takes
more bytes: its methods may refer to anything."""


class ClassName(NamedTuple):
    """The location of a class: ``path`` is its qualified name, or the variable that holds it."""

    module: str
    path: str

    @property
    def isLocal(self) -> bool:
        """Whether the class is defined inside a function."""
        return _LOCAL in self.path

    def __str__(self) -> str:
        where = "the main script" if self.module == MAIN else self.module
        return f"{self.path} of {where}"


class ProgramClasses:
    """The classes of a job, or of a program without one. Pickling this object ships the classes to
    the workers."""

    def __init__(self) -> None:
        self.learns = False
        """Whether any stored class becomes one of the program's, for state that never leaves the
        process."""
        self._by_name: dict[ClassName, type[Any]] = {}
        self._names: dict[type[Any], ClassName] = {}
        self._known: dict[type[Any], ClassName] = {}
        self._ambiguous: set[ClassName] = set()

    @classmethod
    def of(cls, contents: Iterable[object]) -> ProgramClasses:
        """The classes that ``contents`` refer to, as far as the contents can be pickled."""
        classes = cls()
        whole = list(contents)
        if not classes._add_found(whole):
            for content in whole:
                classes._add_found(content)
        return classes

    @property
    def known(self) -> Mapping[type[Any], ClassName]:
        """The names found so far, by class."""
        return self._known

    def nameOf(self, kind: type[Any], learns: bool = False) -> ClassName:
        """The name of a class that can only be pickled by value. ``learns``: make it one of the
        program's. Raises InvalidProgramError if the name would not find the class again.
        """
        name = self._known.get(kind) or self._names.get(kind) or self._name_of(kind)
        if name in self._ambiguous:
            raise InvalidProgramError(
                f"two classes of the job are called {name}, so what is stored of one would be read as the"
                " other. Give each a different name."
            )
        found = self._found(name)
        isOther = found is not kind and not self._is_held(name, found)
        if (learns or self.learns) and name not in self._by_name and (found is None or isOther):
            self._add(kind)
            _LEARNED[name] = kind
        elif found is None or isOther:
            raise InvalidProgramError(
                f"the class {name} is stored, and no function of the job refers to it: it is made while the"
                " job runs, and nothing finds it after a restart. Define it at the top of the main script or"
                " of a module."
            )
        # A class that was defined earlier under this name counts as the newest
        self._known[kind] = name
        return name

    def find(self, name: ClassName, qualname: str = "") -> type[Any]:
        """The class of that name, whose ``__qualname__`` was ``qualname`` if it is given. Raises
        IncompatibleCheckpointError if there is none."""
        found = None if name in self._ambiguous else self._found(name)
        if found is None:
            self._refuse(name)
        if issubclass(found, Enum) and found.__qualname__ != (qualname or name.path):
            raise IncompatibleCheckpointError(
                f"members of the Enum {name} are stored, which is called {found.__qualname__} now, and as keys"
                f" they go by that name. Call the class {qualname or name.path} again, or give the operator"
                " another uid(...) to begin anew."
            )
        return found

    def like(self, module: str, name: str) -> type[Any] | None:
        """The only class in ``module`` with that qualified name, or else that bare name; None if there is none.
        Earlier versions stored classes by value, without any other name."""
        whole = ClassName(module, name)
        if whole in self._ambiguous:
            return None
        found = self._found(whole)
        if found is not None:
            return found
        called = {
            kind
            for at, kind in self._by_name.items()
            if at.module == module and kind.__name__ == name
        }
        return called.pop() if len(called) == 1 else None

    @contextmanager
    def current(self) -> Iterator[None]:
        """Use these classes for what this thread stores and reads inside the block."""
        before = current_classes()
        use_classes(self)
        try:
            yield
        finally:
            use_classes(before)

    def reading(self, values: Iterable[T]) -> Iterator[T]:
        """Iterates over ``values``, and uses these classes while each is computed."""
        iterator = iter(values)
        while True:
            with self.current():
                try:
                    value = next(iterator)
                except StopIteration:
                    return
            yield value

    # ------------------------------------------------------------------ finding

    def _found(self, name: ClassName) -> type[Any] | None:
        for find in (self._by_name.get, self._in_module, _LEARNED.get):
            if (found := find(name)) is not None:
                return found
        return None

    def _in_module(self, name: ClassName) -> type[Any] | None:
        return _held_at(name)

    def _is_held(self, name: ClassName, found: type[Any] | None) -> bool:
        """Whether the module holds that class, so that it is the newest of its name."""
        return _held_at(name) is found

    def _name_of(self, kind: type[Any]) -> ClassName:
        return _name_of(kind)

    def _refuse(self, name: ClassName) -> NoReturn:
        if name.isLocal:
            raise IncompatibleCheckpointError(
                f"an object of the class {name} is stored, and no function of this job refers to a class of"
                " that name, or two do. Let a function of the job refer to it, and define it at the top of the"
                " main script or of a module in the next version."
            )
        raise IncompatibleCheckpointError(
            f"an object of the class {name} is stored, and there is no class of that name any more. Define it"
            f" there again, or if it was renamed and is no Enum, write {name.path} = and its new name."
        )

    # ------------------------------------------------------------------ collecting

    def _add_found(self, content: object) -> bool:
        kinds, whole = _classes_in(content)
        for kind in kinds:
            self._add(kind)
        return whole

    def _add(self, kind: type[Any]) -> None:
        name = self._names[kind] = self._name_of(kind)
        other = self._by_name.get(name)
        if other is not None and other is not kind:
            # The newest is what the module holds
            newest = _held_at(name)
            if newest is None:
                self._ambiguous.add(name)
                self._known.clear()
            else:
                kind = newest
        self._names[kind] = name
        self._by_name[name] = kind
        self.__dict__.pop("_shipped", None)

    # ------------------------------------------------------------------ shipping

    @cached_property
    def _shipped(self) -> tuple[dict[ClassName, bytes], set[ClassName]]:
        """The classes as bytes, each of them a dict of classes by name: those of the job, which are
        pickled together, and others of the main module, which state may refer to."""
        shipped: dict[ClassName, bytes] = {}
        for names in (list(self._by_name), *([name] for name in self._by_name)):
            data = _dumped({name: self._by_name[name] for name in names}, None)
            if data is not None:
                shipped |= dict.fromkeys(names, data)
                if len(names) == len(self._by_name):
                    break
        for variable, kind in vars(sys.modules[MAIN]).copy().items():
            name = ClassName(MAIN, variable)
            if name in shipped or not isinstance(kind, type) or _is_of_library(kind):
                continue
            inside = {_name_of(found): found for found in _classes_in(kind, _MOST_BYTES)[0]}
            data = _dumped({**inside, name: kind}, _MOST_BYTES)
            if data is not None:
                shipped = {**dict.fromkeys((*inside, name), data), **shipped}
        return shipped, self._ambiguous

    def __reduce__(self) -> tuple[Any, ...]:
        return ShippedClasses, self._shipped


class ShippedClasses(ProgramClasses):
    """The classes of a job in another process, where they are unpickled when they are needed."""

    def __init__(self, shipped: dict[ClassName, bytes], ambiguous: set[ClassName]) -> None:
        super().__init__()
        self._waiting = dict(shipped)
        self._all = shipped
        self._ambiguous = ambiguous

    def __reduce__(self) -> tuple[Any, ...]:
        return ShippedClasses, (self._all, self._ambiguous)

    def nameOf(self, kind: type[Any], learns: bool = False) -> ClassName:
        # No other process would find a class that this one learns
        return super().nameOf(kind)

    def like(self, module: str, name: str) -> type[Any] | None:
        self._load_all(module)
        return super().like(module, name)

    def _is_held(self, name: ClassName, found: type[Any] | None) -> bool:
        held = name.module == MAIN and not name.isLocal
        return held or super()._is_held(name, found)

    def _name_of(self, kind: type[Any]) -> ClassName:
        # The qualified name of a copy may differ from the name under which it was shipped
        self._load_all(kind.__module__)
        return self._names.get(kind) or _name_of(kind)

    def _in_module(self, name: ClassName) -> type[Any] | None:
        if name in self._waiting:
            self._load(name)
            return self._by_name.get(name)
        if name.module != MAIN:
            return _held_at(name)
        # A worker's main module is not the program's, of which it has only the classes that
        # variables hold
        outer, _, inner = name.path.rpartition(".")
        holder = self._found(ClassName(MAIN, outer)) if outer and not name.isLocal else None
        found = getattr(holder, inner, None)
        return found if isinstance(found, type) else None

    def _load_all(self, module: str) -> None:
        for name in list(self._waiting):
            if name.module == module:
                self._load(name)

    def _load(self, name: ClassName) -> None:
        data = self._waiting.pop(name, None)
        if data is None:
            return
        for found, kind in pickle.loads(data).items():
            self._waiting.pop(found, None)
            self._by_name.setdefault(found, kind)
            self._names.setdefault(kind, found)


class _Current(threading.local):
    classes = ProgramClasses()


_CURRENT = _Current()

_LEARNED: WeakValueDictionary[ClassName, type[Any]] = WeakValueDictionary()
"""Classes defined inside functions, whose instances this process has seen as elements."""


def current_classes() -> ProgramClasses:
    """The classes that this thread uses, by default those of the main module."""
    return _CURRENT.classes


def use_classes(classes: ProgramClasses) -> None:
    """Use these classes for what this thread stores and reads from now on."""
    _CURRENT.classes = classes


@at_top_level
def class_of_program(module: str, path: str, qualname: str = "") -> type[Any]:
    """The call as which a class is stored; it looks the class up."""
    return current_classes().find(ClassName(module, path), qualname)


def names_main(data: bytes) -> bool:
    """Whether a pickle may refer to a class of the main module, which another process does not
    have."""
    return type(current_classes()) is ProgramClasses and _PICKLED_MAIN in data


def is_plain_tuple(kind: type[Any]) -> bool:
    """Whether objects of a class compare as plain tuples do, like those of a NamedTuple, which a
    program may create while it runs."""
    return issubclass(kind, tuple) and (kind.__eq__, kind.__hash__) == (
        tuple.__eq__,
        tuple.__hash__,
    )


class ProgramPickler(FunctionPickler):
    """Pickles the classes of a program by their names, and functions by value."""

    ofElements = False
    """Whether a class that the program does not know becomes one of the program's classes, or else
    is pickled by value."""
    names = 0
    """The number of classes pickled by name."""

    def __init__(self, file: Any, protocol: int = 5) -> None:
        # A dict, as looking up each object in cloudpickle's ChainMap takes long
        tables = reversed(TABLES)
        self.dispatch_table = {kind: reduce for table in tables for kind, reduce in table.items()}
        super().__init__(file, protocol=protocol)
        self._known = current_classes().known

    def reducer_override(self, value: Any) -> Any:
        # Called for each object
        if not isinstance(value, _REDUCED):
            return NotImplemented
        name = self._known.get(value)
        if name is None:
            reduced = super().reducer_override(value)
            if not (isinstance(value, type) and _is_by_value(reduced)):
                return reduced
            try:
                name = current_classes().nameOf(value, self.ofElements)
            except InvalidProgramError:
                if self.ofElements or is_plain_tuple(value):
                    return reduced
                raise
        self.names += 1
        isOther = issubclass(value, Enum) and value.__qualname__ != name.path
        return class_of_program, (*name, value.__qualname__) if isOther else tuple(name)


_REDUCED: tuple[type[Any], ...] = (type, type(lambda: None))
"""The types that cloudpickle reduces itself."""


class _Recorder(cloudpickle.Pickler):  # type: ignore[misc]
    """Records the classes that are pickled by value."""

    def __init__(self, most: int | None) -> None:
        super().__init__(_Counted(most))
        self.found: dict[type[Any], None] = {}

    def reducer_override(self, value: Any) -> Any:
        reduced = super().reducer_override(value)
        if isinstance(value, type) and _is_by_value(reduced):
            self.found[value] = None
        return reduced


def _is_by_value(reduced: Any) -> bool:
    """Whether cloudpickle reduces a class to its parts; it reduces a few of Python's to names."""
    return reduced is not NotImplemented and len(reduced) > 2


class _Counted:
    """A file of at most ``most`` bytes, which appends them to ``kept`` if that is given."""

    def __init__(self, most: int | None, kept: bytearray | None = None) -> None:
        self._left = sys.maxsize if most is None else most
        self._kept = kept

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._left -= size
        if self._left < 0:
            raise ValueError("larger than what goes along")
        if self._kept is not None:
            self._kept += data
        return size


def _classes_in(content: object, most: int | None = None) -> tuple[list[type[Any]], bool]:
    """The classes in ``content`` that are pickled by value, and whether all of it could be
    pickled."""
    recorder = _Recorder(most)
    try:
        recorder.dump(content)
    except KeyboardInterrupt:
        raise
    except BaseException:  # from a __reduce__ of the user's; shipping reports it
        return list(recorder.found), False
    return list(recorder.found), True


def _dumped(classes: dict[ClassName, type[Any]], most: int | None) -> bytes | None:
    """``classes`` as bytes, None if they cannot be pickled."""
    data = bytearray()
    try:
        FunctionPickler(_Counted(most, data)).dump(classes)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return bytes(data)


def _name_of(kind: type[Any]) -> ClassName:
    """The name by which the module of a class holds it, or else its qualified name."""
    module = str(kind.__module__)
    name = ClassName(module, kind.__qualname__)
    if _held_at(name) is kind:
        return name
    # Before Python 3.12 make_dataclass sets another module
    for holder in (module, MAIN):
        for variable, held in vars(sys.modules.get(holder, object)).copy().items():
            # Variables with an underscore are the notebook's own
            if held is kind and not variable.startswith("_"):
                return ClassName(holder, variable)
    return name


def _held_at(name: ClassName) -> type[Any] | None:
    """The class that a module holds by that name."""
    if name.isLocal:
        return None
    try:
        found: Any = importlib.import_module(name.module)
        for part in name.path.split("."):
            found = getattr(found, part)
    except Exception:  # the module may do anything
        return None
    return found if isinstance(found, type) else None


def _is_of_library(kind: type[Any]) -> bool:
    """Whether a class is of Python or flinkish, and so never was one of the main module."""
    package = str(kind.__module__).partition(".")[0]
    return package != MAIN and (package == "flinkish" or package in sys.stdlib_module_names)
