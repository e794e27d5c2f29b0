"""A function of a module that a worker could not import is pickled by value."""

from __future__ import annotations

import fractions
import importlib.util
import inspect
import json
import subprocess
import sys

import cloudpickle
import pytest

from flinkish.pyflink.common.shipping import shippable
from flinkish.pyflink.datastream import adapters

LOADED = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))(20))"


def test_a_module_that_a_runner_has_loaded_from_a_file(tmp_path):
    file = tmp_path / "job_of_a_runner.py"
    file.write_text("FACTOR = 2\n\ndef doubled(n):\n    return n * FACTOR\n")
    spec = importlib.util.spec_from_file_location("job_of_a_runner", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["job_of_a_runner"] = module
    spec.loader.exec_module(module)
    try:
        pickled = tmp_path / "pickled"
        pickled.write_bytes(cloudpickle.dumps(shippable(module.doubled)))
        ran = subprocess.run(
            [sys.executable, "-c", LOADED, str(pickled)], capture_output=True, text=True, check=True
        )
        assert ran.stdout == "40\n"
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        del sys.modules["job_of_a_runner"]


def test_what_a_worker_can_import_goes_by_its_name():
    assert b"fractions" in cloudpickle.dumps(shippable(fractions.Fraction(1, 2)))
    assert len(cloudpickle.dumps(shippable(json.dumps))) < 100


@pytest.mark.parametrize(
    "adapter",
    [kind for name, kind in vars(adapters).items() if name.endswith("Adapter")],
    ids=lambda kind: kind.__name__,
)
def test_the_methods_of_an_adapter_go_by_their_names(adapter):
    for _, method in inspect.getmembers(adapter, inspect.isfunction):
        assert cloudpickle.loads(cloudpickle.dumps(method)) is method
