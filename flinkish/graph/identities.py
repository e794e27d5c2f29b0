"""Identifies the nodes with state, so that state is restored to the same function.

An automatic uid depends on what a node does, the name of its function, and the stateful nodes
before it. Nodes that agree in all of that are a *group*: ``KeyedProcess-0a1b``,
``KeyedProcess-0a1b-2``. After the job has been changed, fingerprints tell the members of a group
apart: of the code and settings of their functions, and of the stateless functions before them.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from itertools import chain, islice
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Self

from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.api.functions.functions import Function
from flinkish.api.plan.state_form import StateForm

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""Bytecode is comparable only within a version of Python."""

_DEEPEST = 8
_MOST_PARTS = 2_000
"""The depth and the number of parts of a function's data that go into its fingerprint."""


@dataclass(frozen=True)
class Fingerprint:
    """Tells functions of one name apart: ``names`` is a digest of the names, constants and settings
    in them, ``code`` of the bytecode too, which differs between versions of ``python``."""

    names: str
    code: str
    python: str = PYTHON

    @classmethod
    def of(cls, *values: Any) -> Self:
        """The fingerprint of functions, settings, or other parts of a description."""
        names, code = _Digest(bytecode=False), _Digest(bytecode=True)
        for digest in (names, code):
            digest.add(values)
        return cls(names.text(), code.text())

    def comparable(self, bytecode: bool) -> str:
        """The digest to compare; with ``bytecode`` if both come from one Python."""
        return self.code if bytecode else self.names


@dataclass(frozen=True)
class NodeIdentity:
    """A checkpoint's record of a source or operator. ``group``: None if the uid is the user's."""

    name: str
    group: str | None
    function: str
    fingerprint: Fingerprint
    upstream: tuple[Fingerprint, ...] = ()
    """The fingerprints of the stateless nodes before it."""
    states: tuple[tuple[str, str, str], ...] = ()
    """Name, kind and type of the states that the functions have asked for, as far as known."""
    form: StateForm | None = None
    """The form of the operator's own state; None for a source or an earlier version."""

    def asDict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def ofDict(cls, fields: Mapping[str, Any]) -> Self:
        return cls(
            fields["name"],
            fields["group"],
            fields["function"],
            Fingerprint(**fields["fingerprint"]),
            tuple(Fingerprint(**upstream) for upstream in fields["upstream"]),
            tuple((name, kind, type_) for name, kind, type_ in fields["states"]),
            StateForm.ofDict(fields.get("form")),
        )


Identities = Mapping[str, NodeIdentity]
"""The identities of a job's nodes by uid, in the order they were defined."""

NO_IDENTITIES: Identities = {}


def matched(group: str, earlier: Identities, now: Sequence[NodeIdentity]) -> list[str | None]:
    """The uid in ``earlier`` of each node of a group, None for a new node. Raises IncompatibleCheckpointError if the
    group has changed in a way that leaves the matches ambiguous.
    """
    bytecode = all(identity.fingerprint.python == PYTHON for identity in earlier.values())
    before = dict(zip(earlier, _compared(list(earlier.values()), bytecode)))
    after = _compared(now, bytecode)
    found: list[str | None] = [None] * len(now)
    for whole in (True, False):
        _pair(before, after, found, whole)
    left = [uid for uid in before if uid not in found]
    open_ = [position for position, uid in enumerate(found) if uid is None]
    if len(left) == len(open_) == 1:
        # The place is unambiguous: this is the same function with other code.
        found[open_[0]] = left[0]
    elif left and open_:
        raise _ambiguous(group, {uid: earlier[uid] for uid in left}, [now[i] for i in open_])
    return found


_Compared = tuple[str, tuple[str, ...]]


def _compared(identities: Sequence[NodeIdentity], bytecode: bool) -> list[_Compared]:
    """List what distinguishes the nodes of a group: their functions, and the operators that only some have upstream."""
    upstream = [
        Counter(before.comparable(bytecode) for before in identity.upstream)
        for identity in identities
    ]
    shared = functools.reduce(lambda one, other: one & other, upstream) if upstream else Counter()
    return [
        (identity.fingerprint.comparable(bytecode), tuple(sorted((before - shared).elements())))
        for identity, before in zip(identities, upstream)
    ]


