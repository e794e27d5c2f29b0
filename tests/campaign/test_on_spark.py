"""The part of the campaign that only Spark can show: what fails in a worker, or on its way to a file."""

from __future__ import annotations

import numpy as np
import pytest

from flinkish import FileSink
from flinkish.api.errors import FlinkishError, UnstableKeyError
from tests.campaign.test_wrong_elements import Unhashable, nested

LATE = np.datetime64("99999-01-01T00:00:00", "us")
HALF = "half a pair: \ud800"


@pytest.mark.parametrize(
    ("sink", "element", "message"),
    [
        (FileSink.forText, HALF, "UTF-8"),
        (FileSink.forJson, {"text": HALF}, "UTF-8"),
        (FileSink.forCsv, ("a", HALF), "UTF-8|is not of type string"),
        (FileSink.forJson, {"at": LATE}, "years 1 to 9999"),
    ],
)
def test_what_a_file_cannot_hold_is_named(env, tmp_path, sink, element, message):
    stream = env.fromCollection([element]).map(lambda value: value)
    stream.sinkTo(sink(str(tmp_path / "out"))).name("the files")
    with pytest.raises(FlinkishError, match=f"(?s)the files.*({message})"):
        env.execute()


@pytest.mark.parametrize("key", [Unhashable(), nested(2_000)], ids=["raises", "deep"])
def test_a_key_that_cannot_be_hashed_is_named(env, key):
    kind = type(key)

    def select(value):
        return Unhashable() if kind is Unhashable else nested(2_000)

    with pytest.raises(UnstableKeyError, match="cannot be hashed"):
        env.fromElements(1, 2).keyBy(select).reduce(max).executeAndCollect(1)
