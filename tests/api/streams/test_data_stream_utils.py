"""A stream that is keyed again has the results of one that is keyed once, whatever key it had before."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish import DataStreamUtils

WORDS = ["ada", "bob", "eve", "ada", "adam", "bob", "zoe", "ada"] * 20


def counts(reinterpreted, types=()):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(4).getConfig().setElementsPerBatch(7)
    keyed = env.fromCollection(WORDS).keyBy(len).map(lambda word: (word, 1))
    again = (
        DataStreamUtils.reinterpretAsKeyedStream(keyed, lambda pair: pair[0], *types)
        if reinterpreted
        else keyed.keyBy(lambda pair: pair[0])
    )
    return sorted(again.reduce(lambda a, b: (a[0], a[1] + b[1])).executeAndCollect())


@pytest.mark.parametrize("types", [(), (fl.Types.STRING(),)])
def test_it_is_keyed_again(types):
    found = counts(True, types)
    assert found == counts(False)
    assert max(count for word, count in found if word == "ada") == WORDS.count("ada")


def test_its_elements_are_collected_by_both_names():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    with DataStreamUtils.collect(env.fromData(1, 2)) as elements:
        assert list(elements) == [1, 2]
    assert DataStreamUtils.collectBoundedStream(env.fromData(3), "three") == [3]


def test_what_is_no_stream_is_named():
    with pytest.raises(fl.InvalidProgramError, match=r"reinterpretAsKeyedStream.*Pass the stream"):
        DataStreamUtils.reinterpretAsKeyedStream(len, len)  # type: ignore[arg-type]
