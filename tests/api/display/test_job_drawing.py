"""The chart of batches in a notebook."""

from __future__ import annotations

import re
from dataclasses import replace

from flinkish.api.display.job_drawing import batch_chart
from tests.web.jobs import details


def test_a_chart_tells_restarts_gaps_and_cuts_a_slow_first_batch_off():
    chart = batch_chart(details().batches)
    assert chart.count('<line class="restart"') == chart.count('<line class="gap"') == 1
    assert "restarted before batch 12" in chart
    assert "without a batch before batch 25" in chart
    assert chart.count('class="cut"') == 1
    assert "the longest 30,000 ms" in chart
    # The usual batch takes most of the height, though the first took fifty times as long
    bars = re.findall(r"<g>(.*?)</g>", chart)
    tall = [sum(map(float, re.findall(r' height="([0-9.]+)"', bar))) for bar in bars]
    assert min(tall) > 50
    assert max(tall) <= 90.1


def test_a_chart_of_even_batches_has_no_marks():
    even = [
        replace(batch, startTime=1_000 * batch.id, duration=900, run=1)
        for batch in details().batches
    ]
    chart = batch_chart(even)
    assert "<line" not in chart
    assert 'class="cut"' not in chart
    assert "of the last 0 batches" in batch_chart([])
