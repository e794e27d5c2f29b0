"""What the tests of the command line share."""

from __future__ import annotations

from tests.web.conftest import servers_end_at_once

__all__ = ["servers_end_at_once"]
