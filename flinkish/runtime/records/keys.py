"""Key groups: the keys of a stream, divided by a hash that is the same in every process.

A *key group* is a share of the keys. After a shuffle, Spark groups by key group, and state is
stored by key group: all elements, timers and state of a key are in its key group. There are far
fewer key groups than keys, so Spark calls Python once for each key group and batch, not for each
key. The number of key groups is fixed for the life of a checkpoint, while any number of tasks can
share them.

The hash of a key is its *stable hash* (``stable_hashes``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.errors import (
    FlinkishError,
    IllegalArgumentError,
    IncompatibleCheckpointError,
    UnfitElementError,
    UnstableKeyError,
    shown,
)
from flinkish.api.functions.adapt import named
from flinkish.api.functions.join import TaggedUnion
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.api.types.fields import NamedField, PositionedField, field_read
from flinkish.runtime.records.records import Hashes, Records, Timestamps
from flinkish.runtime.records.rows import (
    RowColumns,
    by_code,
    encoded,
    encoded_tuples,
    python_values,
)
from flinkish.runtime.records.shapes import ConstantShape, Shape
from flinkish.runtime.records.stable_hashes import (
    HASH_OF_NONE,
    hash_of_integer,
    hashes_of_integers,
    stable_hash,
    was_hashed_otherwise,
)
from flinkish.runtime.records.user_code import mapped, user_code_of


def key_group_of(key_hash: int, key_groups: int) -> int:
    """The index of the key group, out of ``key_groups``, for a key with the hash ``key_hash``."""
    return key_hash * key_groups >> 32


def split_group(operator: str, split: Any, key_groups: int) -> int:
    """The index of the key group, out of ``key_groups``, for a split. Raises IllegalArgumentError,
    which names the split and ``operator``, if the split has no stable hash."""
    try:
        return key_group_of(stable_hash(split), key_groups)
    except UnstableKeyError:
        raise unstable_split(operator, split) from None


def unstable_split(operator: str, split: Any) -> IllegalArgumentError:
    """The error for a split without a stable hash."""
    return IllegalArgumentError(
        f"{operator}: the split {shown(split)} of type {type(split).__name__} cannot be hashed the same way"
        " in every process, and above parallelism 1 the hash says which task it goes to. Let withSplits, or"
        " inputPartition of an ArrivalTimeStrategy, give a number, a string or a tuple of them, or call"
        " setParallelism(1) on the stream that has the strategy."
    )


@dataclass(frozen=True)
class KeyRules:
    """The keys that a job accepts."""

    nulls: bool = False
    """Whether None is a key."""
    earlierHashes: bool = False
    """Whether state is stored by version 1 of the hashes. Keys whose hash was another are refused
    then, as their state would not be found."""

    def of(self, partitioning: HashPartitioning) -> KeyRules:
        """These rules for the keys of ``partitioning``."""
        return replace(self, nulls=self.nulls or partitioning.allowsNullKeys)


KEY_RULES = KeyRules()
"""The rules unless settings or a checkpoint say otherwise."""


class KeyHashes(dict[Any, int]):
    """A cache of stable hashes; a stream has few keys. ``earlier``: ``KeyRules.earlierHashes``."""

    MOST = 1 << 20
    MOST_BETWEEN_BATCHES = 1 << 14

    def __init__(self, earlier: bool = False) -> None:
        super().__init__()
        self._earlier = earlier
        self._types: set[type] = set()

    def __missing__(self, key: Any) -> int:
        if self._earlier and was_hashed_otherwise(key):
            raise IncompatibleCheckpointError(
                f"the checkpoint was begun by an earlier version of flinkish, which kept the key {shown(key)} of"
                f" type {type(key).__name__} in another place, so its state would not be found. Start from the"
                " checkpoint as from a savepoint, which finds it: env.setSavepoint(directory), with a new directory"
                " for enableCheckpointing."
            )
        if len(self) >= self.MOST:
            self.clear()
        result = self[key] = hash_of_integer(key) if type(key) is int else stable_hash(key)
        return result

    def ofColumn(self, keys: pa.Array) -> Hashes:
        """The hashes of ``keys``; those of integers are computed at once."""
        if pa.types.is_integer(keys.type) and keys.type != pa.uint64() and not keys.null_count:
            return hashes_of_integers(keys.to_numpy().astype(np.int64, copy=False))
        return self.column(python_values(keys))

    def trim(self) -> None:
        """Called between batches: drop the cache if it is large."""
        if len(self) > self.MOST_BETWEEN_BATCHES:
            self.clear()

    def column(self, keys: Sequence[Any]) -> Hashes:
        """The hashes of ``keys``, in their order."""
        try:
            # Not map(), which a StopIteration from a key's __hash__ would end silently
            hashes = np.array([self[key] for key in keys], dtype=np.uint32)
            types = set(map(type, keys))
            if not types <= self._types:
                # An equal key of another type may have been found, even for a type to be refused
                for key in {type(key): key for key in keys}.values():
                    self.__missing__(key)
                self._types |= types
            return hashes
        except FlinkishError:
            raise
        except Exception:
            for key in keys:
                self._check(key)
            raise

    @staticmethod
    def _check(key: Any) -> None:
        """Raises UnstableKeyError if ``key`` cannot be hashed."""
        try:
            hash(key)
            stable_hash(key)
        except RecursionError:
            raise UnstableKeyError(key, "it is nested too deep") from None
        except TypeError:
            raise UnstableKeyError(key) from None
        except Exception as error:
            reason = f"its __hash__ raises {type(error).__name__}: {error}"
            raise UnstableKeyError(key, reason) from None


class ColumnKeys(Sequence[Any]):
    """Keys that are a column of their rows: a frame has only the index of the column."""

    __slots__ = ("_rows", "column")

    def __init__(self, rows: RowColumns, column: int) -> None:
        self._rows = rows
        self.column = column

    @property
    def encoded(self) -> pa.DictionaryArray | None:
        """The column, if it is dictionary-encoded in the rows."""
        column = self._rows.arrow(self.column)
        return column if pa.types.is_dictionary(column.type) else None

    def over(self, rows: RowColumns) -> ColumnKeys:
        """The same column of other rows."""
        return ColumnKeys(rows, self.column)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows.values(self.column))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, end, _ = index.indices(len(self))
            return ColumnKeys(self._rows.between(start, end), self.column)
        return self._rows.values(self.column)[index]


class ComputedKeys(Sequence[Any]):
    """Keys that a traced selector computed as a column. Python objects are made when needed."""

    __slots__ = ("_listed", "encoded")

    def __init__(self, encoded: pa.DictionaryArray) -> None:
        self.encoded = encoded
        self._listed: list[Any] | None = None

    def listed(self) -> list[Any]:
        """All keys as Python objects."""
        if self._listed is None:
            self._listed = python_values(self.encoded)
        return self._listed

    def __len__(self) -> int:
        return len(self.encoded)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.listed())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and index.step is None:
            part = ComputedKeys(self.encoded[index])
            part._listed = None if self._listed is None else self._listed[index]
            return part
        return self.listed()[index]

    def take(self, positions: NDArray[np.intp]) -> ComputedKeys:
        """The keys at ``positions``, in that order."""
        return ComputedKeys(self.encoded.take(pa.array(positions)))


def encoded_keys(records: Records) -> pa.DictionaryArray | None:
    """The distinct keys of ``records``, and the number of each element's key among them. None if
    elements or keys are not columns."""
    values, keys = records.values, records.keys
    if not isinstance(values, RowColumns):
        return None
    if isinstance(keys, ColumnKeys):
        return values.encoded(keys.column)
    return keys.encoded if isinstance(keys, ComputedKeys) else None


def joined_keys(
    values: Sequence[Any], parts: Sequence[Sequence[Any] | None]
) -> ColumnKeys | ComputedKeys | None:
    """The keys of several runs, which together are ``values``; None if they are not columns."""
    numbers = {keys.column if isinstance(keys, ColumnKeys) else None for keys in parts}
    number = numbers.pop()
    if isinstance(values, RowColumns) and number is not None and not numbers:
        return ColumnKeys(values, number)
    computed = [
        keys.encoded.dictionary_decode() for keys in parts if isinstance(keys, ComputedKeys)
    ]
    if len(computed) < len(parts) or len({keys.type for keys in computed}) > 1:
        return None
    return ComputedKeys(encoded(pa.concat_arrays(computed)))


class ColumnSelector(Protocol):
    """A key selector over columns. Methods return None if it has to be called for each element."""

    def passed(self, values: Sequence[Any]) -> int | None:
        """The index of the column of ``values`` that the selector returns unchanged."""

    def results(self, values: Sequence[Any]) -> RowColumns | None:
        """The keys as columns."""


_JOINED = {1: "where", 2: "equalTo"}
"""The method that took the key selector of each side of a join."""


class KeyColumn:
    """Computes the keys of elements: from a column if the key selector only reads that, with
    ``columns`` if the selector can be traced, else by calling the selector.

    Errors of the selector name ``operator``. With None as a key, unless ``rules`` allow it, ``of``
    raises UnfitElementError.
    """

    def __init__(
        self,
        selector: Callable[[Any], Any],
        operator: str,
        columns: ColumnSelector | None = None,
        rules: KeyRules = KEY_RULES,
    ) -> None:
        self._select = selector
        self._columns = columns
        self._field = field_read(selector)
        self._operator = operator
        self._nulls = rules.nulls
        self._hashes = KeyHashes(rules.earlierHashes)

    def of(self, values: Sequence[Any]) -> tuple[Sequence[Any], Hashes]:
        """The keys of ``values`` and their hashes."""
        keys, hashes = self._of(values)
        if not self._nulls and (hashes == HASH_OF_NONE).any():
            for key, value in zip(keys, values):
                if key is None:
                    raise self._null_key(value)
        return keys, hashes

    def _null_key(self, value: Any) -> UnfitElementError:
        function = named(self._select)
        if isinstance(value, TaggedUnion):
            function, value = f"the key selector of {_JOINED[value.tag]}", value.value
        elif isinstance(self._select, (NamedField, PositionedField)):
            function = f"keyBy({self._field!r})"
        return UnfitElementError(
            f"{function} returned None as the key of the element {shown(value)}, and None is no key. Did the function"
            " forget return? If an element may have no key, return another value for it, such as a text, drop it"
            " with filter before, or call env.getConfig().allowNullKeys(): None is one key then.",
            self._operator,
        )

    def _of(self, values: Sequence[Any]) -> tuple[Sequence[Any], Hashes]:
        if isinstance(values, RowColumns):
            column = None if self._field is None else values.column(self._field)
            if column is None and self._columns is not None:
                column = self._columns.passed(values)
            if column is not None and has_dictionary(values.schema.types[column]):
                return ColumnKeys(values, column), self._hashes_of(values.encoded(column))
            computed = None if self._columns is None else self._columns.results(values)
            if computed is not None and _are_keys(computed):
                return self._computed(computed)
        keys = mapped(self._operator, self._select, values)
        with user_code_of(self._operator, lambda: keys):
            return keys, self._hashes.column(keys)

    def _computed(self, keys: RowColumns) -> tuple[Sequence[Any], Hashes]:
        """Computed keys; each distinct key becomes a Python object once."""
        parts, shape = list(map(keys.encoded, range(keys.batch.num_columns))), keys.shape
        if _are_tuples(shape):
            column = _encoded(shape, iter(parts))
            return ComputedKeys(column), self._hashes_of(column)
        column = encoded_tuples(parts)
        distinct = list(shape.made(list(map(python_values, column.dictionary.flatten()))))
        codes = column.indices.to_numpy()
        hashes = self._hashes.column(distinct)[codes]
        return list(map(distinct.__getitem__, codes.tolist())), hashes

    def trim(self) -> None:
        """Called between batches: drop cached hashes."""
        self._hashes.trim()

    def _hashes_of(self, encoded: pa.DictionaryArray) -> Hashes:
        hashes: Hashes = self._hashes.ofColumn(encoded.dictionary)[encoded.indices.to_numpy()]
        return hashes


def _are_tuples(shape: Shape) -> bool:
    """Whether keys of ``shape`` are values, or tuples, Rows or NamedTuples of such."""
    if shape.kind is None:
        return True
    own = issubclass(shape.kind, tuple) and not isinstance(shape, ConstantShape)
    return own and all(map(_are_tuples, shape.parts))


def _encoded(shape: Shape, parts: Iterator[pa.DictionaryArray]) -> pa.DictionaryArray:
    """The column of keys of ``shape``; ``parts`` gives those of its parts."""
    if shape.kind is None:
        return next(parts)
    return encoded_tuples([_encoded(part, parts) for part in shape.parts], shape)


def _are_keys(computed: RowColumns) -> bool:
    """Whether keys are equal exactly if their columns are, so that equal keys can be shared."""
    types = computed.batch.schema.types
    return not computed.nested and bool(types) and all(map(has_dictionary, types))


def taken(values: Sequence[Any], positions: NDArray[np.intp]) -> Sequence[Any]:
    """The values at ``positions``, in that order."""
    if isinstance(values, (RowColumns, ComputedKeys)):
        return values.take(positions)
    if len(positions) < 2:
        return [values[i] for i in positions.tolist()]
    return list(itemgetter(*positions.tolist())(values))


def records_at(records: Records, positions: NDArray[np.intp]) -> Records:
    """The records at ``positions``, in that order."""
    values, keys = taken(records.values, positions), records.keys
    if isinstance(keys, ColumnKeys) and isinstance(values, RowColumns):
        keys = keys.over(values)
    elif keys is not None:
        keys = taken(keys, positions)
    hashes, counts = records.hashes, records.counts
    return Records(
        values,
        records.timestamps[positions],
        keys,
        None if hashes is None else hashes[positions],
        None if counts is None else counts[positions],
    )


def has_dictionary(kind: pa.DataType) -> bool:
    """Whether keys may be a column of type ``kind``: Arrow's equality is that of Python."""
    is_of = pa.types
    return bool(
        is_of.is_integer(kind)
        or is_of.is_string(kind)
        or is_of.is_boolean(kind)
        or is_of.is_binary(kind)
        or is_of.is_date(kind)
    )


