"""The part of the campaign that only Spark can show: what fails in a worker, or on its way to a file."""

from __future__ import annotations

import numpy as np
import pytest

from flinkish import FileSink, StreamExecutionEnvironment
from flinkish.api.errors import FlinkishError, UnstableKeyError
from tests.campaign.test_wrong_elements import nested

LATE = np.datetime64("99999-01-01T00:00:00", "us")
HALF = "half a pair: \ud800"


SINKS = {
    "text": (FileSink.forText, HALF, "UTF-8"),
    "json": (FileSink.forJson, {"text": HALF}, "UTF-8"),
    "csv": (FileSink.forCsv, ("a", HALF), "UTF-8|is not of type string"),
    "year": (FileSink.forJson, {"at": LATE}, "years 1 to 9999"),
}


def check_that_it_is_named(env, directory, name):
    sink, element, message = SINKS[name]
    stream = env.fromCollection([element]).map(lambda value: value)
    stream.sinkTo(sink(str(directory))).name("the files")
    with pytest.raises(FlinkishError, match=f"(?s)the files.*({message})"):
        env.execute()


@pytest.mark.parametrize("name", SINKS)
def test_what_a_file_cannot_hold_is_named(tmp_path, name):
    local = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    check_that_it_is_named(local, tmp_path / "out", name)


def test_what_a_file_cannot_hold_is_named_by_a_worker(env, tmp_path):
    check_that_it_is_named(env, tmp_path / "out", "csv")


def test_a_key_that_cannot_be_hashed_is_named_by_a_worker(env):
    """tests/api/test_refused_arguments.py has other such keys."""
    with pytest.raises(UnstableKeyError, match="cannot be hashed"):
        env.fromElements(1, 2).keyBy(lambda value: nested(2_000)).reduce(max).executeAndCollect(1)
