"""Downloads jars from Maven into ``build``, once, and checks them against the hashes that are noted
beside the tests.

python -m tests.maven bring NAME ...    brings what the tests need
python -m tests.maven pin NAME ...      writes the hashes anew, after a version has changed
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


@dataclass(frozen=True)
class Download:
    """Files that Maven knows, for the tests in ``room``: what ``name.xml`` there depends on, or one
    ``artifact``. Their hashes are in ``name.sha256``."""

    room: str
    name: str
    artifact: str | None = None

    @property
    def pins(self) -> Path:
        return HERE / self.room / f"{self.name}.sha256"

    def directory(self) -> Path:
        """Return the directory of the files, which are downloaded if they are not there."""
        pins = self.pins.read_text("utf-8")
        # Another version has other hashes
        version = hashlib.sha256(pins.encode()).hexdigest()[:12]
        directory = ROOT / "build" / self.room / f"{self.name}-{version}"
        if not directory.is_dir():
            draft = directory.with_name(f".{directory.name}.{os.getpid()}")
            shutil.rmtree(draft, ignore_errors=True)
            self._copy(draft)
            self.check(draft, pins)
            draft.rename(directory)
        return directory

    def check(self, directory: Path, pins: str) -> None:
        """Raises RuntimeError unless ``directory`` has just the files of ``pins``."""
        pinned = {line.split()[1]: line.split()[0] for line in pins.splitlines()}
        found = hashes(directory)
        names = pinned.keys() | found
        wrong = sorted(name for name in names if pinned.get(name) != found.get(name))
        if wrong:
            raise RuntimeError(f"not as {self.pins.name} says: {', '.join(wrong)}.")

    def pin(self) -> None:
        """Write the hashes of what Maven brings now."""
        with tempfile.TemporaryDirectory() as directory:
            self._copy(Path(directory))
            found = hashes(Path(directory))
        self.pins.write_text("".join(f"{digest}  {name}\n" for name, digest in found.items()))

    def _copy(self, directory: Path) -> None:
        maven = shutil.which("mvn")
        if maven is None:
            raise RuntimeError(
                f"there is no Maven (mvn) to bring the {self.name}: make test-{self.room} installs it."
            )
        command = [maven, "--batch-mode", "--quiet", f"-DoutputDirectory={directory}"]
        if self.artifact is not None:
            command += [f"{PLUGIN}:copy", f"-Dartifact={self.artifact}"]
        else:
            command += ["--file", str(self.pins.with_suffix(".xml")), f"{PLUGIN}:copy-dependencies"]
            command += ["-DincludeScope=runtime"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                f"Maven could not bring the {self.name}:\n{done.stdout}{done.stderr}"
            )


BROKER = Download("kafka", "broker")
CONNECTOR = Download("kafka", "connector")
FLINK_CONNECTOR = Download("kafka", "flink")
REGISTRY = Download(
    "kafka", "registry", "io.apicurio:apicurio-registry-app:2.6.13.Final:tar.gz:all"
)
S3 = Download("cluster", "s3")

DOWNLOADS = BROKER, CONNECTOR, FLINK_CONNECTOR, REGISTRY, S3


def hashes(directory: Path) -> dict[str, str]:
    """The SHA-256 of each file of a directory."""
    files = sorted(directory.iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def main(arguments: list[str]) -> None:
    """Bring the files, or write their hashes anew."""
    known = {download.name: download for download in DOWNLOADS}
    if (
        len(arguments) < 2
        or arguments[0] not in ("bring", "pin")
        or set(arguments[1:]) - set(known)
    ):
        sys.exit(__doc__)
    for name in arguments[1:]:
        if arguments[0] == "pin":
            known[name].pin()
        print(known[name].directory())


if __name__ == "__main__":
    main(sys.argv[1:])
