"""The windows of Storm, StreamInsight and Atlas that no worked example has, all in one job on Spark."""

from __future__ import annotations

import pytest

from tests.compat.atlas import test_window_stages as atlas
from tests.compat.storm import test_topology as storm
from tests.compat.streaminsight import test_increments as streaminsight


@pytest.mark.slow("a job with thirteen window operators in four stages, in several batches")
def test_windows_are_those_of_the_harness(env):
    env.setParallelism(1).setMaxParallelism(2)
    env.getConfig().setElementsPerBatch(3)
    expected, seen = {}, {}

    def compare(name, stream, values):
        expected[name], seen[name] = values, []
        stream.forEachBatch(lambda found, batch: seen[name].extend(found))

    rows = env.fromCollection(storm.ROWS)
    for number, (configure, windows) in enumerate(storm.FORMS):
        compare(f"storm {number}", storm.of_form(configure, rows), windows)
    for lengths, events, windows in atlas.HOPPING:
        stream = atlas.hopping(env.fromCollection(events), *lengths)
        compare(f"atlas {lengths}", stream, windows)
    points = env.fromCollection(streaminsight.POINTS)
    lifetime = streaminsight.lifetime
    compare("hopping", streaminsight.hopping(points).map(lifetime), streaminsight.HOPPING)
    numbers = env.fromCollection(streaminsight.NUMBERS)
    compare("tumbling", streaminsight.sums_of_sums(numbers).map(lifetime), streaminsight.SUMS)
    intervals = env.fromCollection(streaminsight.LIFETIMES)
    snapshots, counted = streaminsight.snapshots_and_counts(intervals)
    compare("snapshots", snapshots.map(lifetime), streaminsight.SNAPSHOTS)
    compare("counts", counted, streaminsight.COUNTED)
    env.execute("windows")
    assert seen == expected
