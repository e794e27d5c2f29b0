"""The README is short, and says what CI runs. tests/docs runs its examples and follows its links."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT, blocks, text

README = ROOT / "README.md"


def test_it_is_short() -> None:
    assert len(text(README).splitlines()) <= 150


def test_it_has_the_same_job_in_java_and_in_python() -> None:
    assert [language for language, _ in blocks(README)][:3] == ["java", "python", "text"]


def test_ci_runs_its_test_command_and_builds_the_site() -> None:
    commands = (ROOT / ".ci" / "run").read_text("utf-8")
    for target in ("test", "docs"):
        assert f"    make {target}" in text(README) or f"`make {target}`" in text(README)
        assert re.search(rf"\b(make|again) {target}\b", commands)