def _pair(
    before: Mapping[str, _Compared],
    after: Sequence[_Compared],
    found: list[str | None],
    whole: bool,
) -> None:
    """Pair nodes that are equal as a ``whole``, or in their functions. Several equal ones are paired
    in their order if their number has not changed: equal functions of one input have equal state."""

    def part(compared: _Compared) -> Any:
        return compared if whole else compared[0]

    for value in dict.fromkeys(map(part, after)):
        old = [uid for uid, compared in before.items() if part(compared) == value]
        old = [uid for uid in old if uid not in found]
        new = [i for i, compared in enumerate(after) if part(compared) == value]
        new = [i for i in new if found[i] is None]
        if len(old) == len(new) and (len(new) == 1 or whole):
            for position, uid in zip(new, old):
                found[position] = uid


def _ambiguous(
    group: str, left: Identities, open_: Sequence[NodeIdentity]
) -> IncompatibleCheckpointError:
    was = " and ".join(f"{identity.name!r} ({uid})" for uid, identity in left.items())
    now = " and ".join(f"{identity.name!r} of {identity.function}" for identity in open_)
    advice = ", ".join(f"uid({uid!r})" for uid in left)
    return IncompatibleCheckpointError(
        f"the checkpoint has state of {was}, and the job now has {now} in the same place ({group}):"
        " which of them the state belongs to cannot be told, and state is never given to another"
        f" function. Give the operators that are to go on with it the uids it is kept under, {advice},"
        " and each new one a uid not used before; or begin anew with another checkpoint directory."
    )


def missing(earlier: Identities, uids: Iterable[str]) -> Iterator[str]:
    """A sentence for each node that the job no longer has."""
    present = set(uids)
    for uid, identity in earlier.items():
        if uid not in present:
            yield (
                f"the operator {identity.name!r} with state ({uid}), whose function was"
                f" {identity.function or 'a built-in one'}, is gone. If it was renamed, give it"
                f" uid({uid!r})"
            )


def of_another_form(
    earlier: Identities, now: Identities, timers: Callable[[str], bool] = lambda uid: True
) -> dict[str, str]:
    """A sentence, by uid, for each node whose stored state has another form than the job's.
    ``timers``: whether the stored state of a node may contain timers."""
    found = {}
    for uid, identity in now.items():
        before = earlier[uid].form if uid in earlier else None
        form = identity.form
        if before and form and not before.readableAs(form, timers(uid)):
            found[uid] = (
                f"the operator {identity.name!r} ({uid}) kept its state as {before} and would keep it"
                f" as {form}, which is a state of another kind"
            )
    return found


def begun_anew(earlier: Identities, now: Identities) -> set[str]:
    """The uids of the nodes that restore nothing but a watermark: their state, which is dropped, had another form, or
    belonged to a node without state."""
    return {*of_another_form(earlier, now), *(uid for uid in now if uid not in earlier)}


def that_keep_none(
    earlier: Identities, kept: Iterable[str], keepers: Iterable[str], uids: Iterable[str]
) -> Iterator[str]:
    """A sentence for each node with stored state that would no longer have state, for instance because its keyBy was
    removed. ``keepers``: the uids of the nodes that have state; ``uids``: of all nodes."""
    keeps, present = set(keepers), set(uids)
    for uid in kept:
        if uid in present and uid not in keeps:
            was = earlier[uid].form if uid in earlier else None
            name = repr(earlier[uid].name) if uid in earlier else ""
            yield f"the operator {name} ({uid}) kept its state as {was}, and would keep none"


# ---------------------------------------------------------------------- names of functions


def function_name(function: Any) -> str:
    """The name of a user's function or class for uids: qualified, and with its module unless that
    is ``__main__``. The name of a part of flinkish includes the names of the functions in it."""
    if isinstance(function, functools.partial):
        return f"partial({function_name(function.func)})"
    if isinstance(function, MethodType):
        owner = function.__self__
        kind = owner if isinstance(owner, type) else type(owner)
        return f"{_qualified(kind)}.{function.__name__}"
    if isinstance(function, (FunctionType, BuiltinFunctionType, type)):
        return _qualified(function)
    if hasattr(function, "__wrapped__"):
        return function_name(inspect.unwrap(function))
    if _is_ours(type(function)) and isinstance(function, Function):
        parts = [part for name, value in _settings(function) for part in _named(name, value)]
        return f"{type(function).__qualname__}({','.join(parts)})"
    return _qualified(type(function))


