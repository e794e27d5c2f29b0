"""The runtime mode by PyFlink's name is flinkish's own."""

from __future__ import annotations

from flinkish.pyflink.common import Configuration
from flinkish.pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment


def test_the_mode_is_that_of_the_job():
    env = StreamExecutionEnvironment.get_execution_environment().set_local_execution(True)
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    counts = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda v: v[0])
    assert list(counts.reduce(lambda a, b: (a[0], a[1] + b[1])).execute_and_collect()) == [("a", 3)]
    configuration = Configuration()
    configuration.set_string("execution.runtime-mode", "streaming")
    env.configure(configuration)
    counts = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda v: v[0])
    assert len(list(counts.reduce(lambda a, b: a).execute_and_collect())) == 2
