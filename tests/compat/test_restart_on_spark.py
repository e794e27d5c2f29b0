"""Windows by policy, late single firings and time by increments go on on Spark where a job broke off."""

from __future__ import annotations

import pytest

from flinkish.api.errors import UserFunctionError
from flinkish.compat import atlas
from flinkish.compat.storm import BaseWindowedBolt, Duration, setBolt
from tests.compat.atlas.example import LATENESS, at
from tests.compat.atlas.test_window_stages import FIVE_MINUTES, collected, timed
from tests.compat.storm.example import FIRST, FIRST_WINDOWS, SECOND, SECOND_WINDOWS, example_bolt
from tests.compat.streaminsight.test_increments import PAIRS, REFERENCES, of_one_source

pytestmark = pytest.mark.recovery
ROTATING = pytest.mark.rotating("windows of two streams break off with each commit")


def storm_windows(stream):
    return setBolt(example_bolt().withWatermarkInterval(Duration.of(1)), stream)


TWO_STREAMS = list(zip("xyxyxyxyxy", [1, 2, 9, 11, 12, 15, 22, 21, 28, 31]))


def storm_windows_of_two_streams(stream):
    bolt = BaseWindowedBolt(lambda window: [sorted(time for _, time in window.get())])
    bolt.withTumblingWindow(Duration.of(10)).withTimestampField(1)
    bolt.withLag(Duration.of(10)).withWatermarkInterval(Duration.of(1))
    return setBolt(bolt, *(stream.filter(lambda row, name=name: row[0] == name) for name in "xy"))


LATE = [at(event) for event, _, _ in LATENESS]


def atlas_windows(stream):
    lateness = atlas.Interval(2, "minute")
    return atlas.tumblingWindow(
        timed(stream), interval=FIVE_MINUTES, pipeline=collected, allowedLateness=lateness
    ).results


def looked_up_pairs(stream):
    return of_one_source(stream).map(lambda event: event.payload)


@pytest.mark.parametrize(
    ("build", "elements", "breaks_at", "expected"),
    [
        pytest.param(
            *(storm_windows, FIRST + SECOND, 7, FIRST_WINDOWS + SECOND_WINDOWS), marks=ROTATING
        ),
        (
            storm_windows_of_two_streams,
            TWO_STREAMS,
            9,
            [[1, 2, 9], [11, 12, 15], [21, 22, 28], [31]],
        ),
        pytest.param(
            *(atlas_windows, LATE, 7, [(0, 5, [0, 1, 3, 2, 4, 1, 4]), (5, 10, [5, 6, 7])]),
            marks=ROTATING,
        ),
        pytest.param(*(looked_up_pairs, REFERENCES, 5, PAIRS), marks=ROTATING),
    ],
)
def test_a_job_that_broke_off_goes_on(env, tmp_path, build, elements, breaks_at, expected):
    env.getConfig().setElementsPerBatch(3)
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    broken = tmp_path / "broken"
    broken.touch()
    seen = []

    def run():
        def fail(element):
            if element == elements[breaks_at] and broken.exists():
                raise ValueError("not yet")
            return element

        stream = env.fromCollection(elements).uid("elements").map(fail)
        build(stream).forEachBatch(lambda values, batch: seen.extend(values))
        env.execute()

    with pytest.raises(UserFunctionError, match="not yet"):
        run()
    assert seen == expected[: len(seen)]
    broken.unlink()
    run()
    assert seen[: len(expected)] == expected
