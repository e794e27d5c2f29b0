"""Window functions are called whatever kind of object they are."""

from __future__ import annotations

from flinkish.pyflink.datastream import StreamExecutionEnvironment
from flinkish.pyflink.datastream.functions import WindowFunction


class Kept(WindowFunction):
    """Counts as false while it has kept nothing."""

    def __init__(self):
        self.kept = []

    def __len__(self):
        return len(self.kept)

    def apply(self, key, window, inputs):
        return [(key, list(inputs))]


def test_a_function_that_counts_as_false():
    env = StreamExecutionEnvironment.get_execution_environment().set_local_execution()
    numbers = env.from_collection([1, 2, 3, 4]).key_by(lambda n: n % 2)
    sums = numbers.count_window(2).reduce(lambda a, b: a + b, Kept())
    assert sorted(sums.execute_and_collect()) == [(0, [6]), (1, [4])]
