"""Interval joins of columns give what they give element by element, in the same order."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import OutputTag, Row
from flinkish.api.errors import MissingTimestampError, UserFunctionError
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.two_input import IntervalJoinDescription
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns import join_columns
from flinkish.runtime.columns.interval_join import ColumnIntervalJoin
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.keys import ColumnKeys, ComputedKeys, KeyHashes
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns, encoded, encoded_tuples
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.windowing.operators import Recorder

LEFT, RIGHT = OutputTag("left"), OutputTag("right")


def pair(left, right, ctx, out):
    times = ctx.getLeftTimestamp(), ctx.getRightTimestamp(), ctx.getTimestamp()
    out.collect((tuple(left), tuple(right), times))


def computed(left, right, ctx, out):
    """A function whose pairs become columns without a call."""
    ahead = ctx.getRightTimestamp() - ctx.getLeftTimestamp()
    if ahead > 0:
        out.collect((left.key, left.number * 2 - right.number, ahead, left, ctx.getTimestamp()))
    else:
        out.collect((right.key, right.number // (left.number + 1), ahead, right, left.number))


def fails_at_times(left, right, ctx, out):
    out.collect(left.number // (right.number - 7))


def several(left, right, ctx, out):
    """None, one or two results."""
    if left.number > right.number:
        out.collect((left.number, ctx.getLeftTimestamp()))
        if right.number % 2:
            out.collect((right.number, ctx.getRightTimestamp()))


class JoinDriver:
    """A single interval join. A run is columns where ``columns`` says so and the run does; an
    element is a key, a number and a timestamp. Where state is ``paged``, the key of the stream is a
    tuple that a selector has computed of it."""

    def __init__(self, lower, upper, columns, paged=False, call=pair):
        self.columns = columns
        self.paged = paged
        self.description = IntervalJoinDescription(None, call, lower, upper, LEFT, RIGHT)
        self.state = DictPageStore() if paged else {}
        self.directory = None
        self.output = []
        self.start(None)

    def start(self, snapshot):
        output = Output()
        for label, side in (("main", None), ("left", LEFT.getId()), ("right", RIGHT.getId())):
            output.connect(Recorder(label, self.output), side)
        paged = self.paged
        self.backend = (
            PagedKeyedStateBackend("join") if paged else HeapKeyedStateBackend(self.state)
        )
        context = OperatorContext(
            "join", "Join", self.backend, ProcessingTimeService(), output, TaskInfo("Join")
        )
        self.operator = ColumnIntervalJoin(context, self.description)
        self.operator.open()
        if paged:
            self.backend.load(self.state, self.directory)
        self.operator.restore(snapshot)

    def restart(self):
        snapshot = pickle.loads(pickle.dumps(self.operator.snapshot()))
        if self.paged:
            self.directory = self.backend.flush()
        else:
            self.state = pickle.loads(pickle.dumps(self.backend.contents))
        self.start(snapshot)

    def process(self, side, elements, asColumns=True, kind=None):
        keys = [key for key, _, _ in elements]
        times = [time for *_, time in elements]
        kind = kind or (pa.int32() if side == "left" else pa.int64())
        numbers = [number for _, number, _ in elements]
        values = [Row(key=key, number=number) for key, number in zip(keys, numbers)]
        column = pa.array(keys, pa.string() if keys and type(keys[0]) is str else kind)
        if self.paged:
            keys = [(key, "a") for key in keys]
        hashes = KeyHashes().column(keys)
        if self.columns and asColumns:
            values = RowColumns(pa.record_batch({"key": column, "number": pa.array(numbers)}))
            parts = [encoded(column), encoded(pa.array(["a"] * len(keys)))]
            keys = ComputedKeys(encoded_tuples(parts)) if self.paged else ColumnKeys(values, 0)
        records = Records(values, timestamps_of(times), keys, hashes)
        if side == "left":
            self.operator.processRecords1(records)
        else:
            self.operator.processRecords2(records)

    def watermark(self, timestamp):
        for index in (0, 1):
            self.operator.processInputWatermark(index, timestamp)

    @property
    def inColumns(self):
        return sum(map(len, self.operator._columns.values()))


def both(lower, upper, steps, paged, call=pair):
    """Return the output with columns and without."""
    outputs = []
    for columns in (True, False):
        driver = JoinDriver(lower, upper, columns, paged, call)
        for action, *rest in steps:
            if action == "watermark":
                driver.watermark(rest[0])
            elif action == "restart":
                driver.restart()
            else:
                driver.process(action, *rest)
        driver.watermark(MAX_TIMESTAMP)
        assert driver.backend.numEntries() == 0, "everything has been cleaned up"
        assert driver.operator.numEventTimeTimers() == 0
        assert driver.operator.nextEventTimeTimer() is None
        outputs.append(driver.output)
    return outputs


ELEMENTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 99), st.integers(-20, 40)), min_size=1, max_size=8
)
STEP = st.one_of(
    st.tuples(st.sampled_from(["left", "right"]), ELEMENTS),
    st.tuples(st.sampled_from(["left", "right"]), ELEMENTS, st.booleans()),
    st.tuples(st.just("watermark"), st.integers(-20, 40)),
    st.just(("restart",)),
)


def rising(steps):
    """Without the watermarks that are behind others."""
    highest = -1000
    for step in steps:
        if step[0] == "watermark":
            if step[1] <= highest:
                continue
            highest = step[1]
        yield step


@pytest.mark.takes_columns("PairFunction")
@given(st.integers(-9, 9), st.integers(-2, 9), st.lists(STEP, max_size=12), st.booleans())
@example(0, 5, [("left", [(0, 1, 0), (1, 2, 3)]), ("right", [(0, 5, 2), (1, 6, 4)])], True)
def test_the_same_pairs_come_in_the_same_order(lower, length, steps, paged):
    for call in (pair, computed, several):
        columns, singly = both(lower, lower + length, list(rising(steps)), paged, call)
        assert repr(columns) == repr(singly)


@given(st.integers(-9, 9), st.integers(0, 9), st.lists(STEP, max_size=12))
@example(0, 5, [("left", [(0, 1, 0), (1, 2, 3)]), ("right", [(0, 5, 5), (0, 6, 5), (1, 6, 8)])])
def test_also_where_64_bits_cannot_number_keys_and_times_or_pairs_are_many(lower, length, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_columns, "MOST_PLACES", 1)
        patch.setattr(join_columns, "PAIRS_AT_ONCE", 2)
        columns, singly = both(lower, lower + length, list(rising(steps)), paged=True)
    assert columns == singly


def test_elements_are_kept_as_columns_until_one_comes_that_is_none():
    driver = JoinDriver(-5, 5, columns=True, paged=True)
    driver.process("left", [(1, 10, 100), (2, 11, 101)])
    driver.process("right", [(1, 20, 103), (1, 21, 200)])
    assert driver.inColumns == driver.operator.numEventTimeTimers() == 4
    assert driver.backend.numEntries() == 4
    assert driver.operator.nextEventTimeTimer() == 105
    driver.process("right", [(1, 22, 99)], False)
    assert driver.inColumns == 1, "those of its key are kept one by one, of both sides"
    driver.process("left", [(2, 12, 102)])
    assert driver.inColumns == 0, "and so are those of keys that come while there are such"
    driver.watermark(1000)
    driver.process("left", [(2, 12, 1002)])
    assert driver.inColumns == 1
    assert [value[:2] for label, value, _ in driver.output[:2]] == [
        ((1, 10), (1, 20)),
        ((1, 10), (1, 22)),
    ]


@pytest.mark.parametrize("kind", [pa.float64(), pa.uint64()])
def test_keys_that_arrow_compares_otherwise_are_kept_one_by_one(kind):
    driver = JoinDriver(-5, 5, columns=True)
    driver.process("left", [(1, 10, 100)], kind=kind)
    driver.process("right", [(1, 20, 100)])
    assert [label for label, *_ in driver.output] == ["main"]


def test_keys_of_two_types_are_equal_as_in_python():
    driver = JoinDriver(-5, 5, columns=True)
    driver.process("left", [(True, 10, 100)], kind=pa.bool_())
    driver.process("right", [(1, 20, 100)], kind=pa.int8())
    assert [value[:2] for _, value, _ in driver.output] == [((True, 10), (1, 20))]


def test_texts_are_keys_and_times_may_lie_far_apart():
    driver = JoinDriver(-5, 5, columns=True, paged=True)
    far = 2**59
    driver.process("left", [("a", 1, -far), ("b", 2, far)])
    driver.restart()
    driver.process("right", [("b", 3, far + 5), ("a", 4, -far - 5), ("a", 5, far)])
    assert driver.inColumns == 5
    assert [value[:2] for _, value, _ in driver.output] == [
        (("b", 2), ("b", 3)),
        (("a", 1), ("a", 4)),
    ]


def test_a_function_that_only_computes_is_not_called(monkeypatch):
    made = []
    monkeypatch.setattr(ColumnRuns, "due", lambda self, values=None: False)
    monkeypatch.setattr(RowColumns, "rows", lambda self: made.append(self))
    driver = JoinDriver(-5, 5, columns=True, call=computed)
    driver.process("left", [(1, 10, 100), (1, 3, 108)])
    with pytest.raises(TypeError):  # of the recorder, which is the first to want an object
        driver.process("right", [(1, 20, 104)])
    (results,) = made
    assert [column.to_pylist() for column in results.batch.columns[:3]] == [[1, 1], [0, 5], [4, -4]]


def test_it_is_called_where_python_might_raise():
    driver = JoinDriver(-5, 5, columns=True, call=fails_at_times)
    driver.process("left", [(1, 10, 100)])
    driver.process("right", [(1, 8, 100), (1, 9, 100)])
    with pytest.raises(UserFunctionError, match=r"Join: .*on the element Row\(key=1, number=7\)"):
        driver.process("right", [(1, 6, 100), (1, 7, 100)])
    assert [value for _, value, _ in driver.output] == [10, 5]


def test_an_error_names_the_element_and_one_without_a_timestamp_is_an_error():
    def fails(left, right, ctx, out):
        raise KeyError(left.number)

    driver = JoinDriver(-5, 5, columns=True, call=fails)
    driver.process("left", [(1, 10, 100)])
    with pytest.raises(UserFunctionError, match=r"Join: .*on the element Row\(key=1, number=20\)"):
        driver.process("right", [(1, 20, 100)])
    with pytest.raises(MissingTimestampError):
        driver.process("right", [(1, 20, NO_TIMESTAMP)])


def test_the_function_is_called_under_the_key():
    keys = []

    def noted(left, right, ctx, out):
        keys.append(driver.backend.currentKey)

    driver = JoinDriver(0, 0, columns=True, call=noted)
    driver.process("left", [(1, 10, 100), (2, 11, 100), (1, 12, 100)])
    driver.process("right", [(2, 20, 100), (1, 21, 100)])
    assert keys == [2, 1, 1]
