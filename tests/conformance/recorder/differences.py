"""The differences between flinkish and a recorded case: on the harness, after restarts, in
batches."""

from __future__ import annotations

import random

from flinkish import FlinkishError
from tests.conformance.batches import covered, replay_in_batches
from tests.conformance.cases import Case
from tests.conformance.comparison import assert_same, assert_same_records
from tests.conformance.families import family_of
from tests.conformance.replay import replay

UNJUDGED = (
    "java.lang.OutOfMemoryError",
    "java.lang.NullPointerException",
    "java.lang.ThreadDeath",
)
"""Flink fails where there is nothing to refuse, as with ``reduce`` of what an evictor left empty, or did not
end in time."""


def difference(case: Case) -> str | None:
    """None, or what differs."""
    family, exception = family_of(case), case.data.get("exception")
    if exception in UNJUDGED:
        return None
    try:
        if exception is not None:
            return _refusal(case)
        assert_same(case, replay(family, case))
        assert_same(case, replay(family, case, random.Random(case.name)))
        if covered(case):
            assert_same_records(case, replay_in_batches(family, case, random.Random(case.name)))
    except AssertionError as error:
        return f"other than Flink: {error}"
    except Exception as error:
        return f"raised {error!r}"
    return None


def _refusal(case: Case) -> str | None:
    try:
        replay(family_of(case), case)
    except FlinkishError as error:
        return None if len(str(error).split()) > 8 else f"says only {error}"
    return f"not refused; Flink: {case.data['message']}"
