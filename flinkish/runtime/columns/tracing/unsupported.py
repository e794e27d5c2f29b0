"""``Unsupported``: what a function does that cannot be traced."""

from __future__ import annotations

from collections.abc import Callable


class Unsupported(Exception):
    """A function cannot be traced; the text says why."""


class CannotTell(Exception):
    """Whether a function can be traced depends on its input, which is not known yet."""


class OtherSpecialization(CannotTell):
    """The function has to be specialized by something else than it is."""


def why_unsupported(follow: Callable[[], object]) -> str | None:
    """Why ``follow``, which traces a function, does not support it; None if it does. Raises
    OtherSpecialization."""
    try:
        follow()
    except Unsupported as unsupported:
        return str(unsupported)
    except OtherSpecialization:
        raise
    except CannotTell:
        pass
    except Exception as error:
        # A user's class may raise anything when it is inspected; the general path still works
        return f"cannot be followed: {type(error).__name__}: {error}"
    return None
