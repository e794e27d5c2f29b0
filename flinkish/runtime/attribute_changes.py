"""Finds the attributes that user functions have changed since ``open``, and keeps them as state.

A function stays open from batch to batch, but may be opened again at any time: in another worker,
after an error, or after a restart. One function also serves many key groups. So where a task has
state, the changed attributes belong to the key group and are part of its snapshot. Elsewhere a
change is reported.
"""

from __future__ import annotations

import copyreg
import io
import logging
import pickle
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from flinkish.api.errors import ChangedAttributeWarning, IncompatibleCheckpointError
from flinkish.api.pickled_functions import FunctionPickler
from flinkish.api.program_classes import ProgramPickler, names_main
from flinkish.runtime.attribute_owners import Mark, Owner, Place, of_engine, owners_of
from flinkish.runtime.records.copies import immutable


class AttributeChange(NamedTuple):
    """A changed attribute of a user function; of a plain function, a variable that it refers to."""

    operator: str
    owner: str
    attribute: str


class FunctionAttributes:
    """The attributes of an operator's functions, as they were when this object was created.

    ``operator`` is anything that refers to the functions, such as the description of the operator.
    If ``keeps`` is True, changed attributes are state: ``snapshot`` returns them and ``restore``
    takes them, and ``changes`` reports only those that cannot be pickled. If it is False,
    ``changes`` reports all changed attributes.
    """

    def __init__(self, name: str, *operator: object, keeps: bool = False) -> None:
        self._name = name
        self._owners = owners_of(operator)
        self._before = {place: owner.marks() for place, owner in self._owners.items()}
        self._told: set[_Attribute] = set()
        self._opened = _Opened(self._owners, self._before) if keeps else None
        self._touched: set[_Attribute] = set()
        self._lost: set[_Attribute] = set()
        self._restored: bytes | None = None

    def changes(self) -> list[AttributeChange]:
        """The attributes that were changed and are not kept. Each is reported once."""
        lost = set(self._changed()) if self._opened is None else self._lost
        new = [attribute for attribute in sorted(lost, key=str) if attribute not in self._told]
        self._told.update(new)
        return [AttributeChange(self._name, place[0], name) for place, name in new]

    def restore(self, kept: bytes | None) -> None:
        """Set the attributes to those of a snapshot; None: to the values after ``open``."""
        if self._opened is None or (kept == self._restored and not self._may_be_reset()):
            return
        self._opened.install(self._touched)
        self._touched, self._restored = set(), kept
        if kept is None:
            return
        for place, name, held in _Restored(kept, self._owners).load():
            if place not in self._owners:
                raise IncompatibleCheckpointError(
                    f"{self._name}: the checkpoint has the attribute {name!r} of {place[0]}, which this"
                    " operator does not have any more. Keep that name, or give the operator another"
                    " uid(...) to begin anew."
                )
            self._owners[place].put(name, *held)
            self._touched.add((place, name))

    def snapshot(self) -> bytes | None:
        """The attributes that have changed, as bytes; None if none has."""
        if self._opened is None or not (changed := self._changed()):
            self._restored = None
            return None
        self._touched.update(changed)
        now = {place: dict(self._owners[place].attributes()) for place, _ in changed}
        entries: list[_Entry] = [
            (place, name, (now[place][name],) if name in now[place] else ())
            for place, name in changed
        ]
        lost = {
            (place, name) for place, name, held in entries if self._opened.isLost(place, name, held)
        }
        kept = [entry for entry in entries if entry[:2] not in lost]
        self._restored, unpicklable = _pickled(kept, self._owners, stored=True)
        self._lost = lost | unpicklable
        return self._restored

    def _may_be_reset(self) -> bool:
        """Whether a class has changed attributes, which another task would not have."""
        return any(isinstance(self._owners[place].find(), type) for place, _ in self._touched)

    def _changed(self) -> list[_Attribute]:
        return [
            (place, name)
            for place, owner in self._owners.items()
            for name in owner.changed(self._before[place])
        ]


_Attribute = tuple[Place, str]

_Entry = tuple[Place, str, tuple[()] | tuple[object]]
"""An attribute with its value; without a value if the attribute was removed."""


# ------------------------------------------------------------------ attributes that are kept


