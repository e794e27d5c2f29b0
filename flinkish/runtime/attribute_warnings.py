"""Tells the user, on the driver, of attributes that functions have changed in the workers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable

from flinkish.api.errors import ChangedAttributeWarning
from flinkish.runtime.attribute_changes import AttributeChange

_LOG = logging.getLogger("flinkish")


class AttributeWarnings:
    """Warns of each attribute once in a run of a job."""

    def __init__(self) -> None:
        self._warned: set[AttributeChange] = set()

    def warn(self, changes: Iterable[AttributeChange]) -> None:
        """Warn of those that are new."""
        for change in changes:
            if change not in self._warned:
                self._warned.add(change)
                warning = ChangedAttributeWarning(*change)
                if _LOG.hasHandlers():  # without any, logging would say it on stderr a second time
                    _LOG.warning("%s", warning)
                # With a registry of its own, as Python shows a warning once in a process
                warnings.warn_explicit(warning, None, "flinkish", 1, registry={})
