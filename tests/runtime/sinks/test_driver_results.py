"""The warning about what comes to the driver."""

from __future__ import annotations

import warnings

import pytest

from flinkish.api.errors import DriverResultsWarning
from flinkish.runtime.sinks.driver_results import DriverResults


def test_a_million_is_not_too_many():
    results = DriverResults()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            results.beginBatch()
            results.add("one", 600_000)
            results.add("other", 400_000)


def test_more_than_a_million_in_a_batch_warns_once_a_job():
    results = DriverResults()
    results.beginBatch()
    results.add("one", 600_000)
    with pytest.warns(DriverResultsWarning, match="other: .* 1,000,001 .*sinkTo.*forEachPartition"):
        results.add("other", 400_001)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.beginBatch()
        results.add("one", 5_000_000)
