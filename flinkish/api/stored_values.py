"""Values as the bytes in which they are stored: in state, snapshots, savepoints and checkpoints."""

from __future__ import annotations

import base64
import io
import pickle
import types
from typing import Any

from cloudpickle import cloudpickle

from flinkish.api.program_classes import (
    ClassName,
    ProgramPickler,
    current_classes,
    is_plain_tuple,
    names_main,
)

_BY_VALUE = b"cloudpickle.cloudpickle"
"""Occurs in pickles of functions, and in those by which earlier versions stored classes that no
module has."""


def pickled(value: Any) -> bytes:
    """``value`` as bytes, with the classes of the program by name; functions that no module has are
    pickled by value.

    Raises InvalidProgramError if a class in it could not be found again.
    """
    data = plainly_pickled(value)
    return pickled_by_name(value)[0] if data is None else data


def plainly_pickled(value: Any) -> bytes | None:
    """``value`` as bytes; None if it may contain a class of the main module, or anything that no
    module has."""
    try:
        data = pickle.dumps(value, protocol=5)
    except KeyboardInterrupt:
        raise
    except BaseException:  # from a __reduce__ of the user's
        return None
    return None if names_main(data) else data


def pickled_by_name(value: Any, ofElements: bool = False) -> tuple[bytes, bool]:
    """``value`` as bytes, with the classes of the program by name, and whether it contains any.
    ``ofElements``: classes that the program does not know become its own in its first process, and
    are pickled by value elsewhere."""
    file = io.BytesIO()
    pickler = ProgramPickler(file, protocol=5)
    pickler.ofElements = ofElements
    pickler.dump(value)
    return file.getvalue(), pickler.names > 0


def unpickled(data: bytes | memoryview, ofElements: bool = False) -> Any:
    """The object that was pickled. A class of flinkish that has moved to another module since is
    found by the name under which ``flinkish`` exports it. ``ofElements``: the object may contain
    classes by value that the program does not have.

    Raises IncompatibleCheckpointError if the program lacks one of the object's classes.
    """
    if _BY_VALUE in (data if isinstance(data, bytes) else bytes(data)):
        return StoredUnpickler(io.BytesIO(data), ofElements).load()
    try:
        return pickle.loads(data)
    except (ImportError, AttributeError):
        return StoredUnpickler(io.BytesIO(data), ofElements).load()


def as_text(value: Any) -> str:
    """A value that a source or sink of the user's stores, as text."""
    data = plainly_pickled(value)
    return base64.b64encode(data or pickled_by_name(value, ofElements=True)[0]).decode()


def of_text(stored: str) -> Any:
    """The value that ``as_text`` stored."""
    return unpickled(base64.b64decode(stored), ofElements=True)


class StoredUnpickler(pickle.Unpickler):
    """Also reads the pickles of earlier versions, which stored classes by value."""

    def __init__(self, file: io.BytesIO, ofElements: bool = False) -> None:
        super().__init__(file)
        self._keeps = ofElements
        self._found: set[type[Any]] = set()

    def find_class(self, module: str, name: str) -> Any:
        if module == cloudpickle.__name__ and name in _REPLACED:
            return getattr(self, name)
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            if not module.startswith("flinkish."):
                raise
            return super().find_class("flinkish", name)

    def _make_skeleton_class(
        self, metaclass: Any, name: str, bases: Any, kwargs: dict[str, Any], *rest: Any
    ) -> Any:
        keeps = any(map(is_plain_tuple, types.resolve_bases(bases)))
        found = self._own(kwargs.get("__module__"), name, keeps)
        return found or cloudpickle._make_skeleton_class(metaclass, name, bases, kwargs, *rest)

    def _make_skeleton_enum(
        self, bases: Any, name: str, qualname: str, members: Any, module: str, *rest: Any
    ) -> Any:
        found = self._own(module, qualname)
        return found or cloudpickle._make_skeleton_enum(
            bases, name, qualname, members, module, *rest
        )

    def _class_setstate(self, kind: type[Any], state: Any) -> Any:
        return kind if kind in self._found else cloudpickle._class_setstate(kind, state)

    def _own(self, module: str | None, name: str, keeps: bool = False) -> type[Any] | None:
        """The class of the program that replaces the stored one."""
        classes = current_classes()
        found = classes.like(str(module), name)
        if found is None and not (keeps or self._keeps):
            found = classes.find(ClassName(str(module), name))
        if found is not None:
            self._found.add(found)
        return found


_REPLACED = ("_make_skeleton_class", "_make_skeleton_enum", "_class_setstate")
