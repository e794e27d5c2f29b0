"""Global job parameters, as functions see them on the harness, in this process and on Spark."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.testing import StreamTestHarness


class Prefixed(fl.RichMapFunction):
    def open(self, openContext):
        self.prefix = self.getRuntimeContext().getGlobalJobParameters()["prefix"]

    def map(self, value):
        return f"{self.prefix}{value}"


PARAMETERS = fl.ParameterTool.fromArgs(["--prefix", "no. "])


def test_of_a_parameter_tool_or_a_dict():
    config = fl.ExecutionConfig()
    assert config.getGlobalJobParameters() == {}
    assert config.setGlobalJobParameters(PARAMETERS).getGlobalJobParameters() == {"prefix": "no. "}
    assert config.setGlobalJobParameters({"a": "b"}).getGlobalJobParameters() == {"a": "b"}


@pytest.mark.parametrize("wrong", [None, "--prefix", {"a": 1}, {1: "a"}])
def test_all_else_is_named(wrong):
    with pytest.raises(fl.InvalidProgramError, match=r"setGlobalJobParameters.* dict of strings"):
        fl.ExecutionConfig().setGlobalJobParameters(wrong)


def test_on_the_harness():
    def build(stream):
        stream.getExecutionEnvironment().getConfig().setGlobalJobParameters(PARAMETERS)
        return stream.map(Prefixed())

    harness = StreamTestHarness(build)
    harness.processElement(5)
    assert harness.getOutput() == [fl.StreamRecord("no. 5", None)]


def test_a_change_of_what_a_function_got_changes_nothing():
    class Changing(fl.RichMapFunction):
        def map(self, value):
            self.getRuntimeContext().getGlobalJobParameters()["prefix"] = "changed"
            return self.getRuntimeContext().getGlobalJobParameters().get("prefix")

    def build(stream):
        stream.getExecutionEnvironment().getConfig().setGlobalJobParameters(PARAMETERS)
        return stream.map(Changing())

    harness = StreamTestHarness(build)
    harness.processElement(5)
    assert harness.getOutput() == [fl.StreamRecord("no. ", None)]


def test_in_a_job(environment):
    environment.getConfig().setGlobalJobParameters(PARAMETERS)
    numbers = environment.fromElements(1, 2).map(Prefixed()).keyBy(len).map(Prefixed())
    assert sorted(numbers.executeAndCollect()) == ["no. no. 1", "no. no. 2"]
