"""The compose.yaml of a new project, against the schema of Compose and itself; it is not run, as no registry of images is
reachable here."""

from __future__ import annotations

import json
import re
from importlib import metadata

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from flinkish.cli.main import main

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("compose") / "my_job"
    assert main(["new", str(directory), "--docker", "--kafka"]) == 0
    return directory


@pytest.fixture(scope="module")
def compose(project):
    return yaml.safe_load((project / "compose.yaml").read_text("utf-8"))


def test_it_is_what_the_schema_wants(compose):
    try:
        files = metadata.files("docker-compose") or ()
    except metadata.PackageNotFoundError:
        pytest.skip("make test-cluster brings the schema")
    (found,) = [file for file in files if file.name == "compose_spec.json"]
    schema = jsonschema.Draft7Validator(json.loads(found.read_text()))
    schema.validate(compose)
    compose = {**compose, "services": {"job": {**compose["services"]["job"], "port": ["8081"]}}}
    with pytest.raises(jsonschema.ValidationError, match="port"):
        schema.validate(compose)


def test_what_it_names_is_there(project, compose):
    services = compose["services"]
    job, kafka = services["job"], services["kafka"]["environment"]
    assert (project / "Dockerfile").exists(), "what build: . takes"
    assert (project / job["command"][-1]).exists()
    for service in services.values():
        for other, wanted in service.get("depends_on", {}).items():
            healthy = wanted["condition"] == "service_healthy"
            assert not healthy or "healthcheck" in services[other]
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "nothing listens beyond loopback"
    assert {volume.partition(":")[0] for volume in job["volumes"]} <= set(compose["volumes"])
    inside = re.search(r"INSIDE://([^,]+)", kafka["KAFKA_ADVERTISED_LISTENERS"])
    assert inside is not None
    assert job["environment"]["KAFKA_SERVERS"] == inside.group(1)
    roles = kafka["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"]
    assert f"{kafka['KAFKA_INTER_BROKER_LISTENER_NAME']}:" in roles
    program = (project / job["command"][-1]).read_text("utf-8")
    topics = re.search(r"for topic in ([\w ]+);", services["topics"]["command"][0])
    assert topics is not None
    assert all(f'"{topic}"' in program for topic in topics.group(1).split())
