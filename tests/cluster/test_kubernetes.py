"""The manifests of examples/kubernetes, against the schema of Kubernetes and each other; none is tried on a cluster."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.cluster

MANIFESTS = Path(__file__).parents[2] / "examples" / "kubernetes" / "job.yaml"

VERSIONS = ("1.30", "1.37")


@pytest.fixture(scope="module")
def resources():
    return list(yaml.safe_load_all(MANIFESTS.read_text("utf-8")))


@pytest.fixture(scope="module")
def settings(resources):
    (found,) = [each for each in resources if each["kind"] == "ConfigMap"]
    return found["data"]


def named(resources, kind):
    return {each["metadata"]["name"]: each for each in resources if each["kind"] == kind}


@pytest.mark.parametrize("version", VERSIONS)
def test_they_are_what_the_schema_wants(resources, settings, version):
    checker = pytest.importorskip("kubernetes_validate", reason="make test-cluster brings it")
    assert len(resources) == 8
    for resource in [*resources, yaml.safe_load(settings["executor.yaml"])]:
        checker.validate(resource, version, strict=True)
    wrong = {**resources[-1], "spec": {**resources[-1]["spec"], "replica": 1}}
    with pytest.raises(checker.ValidationError):
        checker.validate(wrong, version, strict=True)


def test_what_they_name_is_there(resources, settings):
    (deployment,) = named(resources, "Deployment").values()
    pod = deployment["spec"]["template"]
    spark = dict(line.split() for line in settings["spark-defaults.conf"].splitlines())
    services = named(resources, "Service")
    assert pod["spec"]["serviceAccountName"] in named(resources, "ServiceAccount")
    assert (
        deployment["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    )
    claims = named(resources, "PersistentVolumeClaim")
    data, configured = pod["spec"]["volumes"]
    assert data["persistentVolumeClaim"]["claimName"] in claims
    assert configured["configMap"]["name"] in named(resources, "ConfigMap")
    (driver,) = pod["spec"]["containers"]
    assert driver["image"] == spark["spark.kubernetes.container.image"]
    mounts = {mount["name"]: mount["mountPath"] for mount in driver["volumeMounts"]}
    volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data"
    assert spark[f"{volume}.options.claimName"] in claims
    assert spark[f"{volume}.mount.path"] == mounts["data"]
    assert f"{mounts['spark']}/spark-defaults.conf" in driver["command"]
    template = Path(spark["spark.kubernetes.executor.podTemplateFile"])
    assert str(template.parent) == mounts["spark"]
    assert template.name in settings
    ports = {str(port["port"]) for port in services[spark["spark.driver.host"]]["spec"]["ports"]}
    assert {spark["spark.driver.port"], spark["spark.driver.blockManager.port"]} == ports


def test_the_script_of_an_executor_starts_the_class_that_pyspark_has(settings, tmp_path):
    """It is run here with a Java that prints its arguments: the variables are those that Spark sets."""
    import pyspark

    (container,) = yaml.safe_load(settings["executor.yaml"])["spec"]["containers"]
    for name, text in {
        "java": 'printf "%s\\n" "$@"',
        "python": f"echo {pyspark.__path__[0]}",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o700)
    given = ("DRIVER_URL", "EXECUTOR_ID", "EXECUTOR_CORES", "APPLICATION_ID", "EXECUTOR_POD_IP")
    more = ("EXECUTOR_POD_NAME", "RESOURCE_PROFILE_ID")
    variables = {f"SPARK_{name}": f"the {name}" for name in (*given, *more)}
    options = {"SPARK_JAVA_OPT_0": "-Da=b c", "SPARK_JAVA_OPT_2": "-Dd", "SPARK_JAVA_OPT_10": "-De"}
    said = subprocess.run(
        [*container["command"], "executor"],
        env={
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "SPARK_EXECUTOR_MEMORY": "2g",
            "SPARK_CONF_DIR": "/conf",
            **variables,
            **options,
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[:5] == ["-Da=b c", "-Dd", "-De", "-Xms2g", "-Xmx2g"]
    assert set(variables.values()) <= set(said)
    (main,) = [each for each in said if re.fullmatch(r"org\.apache\.spark\..*", each)]
    path = main.replace(".", "/") + ".class"
    (jar,) = (Path(pyspark.__path__[0]) / "jars").glob("spark-kubernetes_*.jar")
    assert path in zipfile.ZipFile(jar).namelist()
