"""``ImageBuilder``: builds images and runs commands in them with buildah, without a daemon and without a registry.

Containers are isolated by chroot alone, so this also runs in a container or a virtual machine; they have the network
of the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PACKAGES = "ca-certificates,python3,python3-pip"
"""Packages that a base adds to Debian's smallest system: Python with pip, as images of Python
have."""

SUITE = "bookworm"

_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")

_PIP = """[global]
cert = /etc/machine.crt
constraint = /wheels/constraints.txt
"""
"""This machine's configuration for the package registry, and the installed versions."""

_UNMANAGED = 'rm -f "$1"/usr/lib/python3*/EXTERNALLY-MANAGED; ln -s python3 "$1/usr/bin/python"'
"""Debian's pip installs into environments only; those of images of Python install anywhere."""


class ImageBuilder:
    """Builds into a separate storage in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def base(self, wanted: str) -> str:
        """``wanted`` where a registry has it, else the smallest Debian with Python and pip, from Debian's packages."""
        if self._buildah("pull", "--quiet", wanted, check=False).returncode == 0:
            return wanted
        archive = self._directory / f"{SUITE}.tar"
        if not archive.exists():
            draft = archive.with_suffix(".draft.tar")
            subprocess.run(
                [
                    *("mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}"),
                    *(f"--customize-hook={_UNMANAGED}", SUITE, str(draft)),
                ],
                check=True,
            )
            draft.rename(archive)
        (self._directory / "Dockerfile").write_text(f"FROM scratch\nADD {archive.name} /\n")
        return self.build(f"localhost/python:{SUITE}", self._directory, {})

    def build(self, tag: str, project: Path, arguments: Mapping[str, str]) -> str:
        """Build the Dockerfile of ``project`` with those arguments, and return ``tag``."""
        given = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        settings = self._directory / "pip.conf"
        settings.write_text(_PIP)
        mounts = [
            f"--volume={settings}:/etc/pip.conf:ro",
            f"--volume={_CERTIFICATES}:/etc/machine.crt:ro",
        ]
        self._buildah(
            *("build", "--isolation=chroot", "--pull-never", "--layers", "--quiet", f"--tag={tag}"),
            *(*given, *mounts, str(project)),
        )
        return tag

    def megabytes(self, image: str) -> int:
        """The size of an image, unpacked."""
        with self._container(image) as container:
            root = self._buildah("mount", container).stdout.strip()
            size = subprocess.run(["du", "-sm", root], capture_output=True, text=True, check=True)
        return int(size.stdout.split()[0])

    def run(
        self, image: str, *command: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ``command``, else that of the image, as its user in a new container of it."""
        settings = [f"--env={name}={value}" for name, value in (variables or {}).items()]
        with self._container(image) as container:
            chosen = command or self._command(container)
            return self._buildah(
                *("run", "--isolation=chroot", *settings, container, "--", *chosen), check=False
            )

    def _command(self, container: str) -> list[str]:
        form = '{{range .OCIv1.Config.Cmd}}{{.}}{{"\\n"}}{{end}}'
        return self._buildah("inspect", "--format", form, container).stdout.split("\n")[:-1]

    @contextmanager
    def _container(self, image: str) -> Iterator[str]:
        container = self._buildah("from", "--pull-never", image).stdout.strip()
        try:
            yield container
        finally:
            self._buildah("rm", container)

    def _buildah(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        storage = ("--root", self._directory / "storage", "--runroot", self._directory / "run")
        done = subprocess.run(
            ["buildah", *map(str, storage), *arguments],
            env={**os.environ, "BUILDAH_FORMAT": "docker"},
            capture_output=True,
            text=True,
        )
        if check and done.returncode:
            raise RuntimeError(
                f"buildah {arguments[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return done


def missing() -> str | None:
    """Why no image can be built here, if none can."""
    programs = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
    if programs:
        return f"there is no {' and no '.join(programs)}: make image installs them"
    if os.geteuid():
        return "mmdebstrap and buildah are run by root here"
    mounted = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    return "this machine allows no mounts" if mounted.returncode else None