class _Opened:
    """The attributes as ``open`` left them. They are put back for another key group."""

    def __init__(
        self, owners: Mapping[Place, Owner], marks: Mapping[Place, Mapping[str, Mark]]
    ) -> None:
        self._owners = owners
        self._held = {
            (place, name): held
            for place, owner in owners.items()
            for name, held in owner.attributes()
            if name in marks[place]
        }
        # A value that cannot change needs no copy. A large one gets none, so a change in place is
        # lost
        changing: list[_Entry] = [
            (place, name, (held,))
            for (place, name), held in self._held.items()
            if marks[place][name].digest is not None and not immutable(held)
        ]
        self._copies, self._uncopied = _pickled(changing, owners, stored=False)
        self._uncopied |= {
            (place, name) for place, name in self._held if marks[place][name].digest is None
        }

    def isLost(self, place: Place, name: str, now: tuple[object, ...]) -> bool:
        """Whether the attribute was changed in place, to ``now``, and cannot be put back."""
        if isinstance(self._owners[place].find(), tuple):
            return True
        held = self._held.get((place, name), now)
        return (place, name) in self._uncopied and bool(now) and held is now[0]

    def install(self, touched: Iterable[_Attribute]) -> None:
        """Put back the attributes that were ``touched``."""
        touched = list(touched)
        copied = _Restored(self._copies, self._owners).load() if touched and self._copies else ()
        copies = {(place, name): held for place, name, (held,) in copied}
        for attribute in touched:
            place, name = attribute
            held = [each[attribute] for each in (copies, self._held) if attribute in each]
            self._owners[place].put(name, *held[:1])


def _pickled(
    entries: list[_Entry], owners: Mapping[Place, Owner], stored: bool
) -> tuple[bytes | None, set[_Attribute]]:
    """The entries as bytes, and the attributes that cannot be pickled. All entries are in one
    pickle, as two attributes may refer to one object. ``stored``: another process may read the
    bytes."""
    if not entries or (data := _dumped(entries, owners, stored)) is not None:
        return (data if entries else None), set()
    kept = [entry for entry in entries if _dumped([entry], owners, stored) is not None]
    lost = {entry[:2] for entry in entries} - {entry[:2] for entry in kept}
    return _dumped(kept, owners, stored) if kept else None, lost


def _dumped(entries: list[_Entry], owners: Mapping[Place, Owner], stored: bool) -> bytes | None:
    for kind in (_Kept, _KeptByName if stored else _KeptByValue):
        file = io.BytesIO()
        pickler = kind(file, protocol=5)
        pickler.owners = {id(owner.find()): place for place, owner in owners.items()}
        try:
            pickler.dump(entries)
        except Exception:  # one of the many ways in which a pickle fails
            continue
        data = file.getvalue()
        if not (stored and kind is _Kept and names_main(data)):
            return data
    return None


class _Kept(pickle.Pickler):
    """Pickles attributes; a function that is an owner itself is pickled as a reference to it."""

    owners: Mapping[int, Place]

    def persistent_id(self, value: Any) -> Place | None:
        if of_engine(type(value)) and type(value) not in copyreg.dispatch_table:
            raise pickle.PicklingError(f"{type(value).__name__} belongs to the task")
        return self.owners.get(id(value))


class _KeptByName(ProgramPickler):
    owners: Mapping[int, Place]
    persistent_id = _Kept.persistent_id


class _KeptByValue(FunctionPickler):
    owners: Mapping[int, Place]
    persistent_id = _Kept.persistent_id


class _Restored(pickle.Unpickler):
    def __init__(self, data: bytes, owners: Mapping[Place, Owner]) -> None:
        super().__init__(io.BytesIO(data))
        self._owners = owners

    def persistent_load(self, place: Any) -> Any:
        if place not in self._owners:
            raise IncompatibleCheckpointError(
                f"the checkpoint has an attribute that refers to {place[0]}, which the operator does not"
                " have any more. Keep that name, or give the operator another uid(...) to begin anew."
            )
        return self._owners[place].find()


_LOG = logging.getLogger("flinkish")


class AttributeWarnings:
    """Warns about each attribute once in a run of a job."""

    def __init__(self) -> None:
        self._warned: set[AttributeChange] = set()

    def warn(self, changes: Iterable[AttributeChange]) -> None:
        for change in changes:
            if change not in self._warned:
                self._warned.add(change)
                warning = ChangedAttributeWarning(*change)
                if _LOG.hasHandlers():  # without any, logging would print it to stderr once more
                    _LOG.warning("%s", warning)
                # With a new registry, as Python shows a warning once in a process
                warnings.warn_explicit(warning, None, "flinkish", 1, registry={})
