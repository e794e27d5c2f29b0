"""The metrics that docs/operate/alerts.md names are there."""

from __future__ import annotations

import re

from flinkish.web.prometheus import exposition
from tests.docs.pages import DOCS
from tests.web.jobs import details


def test_each_metric_to_alert_on_is_exposed():
    page = (DOCS / "operate" / "alerts.md").read_text("utf-8")
    named = set(re.findall(r"`(flink_\w+)`", page))
    exposed = set(re.findall(r"^# TYPE (\S+) gauge$", exposition([details()]), re.MULTILINE))
    assert len(named) > 10
    assert named - exposed == set()
