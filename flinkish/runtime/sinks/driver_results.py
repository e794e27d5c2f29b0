"""``DriverResults``: warns when a job sends too many elements to the driver in a batch."""

from __future__ import annotations

import logging
import warnings

from flinkish.api.errors import DriverResultsWarning

_LOG = logging.getLogger("flinkish")

MOST_ELEMENTS = 1_000_000
"""The most elements that a batch may send to the driver without a warning."""


class DriverResults:
    """Counts the elements that a batch sends to the driver, and warns once per job."""

    _elements = 0
    _warned = False

    def beginBatch(self) -> None:
        """Called before a batch: count from zero."""
        self._elements = 0

    def add(self, sink: str, elements: int) -> None:
        """Called before the sink of that name gets ``elements`` elements."""
        self._elements += elements
        if self._elements > MOST_ELEMENTS and not self._warned:
            self._warned = True
            warning = DriverResultsWarning(sink, self._elements)
            if _LOG.hasHandlers():  # without any, logging would print it to stderr once more
                _LOG.warning("%s", warning)
            # With a new registry, as Python shows a warning once in a process
            warnings.warn_explicit(warning, None, "flinkish", 1, registry={})
