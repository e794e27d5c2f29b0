"""What event time waits for is said in lines, notebook and progress."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flinkish import JobStatus
from flinkish.api.execution.holds import waits_for
from flinkish.api.execution.notebook import facts, job_html
from tests.web.jobs import Client, details

WAITS = "Source: slow, whose watermark ("


def held(**changes):
    """The job, whose operators are held back by what is changed so."""
    job = details()
    vertices = tuple(
        replace(
            vertex,
            operators=tuple(
                operator
                if operator.heldBackBy is None
                else replace(operator, heldBackBy=replace(operator.heldBackBy, **changes))
                for operator in vertex.operators
            ),
        )
        for vertex in job.vertices
    )
    return replace(job, vertices=vertices)


def test_the_source_and_how_long_and_the_fix():
    said = waits_for(details())
    assert said is not None
    assert said.startswith(WAITS)
    assert "has not moved for 1 min 30 s; if it has nothing to say" in said
    assert "withIdleness" in said
    assert said.count("Source: slow") == 1


def test_everywhere(capsys):
    assert facts(details())["waits for"].startswith(WAITS)
    assert WAITS in job_html(details())
    states = iter([JobStatus.RUNNING, JobStatus.FINISHED])

    class Ends(Client):
        def getJobDetails(self):
            return details(status=next(states))

    Ends(details()).show()
    running, ended = capsys.readouterr().out.splitlines()
    assert f"waits for {WAITS}" in running
    assert "waits for" not in ended


def test_a_split_is_named():
    said = waits_for(held(split="events/3"))
    assert said is not None
    assert said.startswith("Source: slow, split events/3, whose watermark")


@pytest.mark.parametrize(
    "changes", [{"since": details().now - 9_000}, {"currentWatermark": 2**63 - 1}]
)
def test_nothing_that_moves_or_has_ended(changes):
    now = details().now
    changes = {k: now if k == "since" else v for k, v in changes.items()}
    assert waits_for(replace(held(**changes), now=now)) is None
    assert "waits for" not in facts(replace(held(**changes), now=now))


def test_an_operator_without_a_watermark_shows_none():
    job = held(currentWatermark=None)
    vertices = tuple(
        replace(
            vertex,
            operators=tuple(
                replace(o, metrics=replace(o.metrics, currentWatermark=None))
                if any(each.holdsBack for each in o.inputs)
                else o
                for o in vertex.operators
            ),
        )
        for vertex in job.vertices
    )
    shown = facts(replace(job, vertices=vertices))["watermark"]
    assert shown.startswith("none yet at ")
