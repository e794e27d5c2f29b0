"""Sends the code of a job to the processes that run it: flinkish itself, and to a server of Spark Connect the modules of
the program too.

So executors run the driver's code, also where flinkish is not installed or has another version.
Spark sends an archive to each executor once. The archive has the compiled form of each module too,
as Python compiles modules that it imports from an archive again in every process. Packages that pip
has installed are not sent: the server's Python needs them too.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import marshal
import re
import site
import sys
import sysconfig
import zipfile
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from flinkish.spark.session.temporary_directories import TemporaryDirectory

if TYPE_CHECKING:
    from pyspark import SparkContext
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


_PACKAGE = Path(__file__).parents[2]

_IN_THIS_PROCESS = re.compile(r"local(\[[^,\[\]]*(,[^,\[\]]*)?\])?")
"""Masters whose workers are started by this process's JVM, and import from the same places."""

_UNCHECKED_HASH = 0b01
"""The flag of a compiled module that is used without a check of file times (PEP 552)."""

_given: WeakSet[SparkContext] = WeakSet()


def give_package(session: SparkSession) -> None:
    """Let the executors of ``session`` import the flinkish of this process; done once for each cluster."""
    from pyspark import SparkContext

    context = SparkContext.getOrCreate()
    if context in _given or runs_in_driver(context.master):
        return
    archive = package_archive()
    if archive is not None:
        context.addPyFile(str(archive))
    _given.add(context)


def runs_in_driver(master: str | None) -> bool:
    """Whether a session with this ``master`` runs its tasks in the JVM of the driver, and not in those of a cluster."""
    return _IN_THIS_PROCESS.fullmatch(master or "local") is not None


@lru_cache
def package_archive() -> Path | None:
    """The package as an archive; None if it was imported from one, which came with the program."""
    if not _PACKAGE.is_dir():
        return None
    directory = TemporaryDirectory()
    atexit.register(directory.remove)
    archive = directory.path / "flinkish_of_driver.zip"
    write_archive(archive)
    return archive


def write_archive(archive: Path) -> None:
    """Write the package into a zip file, each module with its compiled form."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for file in sorted(_PACKAGE.rglob("*")):
            if file.is_dir() or file.suffix == ".pyc":
                continue
            name = f"{_PACKAGE.name}/{file.relative_to(_PACKAGE)}"
            written.write(file, name)
            if file.suffix == ".py":
                written.writestr(f"{name}c", _compiled(file))


def _compiled(file: Path) -> bytes:
    module = ".".join((_PACKAGE.name, *file.relative_to(_PACKAGE).with_suffix("").parts))
    code = SourceFileLoader(module, str(file)).get_code(module)
    source = importlib.util.source_hash(file.read_bytes())
    flags = _UNCHECKED_HASH.to_bytes(4, "little")
    return importlib.util.MAGIC_NUMBER + flags + source + marshal.dumps(code)
