"""The run directory: a file for each program of this user that ``python -m flinkish run`` has started.

The file has the address of the program's REST interface and the token that it accepts. Only the owner can read the
directory, and the file is removed when its program ends.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from flinkish.api.errors import IllegalStateError

_SECONDS = 5.0

_open = build_opener(ProxyHandler({})).open
"""Uses no proxy, as the server is on this machine."""


@dataclass(frozen=True)
class Program:
    """A running program."""

    pid: int
    script: str
    address: str
    token: str

    def asked(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """A document of the program's REST interface; ``body`` is sent as JSON. Raises OSError if
        the program does not answer, IllegalStateError with the reason if it refuses."""
        headers = {"Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.address}/api/{path}", data, headers, method=method)
        try:
            with _open(request, timeout=_SECONDS) as answer:
                return json.load(answer)
        except HTTPError as error:
            said = json.load(error)["errors"]
            raise IllegalStateError(" ".join(said)) from None
        except URLError as error:
            raise OSError(str(error.reason)) from error


@contextmanager
def registered(program: Program) -> Iterator[None]:
    """Registers the program in the run directory for the duration of the block."""
    file = _directory() / f"{program.pid}.json"
    draft = file.with_suffix(".draft")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        json.dump(asdict(program), stream)
    draft.rename(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def programs() -> Iterator[Program]:
    """The running programs. Files left by programs that were killed are removed."""
    for file in sorted(_directory().glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            program = Program(**json.loads(file.read_text("utf-8")))
            if _runs(program.pid):
                yield program
            else:
                file.unlink(missing_ok=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _directory() -> Path:
    """The run directory of this user, created if there is none."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    parent = Path(runtime) if runtime and os.path.isdir(runtime) else Path(tempfile.gettempdir())
    directory = parent / f"flinkish-run-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    # In a folder that everybody can write to, another user may have created it first
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise IllegalStateError(
            f"the run directory {directory} is not a directory of this user alone. Remove it, or set"
            " XDG_RUNTIME_DIR or TMPDIR to a directory of your own."
        )
    return directory
