"""The dependencies that a job ships with its functions: Python files, archives, requirements, job
parameters.

They are shipped with the functions, as bytes, and are unpacked once in each worker, before the
functions that may import them are unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from flinkish.api.errors import InvalidProgramError

_CHANGING_DIRECTORY = threading.RLock()


class PythonDependencies:
    """The dependencies of an environment; each adapted function refers to them."""

    def __init__(self) -> None:
        self.job_parameters: dict[str, str] = {}
        self._files: list[Path] = []
        self._archives: list[tuple[Path, str]] = []
        self._requirements: tuple[Path, Path | None] | None = None
        self._packed: dict[str, Any] | None = None
        self._directory: Path | None = None

    def add_file(self, path: str) -> None:
        """Let functions import a module, a package or the contents of a zip file."""
        self._files.append(_existing("add_python_file", path))
        self._packed = None

    def add_archive(self, path: str, target: str | None) -> None:
        """Let functions open the files of an archive below ``target``."""
        found = _existing("add_python_archive", path)
        self._archives.append((found, target or found.name))
        self._packed = None

    def set_requirements(self, path: str, cached: str | None) -> None:
        """Let functions import the packages that a requirements file lists."""
        directory = None if cached is None else _existing("set_python_requirements", cached)
        self._requirements = _existing("set_python_requirements", path), directory
        self._packed = None

    @property
    def empty(self) -> bool:
        """Whether functions have no dependencies."""
        return not (self._files or self._archives or self._requirements or self._packed)

    def inside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, called in the directory of the archives if there are any."""
        directory = self._directory
        if directory is None:
            return function

        def called(*arguments: Any) -> Any:
            with _working_in(directory):
                result = function(*arguments)
                return list(result) if inspect.isgenerator(result) else result

        return called

    def __getstate__(self) -> dict[str, Any]:
        if self._packed is None and not self.empty:
            self._packed = {
                "files": [(path.name, _packed(path)) for path in self._files],
                "archives": [(path.name, path.read_bytes(), t) for path, t in self._archives],
                "requirements": self._requirements and _installed(*self._requirements),
            }
        return {"job_parameters": self.job_parameters, "packed": self._packed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.job_parameters = state["job_parameters"]
        self._packed = packed = state["packed"]
        if packed is None:
            return
        if packed["requirements"] is not None:
            _importable(_unpacked("requirements", packed["requirements"], _extract))
        for name, data in packed["files"]:
            _importable(_unpacked(name, data, partial(_write_file, name)))
        if packed["archives"]:
            everything = b"".join(name.encode() + data for name, data, _ in packed["archives"])
            write = partial(_write_archives, packed["archives"])
            self._directory = _unpacked("archives", everything, write)


def _existing(method: str, path: str) -> Path:
    found = Path(path).absolute()
    if not found.exists():
        raise InvalidProgramError(
            f"{method}: there is no {path}. Pass the path of a file that exists."
        )
    return found


def _packed(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else _zipped(path)


def _zipped(directory: Path) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for file in sorted(directory.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                # Without the modification time, so that the same files give the same bytes
                info = zipfile.ZipInfo(str(file.relative_to(directory)))
                archive.writestr(info, file.read_bytes())
    return data.getvalue()


def _installed(requirements: Path, cached: Path | None) -> bytes:
    """The packages that ``requirements`` lists, installed and packed."""
    with tempfile.TemporaryDirectory() as target:
        options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--target", target]
        command = [sys.executable, "-m", "pip", "install", *options, "-r", str(requirements)]
        if cached is not None:
            command += ["--no-index", "--find-links", str(cached)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InvalidProgramError(
                f"set_python_requirements: pip cannot install {requirements}: {done.stderr.strip()}"
            )
        return _zipped(Path(target))


def _importable(place: Path) -> None:
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
        importlib.invalidate_caches()


def _unpacked(name: str, data: bytes, write: Callable[[bytes, Path], None]) -> Path:
    """The directory of that content, written if no process has done so."""
    digest = hashlib.sha256(name.encode() + data).hexdigest()[:24]
    place = Path(tempfile.gettempdir(), f"flinkish-{os.getuid()}-dependencies", digest)
    if not place.exists():
        place.parent.mkdir(exist_ok=True, mode=0o700)
        unfinished = Path(tempfile.mkdtemp(dir=place.parent))
        write(data, unfinished)
        try:
            os.replace(unfinished, place)
        except OSError:  # another process was first
            shutil.rmtree(unfinished, ignore_errors=True)
    return place


def _extract(data: bytes, target: Path) -> None:
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            zipped.extractall(target)
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(target, filter="data")


def _write_file(name: str, data: bytes, target: Path) -> None:
    if zipfile.is_zipfile(io.BytesIO(data)):
        _extract(data, target)
    else:
        (target / name).write_bytes(data)


def _write_archives(archives: list[tuple[str, bytes, str]], data: bytes, target: Path) -> None:
    for _, content, directory in archives:
        _extract(content, target / directory)


@contextlib.contextmanager
def _working_in(directory: Path) -> Iterator[None]:
    with _CHANGING_DIRECTORY, contextlib.chdir(directory):
        yield
