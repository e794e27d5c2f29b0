"""Sends flinkish to the executors of a cluster: they get the package of this process with the job.

So executors run the driver's code, also where flinkish is not installed or has another version.
Spark sends an archive to each executor once. The archive has the compiled form of each module too,
as Python compiles modules that it imports from an archive again in every process.
"""

from __future__ import annotations

import atexit
import importlib.util
import marshal
import re
import zipfile
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from flinkish.spark.session.temporary_directories import TemporaryDirectory

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

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
