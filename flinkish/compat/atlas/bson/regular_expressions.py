"""MongoDB's regular expressions (PCRE) as Python's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from flinkish.api.errors import shown
from flinkish.compat.atlas.bson.values import DocumentError, is_null

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "u": 0}


def compiled(regex: Any, options: Any = None) -> re.Pattern[str]:
    """The pattern of a text or of a regular expression, with further options such as "i".

    Raises DocumentError for a pattern that is none.
    """
    flags = 0
    for option in "" if is_null(options) else str(options):
        if option not in _FLAGS:
            raise DocumentError(f"{shown(option)} is no option of a regular expression: i, m, s, x")
        flags |= _FLAGS[option]
    if isinstance(regex, re.Pattern):
        if not flags:
            return regex
        return _compiled(regex.pattern, flags | (regex.flags & ~re.UNICODE))
    if not isinstance(regex, str):
        raise DocumentError(f"{shown(regex)} is no regular expression")
    return _compiled(regex, flags)


@lru_cache(maxsize=512)
def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    try:
        return re.compile(_for_python(pattern), flags)
    except re.error as error:
        raise DocumentError(f"{shown(pattern)} is no regular expression: {error}") from None


def _for_python(pattern: str) -> str:
    """PCRE's ``(?<name>``, ``\\z`` and ``\\h``, and ``$`` before a last line break, as in Python."""
    return (
        re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern)
        .replace(r"\z", r"\Z")
        .replace(r"\h", r"[ \t]")
    )
