"""What a function that emits any number has returned or yields, beside what it writes to ``out``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flinkish.api.errors import UnfitElementError, shown

_COMES_APART = (str, bytes, bytearray, Mapping)


def results_of(
    returned: Any, function: str = "the function", tuples: bool = False, wrote: bool = False
) -> Iterable[Any]:
    """What ``function`` has returned, as its results; None is none.

    ``tuples``: a tuple is one of results, not one result. ``wrote``: it may have written to ``out``,
    so what a lambda makes of several calls, ``[out.collect(1), out.collect(2)]``, is none either.

    Raises UnfitElementError for a single value, also one that would come apart if it were iterated.
    """
    if returned is None:
        return ()
    if wrote and type(returned) in (list, tuple) and returned.count(None) == len(returned):
        return ()
    apart = _COMES_APART if tuples and type(returned) is tuple else (*_COMES_APART, tuple)
    if isinstance(returned, apart) or not isinstance(returned, Iterable):
        raise UnfitElementError(
            f"{function} returned {shown(returned)} of type {type(returned).__name__}, but must"
            " return its results as a list, yield them, or write them to out. For one result return"
            " a list of it: [result]."
        )
    return returned
