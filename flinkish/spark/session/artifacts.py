"""Sends the code of a job to a server of Spark Connect: flinkish itself, and the modules of the
program.

They are sent as archives, which are on the path of the session's Python processes. Packages that
pip has installed are not sent: the server's Python needs them too.
"""

from __future__ import annotations

import hashlib
import site
import sys
import sysconfig
import zipfile
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from flinkish.spark.session.package_archive import package_archive
from flinkish.spark.session.temporary_directories import TemporaryDirectory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class _Sent:
    """The artifacts sent to a session: digests, and the names of archives."""

    digests: set[str] = field(default_factory=set)
    archives: tuple[str, ...] = ()


_sent: WeakKeyDictionary[SparkSession, _Sent] = WeakKeyDictionary()


def archives_of(session: SparkSession) -> tuple[str, ...]:
    """The names of the archives that a session has."""
    return _sent[session].archives


def send_code(session: SparkSession) -> None:
    """Let the Python processes of the server import this process's flinkish, and the modules that
    this program has imported from its own directories; each is sent once."""
    sent = _sent.setdefault(session, _Sent())
    package = package_archive()
    if package is not None:
        _send(session, sent, "flinkish", package)
    modules = program_modules()
    new = {
        file: source
        for file, source in modules.items()
        if _digest(file, source) not in sent.digests
    }
    if new:
        directory = TemporaryDirectory()
        try:
            archive = directory.path / "modules.zip"
            write_modules(archive, new)
            _send(session, sent, "flinkish_program", archive)
        finally:
            directory.remove()
        sent.digests.update(_digest(file, source) for file, source in new.items())


def _send(session: SparkSession, sent: _Sent, name: str, archive: Path) -> None:
    """Send ``archive`` under a unique name: the server refuses other content under a used name."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    if digest in sent.digests:
        return
    directory = TemporaryDirectory()
    try:
        named = directory.path / f"{name}_{digest}.zip"
        named.write_bytes(archive.read_bytes())
        session.addArtifacts(str(named), pyfile=True)
    finally:
        directory.remove()
    sent.digests.add(digest)
    # The newest takes precedence
    sent.archives = (*sent.archives, named.name)


def program_modules() -> dict[PurePosixPath, bytes]:
    """The sources of the modules of this program, by their files in an archive."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = _source_of(name, module)
        if file is not None:
            path = PurePosixPath(*name.split("."))
            package = file.name == "__init__.py"
            found[path / "__init__.py" if package else path.with_suffix(".py")] = file.read_bytes()
    return found


def _source_of(name: str, module: ModuleType) -> Path | None:
    """The file of a module that belongs to the program, None for other modules."""
    spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    top = name.partition(".")[0]
    if spec is None or spec.name != name or top in {"flinkish", "__main__", "sitecustomize"}:
        return None
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    if any(path.is_relative_to(directory) for directory in _installed()) or not path.is_file():
        return None
    return path


@lru_cache
def _installed() -> frozenset[Path]:
    """The directories of Python and of the packages that pip has installed."""
    paths = sysconfig.get_paths()
    directories = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    directories += [*site.getsitepackages(), site.getusersitepackages()]
    directories += [entry for entry in sys.path if Path(entry).name in _PACKAGES]
    return frozenset(Path(directory).resolve() for directory in directories)


_PACKAGES = ("site-packages", "dist-packages")


def write_modules(archive: Path, modules: dict[PurePosixPath, bytes]) -> None:
    """Write sources into a zip file, with an entry for each directory: without it, Python would not find a package that
    has no ``__init__``."""
    directories = sorted(
        {parent for file in modules for parent in file.parents} - {PurePosixPath()}
    )
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for directory in directories:
            written.writestr(zipfile.ZipInfo(f"{directory}/"), b"")
        for file, source in sorted(modules.items()):
            written.writestr(zipfile.ZipInfo(str(file)), source)


def _digest(file: PurePosixPath, source: bytes) -> str:
    return hashlib.sha256(f"{file}\0".encode() + source).hexdigest()
