"""Names of PyFlink with nothing behind them here: an import says what to write instead."""

from __future__ import annotations

import importlib
import re

import pytest

import flinkish
from flinkish.api.absent import AbsentNameError
from flinkish.pyflink.absent import ABSENT_NAMES
from flinkish.pyflink.common import ConfigOption, ConfigOptions
from flinkish.pyflink.datastream import FileSystemCheckpointStorage, JobManagerCheckpointStorage

NAMES = [(module, name) for module, names in ABSENT_NAMES.items() for name in names]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_an_import_says_what_to_write_instead(module, name):
    loaded = importlib.import_module(f"flinkish.pyflink.{module}")
    assert name not in vars(loaded)
    with pytest.raises(AbsentNameError, match=re.escape(ABSENT_NAMES[module][name])):
        getattr(loaded, name)
    with pytest.raises(ImportError, match=f"has no {name}, which is Java's"):
        exec(f"from flinkish.pyflink.{module} import {name}", {})


@pytest.mark.parametrize("module", ABSENT_NAMES)
def test_what_pyflink_has_not_either_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = importlib.import_module(f"flinkish.pyflink.{module}").Nothing


def test_what_is_named_instead_is_there():
    texts = " ".join(text for names in ABSENT_NAMES.values() for text in names.values())
    named = set(re.findall(r"flinkish\.(\w+)", texts))
    assert named == {"FileSink", "FileSource", "Source", "Sink"}
    assert all(hasattr(flinkish, name) for name in named)


def test_storages_and_options_keep_what_they_were_given():
    assert FileSystemCheckpointStorage("/checkpoints").get_checkpoint_path() == "/checkpoints"
    assert JobManagerCheckpointStorage().get_checkpoint_path() is None
    limit = ConfigOptions.key("limit")
    assert limit.int_type().default_value(5) == ConfigOption("limit", 5)
    assert limit.string_type().no_default_value() == ConfigOption("limit")
