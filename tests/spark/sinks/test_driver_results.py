"""Jobs that bring many results to the driver."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import DriverResultsWarning
from flinkish.runtime.sinks import driver_results


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Ten are many."""
    monkeypatch.setattr(driver_results, "MOST_ELEMENTS", 10)


def test_a_job_warns_once_and_names_the_sink(env, tmp_path):
    """Elements that stay in the workers or are dropped do not count."""
    found: list[int] = []
    env.getConfig().setElementsPerBatch(20)
    numbers = env.fromCollection(range(60))
    numbers.sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
    numbers.sinkTo(fl.DiscardingSink())
    numbers.filter(lambda n: n < 10).print()
    numbers.filter(lambda n: n >= 20).forEachBatch(lambda values, _: found.extend(values)).name(
        "all"
    )
    with pytest.warns(DriverResultsWarning) as seen:
        env.execute()
    assert len(found) == 40
    told = [w.message for w in seen if isinstance(w.message, DriverResultsWarning)]
    assert [(each.sink, each.elements) for each in told] == [("all", 20)]
