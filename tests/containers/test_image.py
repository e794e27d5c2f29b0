"""The image of a new project: built from its Dockerfile, and its job runs in it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from flinkish.cli.main import main
from tests.containers.images import ImageBuilder, missing
from tests.distribution.fresh_install import PIN

pytestmark = [
    pytest.mark.image,
    pytest.mark.spark,
    pytest.mark.slow("builds an image of a gigabyte"),
    pytest.mark.timeout(1800),
]

ROOT = Path(__file__).parents[2]

PYSPARK = version("pyspark")


@pytest.fixture(scope="module")
def builder():
    reason = missing()
    if reason:
        pytest.skip(reason)
    return ImageBuilder(ROOT / "build" / "image")


@pytest.fixture(scope="module")
def image(builder, tmp_path_factory):
    """The image of a project that ``flinkish new`` has written, with the flinkish of this repository."""
    project = tmp_path_factory.mktemp("projects") / "my_job"
    assert main(["new", str(project), "--docker", "--kafka"]) == 0
    wheels = project / "wheels"
    pins = PIN.findall((ROOT / ".ci" / "requirements.lock").read_text("utf-8"))
    (wheels / "constraints.txt").write_text("\n".join(pins))
    for command in (
        ["hatchling", "build", "--target", "wheel", "--directory", str(wheels)],
        # pip has made it here already, from the archive that the registry has
        ["pip", "wheel", "--quiet", "--no-deps", f"--wheel-dir={wheels}", f"pyspark=={PYSPARK}"],
    ):
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True, capture_output=True)
    base = builder.base("docker.io/library/python:3.12-slim-bookworm")
    return builder.build("localhost/my_job", project, {"BASE": base})


def test_the_first_job_runs_in_its_image(builder, image):
    run = builder.run(image)
    assert run.returncode == 0, run.stderr[-5000:]
    assert sorted(run.stdout.splitlines()) == ["('ada', 1)", "('ada', 2)", "('bob', 1)"]


def test_the_image_is_as_large_as_the_documentation_says(builder, image):
    page = (ROOT / "docs" / "operate" / "containers.md").read_text("utf-8")
    size = builder.megabytes(image)
    print(f"{image}: {size} MB")
    assert 1_250 < size < 1_500
    assert "about 1.4 GB" in page


def test_it_runs_as_a_user_without_rights_who_may_write_the_checkpoint(builder, image):
    tried = "id -un; touch /data/checkpoint && echo written; touch /usr/bin/new || echo refused"
    run = builder.run(image, "sh", "-c", tried)
    assert run.stdout.split() == ["job", "written", "refused"]
