"""Methods that collect a whole stream refuse an unbounded one."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import IllegalArgumentError


@pytest.fixture
def env():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def endless(env):
    return env.fromSource(fl.DataGeneratorSource(str), None, "ticks")


@pytest.mark.parametrize(
    ("collect", "method", "fix"),
    [
        (lambda s: s.collectAsPandas(), "collectAsPandas", "Pass a limit, as in collectAsP"),
        (lambda s: s.collectAsArrow(), "collectAsArrow", "Pass a limit, as in collectAsArrow(1000"),
        (
            lambda s: fl.DataStreamUtils.collectBoundedStream(s, "all"),
            "collectBoundedStream",
            "Pass a limit: stream.executeAndCollect(jobName, limit).",
        ),
    ],
)
def test_an_unbounded_stream_is_refused(env, collect, method, fix):
    stream = env.fromData("a").union(endless(env)).map(str.upper)
    with pytest.raises(IllegalArgumentError) as raised:
        collect(stream)
    assert str(raised.value).startswith(f"{method}: 'Source: ticks' is unbounded, so the job does")
    assert fix in str(raised.value)


def test_with_a_limit_it_is_not(env):
    assert endless(env).map(len).collectAsPandas(2)["value"].tolist() == [1, 1]