_SAMPLE = 1024

_ELEMENTS_A_KEY = 4
"""With fewer elements for each key, sorting by key costs more than it saves."""


@dataclass(frozen=True)
class KeyRuns:
    """Records ordered by key, and by arrival within a key. ``codes`` holds, for each record, the
    index of its key in ``distinct``."""

    values: RowColumns
    timestamps: Timestamps
    hashes: Hashes
    codes: NDArray[np.integer[Any]]
    distinct: Sequence[Any]

    def of(
        self, positions: NDArray[np.intp] | None
    ) -> tuple[Sequence[Any], NDArray[np.intp], Hashes]:
        """The distinct keys of the records at ``positions``, or of all, each with its number of
        records and its hash."""
        codes = self.codes if positions is None else self.codes[positions]
        hashes = self.hashes if positions is None else self.hashes[positions]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        counts = np.diff(starts, append=len(codes))
        return [self.distinct[code] for code in codes[starts].tolist()], counts, hashes[starts]


def key_runs(records: Records) -> KeyRuns | None:
    """``records`` ordered by key; None if keys are not a column, or have few records each."""
    values, hashes = records.values, records.hashes
    if not isinstance(values, RowColumns) or hashes is None:
        return None
    if len(np.unique(hashes[:_SAMPLE])) * _ELEMENTS_A_KEY > min(len(hashes), _SAMPLE):
        return None
    column = encoded_keys(records)
    if column is None:
        return None
    distinct = python_values(column.dictionary)
    codes = column.indices.to_numpy()
    order = by_code(codes, len(distinct))
    return KeyRuns(
        values.take(order), records.timestamps[order], hashes[order], codes[order], distinct
    )
