"""``ConditionColumns``: evaluates conditions for a whole run of events at once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.cep.evaluation import Verdicts
from flinkish.cep.nfa import NFA
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.keys import records_at
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns

_MOST_CONDITIONS = 16
"""The verdicts of up to this many conditions are encoded as the bits of a number."""


class ConditionColumns:
    """The conditions of a pattern that only compute, over columns.

    An event keeps their verdicts while it waits for the watermark. Only the object that evaluated
    the conditions uses these verdicts: after a restart the conditions may differ. Events that leave
    any possible match unchanged are left out here; only their times may matter.
    """

    def __init__(
        self, nfa: NFA, traced: Callable[[Callable[..., bool]], ColumnFunction | None]
    ) -> None:
        self._nfa = nfa
        self._columns = [
            None if condition.iterative else traced(condition.call) for condition in nfa.conditions
        ]
        self._any = any(self._columns) and len(self._columns) <= _MOST_CONDITIONS
        self._mine = uuid.uuid4().hex
        self._inert: dict[int, bool] = {}

    def of(
        self, records: Records, watermark: int
    ) -> tuple[Records, Iterable[tuple[str, Verdicts] | None], Iterable[tuple[Any, int]]]:
        """The events of a run that can matter, the known verdicts on each, and key and time of those left
        out."""
        values, keys = records.values, records.keys
        if not self._any or not isinstance(values, RowColumns) or not len(values):
            return records, repeat(None), ()
        truths = [None if each is None else each.truths(values) for each in self._columns]
        if not any(truth is not None for truth in truths):
            return records, repeat(None), ()
        codes = np.zeros(len(values), np.int64)
        for number, truth in enumerate(truths):
            if truth is not None:
                codes |= truth.astype(np.int64) << number
        complete = all(truth is not None for truth in truths)
        left_out: Iterable[tuple[Any, int]] = ()
        if complete and self._nfa.leavesOut and keys is not None:
            inert = self._are_inert(codes) & (records.timestamps > watermark)
            if inert.any():
                left_out = zip(compress(keys, inert), records.timestamps[inert].tolist())
                places = np.flatnonzero(~inert)
                codes, records = codes[places], records_at(records, places)
        known = [truth is not None for truth in truths]
        of_codes = {
            code: (self._mine, _verdicts(code, known)) for code in np.unique(codes).tolist()
        }
        return records, [of_codes[code] for code in codes.tolist()], left_out

    def known(self, verdicts: Sequence[tuple[str, Verdicts]]) -> Verdicts | None:
        """The verdicts on an event that has waited; None if they are another object's."""
        return verdicts[0][1] if verdicts and verdicts[0][0] == self._mine else None

    def _are_inert(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        distinct, positions = np.unique(codes, return_inverse=True)
        every = [True] * len(self._columns)
        for code in distinct.tolist():
            if code not in self._inert:
                self._inert[code] = self._nfa.isInert(_verdicts(code, every))
        inert: NDArray[np.bool_] = np.array([self._inert[c] for c in distinct.tolist()])[positions]
        return inert


def _verdicts(code: int, known: Sequence[bool]) -> Verdicts:
    return tuple(
        bool(code >> number & 1) if is_known else None for number, is_known in enumerate(known)
    )