def _qualified(kind: Any) -> str:
    name: str = getattr(kind, "__qualname__", kind.__name__)
    if name.endswith("<lambda>"):
        return "<lambda>"
    module = getattr(kind, "__module__", None)
    return (
        name if module in (None, "__main__", "builtins") or _is_ours(kind) else f"{module}.{name}"
    )


def _named(name: str, value: Any) -> Iterator[str]:
    if callable(value):
        if not (_is_ours(value) or _is_ours(type(value))) or isinstance(value, Function):
            yield function_name(value)
    elif isinstance(value, (str, int)) and not name.startswith("_"):
        yield str(value)


def _is_ours(kind: Any) -> bool:
    return str(getattr(kind, "__module__", "")).partition(".")[0] == "flinkish"


def _settings(value: Any) -> list[tuple[str, Any]]:
    fields = getattr(value, "__dict__", {})
    return [(name, fields[name]) for name in fields if name != "_runtime_context"]


class _Digest:
    """Hashes the parts of a function, without anything that differs from run to run."""

    def __init__(self, bytecode: bool) -> None:
        self._hash = hashlib.sha256()
        self._bytecode = bytecode
        self._met: set[int] = set()
        self._left = _MOST_PARTS

    def text(self) -> str:
        return self._hash.hexdigest()[:16]

    def add(self, value: Any, depth: int = 0) -> None:
        """Add ``value`` to the digest, with the functions and settings in it."""
        self._left -= 1
        if self._left < 0:
            return
        if isinstance(value, _PLAIN):
            self._say(type(value).__name__, repr(value))
        elif isinstance(value, Enum):
            self._say(type(value).__qualname__, value.name)
        elif depth > _DEEPEST or id(value) in self._met:
            self._say(type(value).__qualname__)
        else:
            self._met.add(id(value))
            self._add_parts(value, depth + 1)
            self._met.discard(id(value))

    def _add_parts(self, value: Any, depth: int) -> None:
        parts: Iterable[Any]
        if isinstance(value, (list, tuple)):
            parts = value
        elif isinstance(value, (set, frozenset)):
            parts = sorted(map(repr, value)) if len(value) <= _MOST_PARTS else (len(value),)
        elif isinstance(value, dict):
            parts = chain.from_iterable(value.items())
        elif isinstance(value, CodeType):
            parts = self._of_code(value)
        elif isinstance(value, FunctionType):
            parts = self._of_function(value)
        elif isinstance(value, MethodType):
            parts = value.__func__, value.__self__
        elif isinstance(value, functools.partial):
            parts = value.func, value.args, value.keywords
        elif isinstance(value, (type, BuiltinFunctionType)):
            parts = (_qualified(value),)
        elif hasattr(value, "__wrapped__"):
            parts = (inspect.unwrap(value),)
        elif type(value).__module__ == "operator":
            parts = (repr(value),)
        else:
            parts = _qualified(type(value)), _settings(value)
        self._say(type(value).__name__)
        for part in islice(parts, max(self._left, 0)):
            self.add(part, depth)
        self._say("end")

    def _of_code(self, code: CodeType) -> Iterable[Any]:
        constants = [c for c in code.co_consts if c is not None]
        parts = [code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, constants]
        return [*parts, code.co_code] if self._bytecode else parts

    def _of_function(self, function: FunctionType) -> Iterable[Any]:
        cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
        if _is_ours(function):
            # Another version of flinkish may implement it differently
            return [function.__name__, *cells]
        name = _qualified(function)
        return [name, function.__code__, function.__defaults__, function.__kwdefaults__, *cells]

    def _say(self, *words: str) -> None:
        for word in words:
            self._hash.update(word.encode("utf-8", "backslashreplace") + b"\0")


_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - raises if empty
    except ValueError:
        return False
    return True
