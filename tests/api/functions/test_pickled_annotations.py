"""A function of ``__main__``, as a notebook has it, goes to the workers with its annotations."""

from __future__ import annotations

import subprocess
import sys

import pytest

import flinkish as fl

ALIASES = [
    (owner, name)
    for owner in vars(fl).values()
    if isinstance(owner, type)
    for name in ("Context", "OnTimerContext", "ReadOnlyContext")
    if name in vars(owner)
]


def test_there_are_aliases():
    assert len(ALIASES) >= 8


@pytest.mark.parametrize(
    ("owner", "name"), ALIASES, ids=lambda value: getattr(value, "__name__", value)
)
def test_an_alias_of_a_class_is_found_again(owner, name):
    import pickle

    alias = getattr(owner, name)
    assert pickle.loads(pickle.dumps(alias)) is alias


def test_a_class_of_a_script_is_pickled_with_them():
    script = (
        "import pickle, cloudpickle, flinkish as fl\n"
        "class Count(fl.ProcessWindowFunction[int, int, str, fl.TimeWindow]):\n"
        "    def process(self, key, context: fl.ProcessWindowFunction.Context[fl.TimeWindow],\n"
        "                elements, out): ...\n"
        "kind = type(pickle.loads(cloudpickle.dumps(Count())))\n"
        "print(kind.process.__annotations__['context'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Context" in done.stdout
