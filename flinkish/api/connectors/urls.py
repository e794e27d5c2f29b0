"""URLs of servers, which may hold a password."""

from __future__ import annotations

import re

_USER = re.compile(r"//.*@")


def shown_url(url: str) -> str:
    """``url`` without the user and the parameters, for errors.

    >>> shown_url("http://ann:hunter2@registry:8081/v7?token=abc")
    'http://registry:8081/v7'
    """
    return _USER.sub("//", url.partition("?")[0])
