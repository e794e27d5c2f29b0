"""Installs the wheel into a fresh environment and runs the README's first job there, with and without Java.

``python -m tests.distribution.fresh_install DIST ENVIRONMENT [LOCK]``: the wheel is the one in DIST; ENVIRONMENT
is made anew; of the lock only the versions are taken, so that a run of today and one of next year agree. Without
a lock it gets what users do, the newest versions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
EXAMPLE = re.compile(r"```python\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)
PIN = re.compile(r"^([\w.-]+==[^\s;\\]+)", re.MULTILINE)
NO_JAVA = re.compile(r"JavaNotFoundError: Spark needs Java \d+ or newer, and there is none")


def main(dist: Path, environment: Path, lock: Path | None = None) -> None:
    (wheel,) = dist.glob("*.whl")
    venv.create(environment, clear=True, with_pip=True)
    python = environment.absolute() / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder, "constraints.txt")
        pins = PIN.findall(lock.read_text("utf-8")) if lock else []
        constraints.write_text("\n".join(pins))
        quietly = ("--quiet", "--disable-pip-version-check")
        subprocess.run(
            [python, "-m", "pip", "install", *quietly, "--constraint", constraints, wheel],
            check=True,
        )

        code, printed = EXAMPLE.findall(README.read_text("utf-8"))[0]
        job = Path(folder, "job.py")
        job.write_text(code)
        run = _run(python, job, {})
        if run.returncode or sorted(run.stdout.splitlines()) != sorted(printed.splitlines()):
            sys.exit(f"The README's first job printed:\n{run.stdout}{run.stderr}")

        run = _run(python, job, {"JAVA_HOME": str(Path(folder, "no-java"))})
        last = run.stderr.strip().splitlines()[-1:]
        if not last or not NO_JAVA.search(last[0]):
            sys.exit(f"Without Java the README's first job said:\n{run.stdout}{run.stderr}")
    print(f"{wheel.name}: installed, and the README's first job ran")


def _run(python: Path, job: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [python, job], cwd=job.parent, env=kept | variables, capture_output=True, text=True
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
