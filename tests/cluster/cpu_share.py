"""``CpuShare``: a part of a core for each of some processes and all that they start, by a control group of Linux."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PERIOD = 100_000
"""Microseconds over which the kernel counts."""

_FIRST = Path("/sys/fs/cgroup/cpu")
"""The directory in which the first version of control groups has those of the processor."""

_SECOND = Path("/sys/fs/cgroup")


class CpuShare:
    """A control group of one process and its descendants, without a limit until ``limit``.

    Raises PermissionError, or FileNotFoundError, where control groups are not available.
    """

    def __init__(self, name: str, pid: int) -> None:
        self._is_first = _FIRST.is_dir()
        root = _FIRST if self._is_first else _SECOND
        if not self._is_first:
            (root / "cgroup.subtree_control").write_text("+cpu")
        self._group = root / f"flinkish-{os.getpid()}-{name}"
        self._group.mkdir()
        (self._group / "cgroup.procs").write_text(str(pid))

    def limit(self, cores: float) -> None:
        """Limit the processes together to this share of a core from now on."""
        quota = int(_PERIOD * cores)
        if self._is_first:
            (self._group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (self._group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self._group / "cpu.max").write_text(f"{quota} {_PERIOD}")

    def close(self) -> None:
        """Remove the group, when its processes, which have been killed, have ended: that takes them long with little of
        a core. Raises OSError after half a minute."""
        quota = "cpu.cfs_quota_us" if self._is_first else "cpu.max"
        (self._group / quota).write_text("-1" if self._is_first else f"max {_PERIOD}")
        until = time.monotonic() + 30
        while True:
            try:
                self._group.rmdir()
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
