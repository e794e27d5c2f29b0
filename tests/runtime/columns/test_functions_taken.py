"""docs/columns.md says how many functions of real programs run over columns, and why the others do not."""

from __future__ import annotations

import pytest

from tests.runtime.columns.functions_taken import PAGE, page


@pytest.mark.slow("plans the jobs of all programs")
def test_the_page_says_what_explain_says() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.runtime.columns.functions_taken"
