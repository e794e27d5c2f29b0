"""The metrics that docs/operate/alerts.md names are there, and its rules are those of Prometheus."""

from __future__ import annotations

import re

import yaml

from flinkish.web.samples import exposition
from tests.docs.pages import DOCS
from tests.web.jobs import details

EXPOSED = re.compile(r"^(flink_\w+)\{(.*)\} \S+$", re.MULTILINE)
KNOWN = {"changes", "increase", "and", "offset", "up", "job", "flinkish"}


def page():
    return (DOCS / "operate" / "alerts.md").read_text("utf-8")


def rules():
    (block,) = re.findall(r"```yaml\n(.*?)```", page(), re.DOTALL)
    (group,) = yaml.safe_load(block)["groups"]
    return group["rules"]


def test_each_metric_to_alert_on_is_exposed():
    named = set(re.findall(r"\b(flink_\w+)", page()))
    exposed = set(re.findall(r"^# TYPE (\S+) gauge$", exposition([details()]), re.MULTILINE))
    assert len(named) > 10
    assert named - exposed == set()


def test_each_rule_names_metrics_and_labels_that_are_there():
    labels = {
        name: set(re.findall(r'(?:^|,)(\w+)="', found))
        for name, found in EXPOSED.findall(exposition([details()]))
    }
    assert len({rule["alert"] for rule in rules()}) == len(rules()) > 8
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "annotations"}
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
        expression = rule["expr"]
        assert expression.count("(") == expression.count(")")
        words = set(re.findall(r"\b[a-z]\w+", expression))
        assert all(word in KNOWN or word in labels for word in words), words
        metrics = [word for word in words if word in labels]
        for shown in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
            assert shown in {"instance", "split"} or all(shown in labels[m] for m in metrics), shown


def test_an_input_that_is_behind_and_windows_that_stay_open_are_alerted_on():
    """The rules name the lag and the windows of a job that shows both."""
    found = exposition([details()])
    (lag,) = re.findall(r'inputLagMs\{[^}]*input="Source: slow"\} (\d+)', found)
    assert int(lag) == 3_598_000
    assert re.search(r'openWindows\{[^}]*operator_name="windows"[^}]*\} 31', found)
    expressions = " ".join(rule["expr"] for rule in rules())
    assert "inputLagMs > 10 * 60 * 1000" in expressions
    assert "openWindows offset 1h" in expressions
