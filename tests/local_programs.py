"""Programs that ask for an environment as users do, run in local execution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flinkish.api.environment.settings import EnvironmentSettings


@contextmanager
def local_execution(traces: bool = True) -> Iterator[None]:
    """Let the jobs of each environment that is made meanwhile run in this process; without ``traces``
    element by element."""
    make = EnvironmentSettings.__init__

    def local(settings: EnvironmentSettings) -> None:
        make(settings)
        settings.setLocalExecution()
        if not traces:
            settings.getConfig().disableFunctionTracing()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EnvironmentSettings, "__init__", local)
        yield
