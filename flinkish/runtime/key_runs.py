"""Records brought in the order of their keys, so that a key's contents are looked up once a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.runtime.elements import Hashes, Records, Timestamps
from flinkish.runtime.keys import ColumnKeys
from flinkish.runtime.row_columns import RowColumns, python_values

_SAMPLE = 1024
_ELEMENTS_A_KEY = 4
"""With fewer elements a key, bringing them in order costs more than it saves."""


@dataclass(frozen=True)
class KeyRuns:
    """Records ordered by key, those of a key in the order they came in.

    ``codes`` says of each record which of the keys in ``distinct`` it has.
    """

    values: RowColumns
    timestamps: Timestamps
    hashes: Hashes
    codes: NDArray[np.integer[Any]]
    distinct: Sequence[Any]

    def of(
        self, positions: NDArray[np.intp] | None
    ) -> tuple[Sequence[Any], NDArray[np.intp], Hashes]:
        """The keys of the records at ``positions``, or of all: each key once, with how many of the
        records it has, and its hash."""
        codes = self.codes if positions is None else self.codes[positions]
        hashes = self.hashes if positions is None else self.hashes[positions]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        counts = np.diff(starts, append=len(codes))
        return [self.distinct[code] for code in codes[starts].tolist()], counts, hashes[starts]


def key_runs(records: Records) -> KeyRuns | None:
    """``records`` in the order of their keys; None if that is not worth it: if the keys are no
    column of the records, or have few records each."""
    values, keys, hashes = records.values, records.keys, records.hashes
    if not isinstance(values, RowColumns) or not isinstance(keys, ColumnKeys) or hashes is None:
        return None
    if len(np.unique(hashes[:_SAMPLE])) * _ELEMENTS_A_KEY > min(len(hashes), _SAMPLE):
        return None
    encoded = values.encoded(keys.column)
    distinct = python_values(encoded.dictionary)
    codes = encoded.indices.to_numpy()
    if len(distinct) <= np.iinfo(np.uint16).max:
        codes = codes.astype(np.uint16)  # which numpy sorts in a tenth of the time
    order = np.argsort(codes, kind="stable")
    return KeyRuns(
        values.take(order), records.timestamps[order], hashes[order], codes[order], distinct
    )
