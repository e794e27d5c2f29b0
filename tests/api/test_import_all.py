"""``from flinkish import *`` takes no name of another library or of a user's own class."""

from __future__ import annotations

import builtins
import collections
import contextlib
import dataclasses
import datetime
import enum
import functools
import queue
import statistics
import threading
import typing

import pandas
import pyarrow
import pyspark.sql
import pyspark.sql.functions
import pyspark.sql.types
import pytest

import flinkish as fl

OTHERS = (
    builtins,
    collections,
    contextlib,
    dataclasses,
    datetime,
    enum,
    functools,
    queue,
    statistics,
    threading,
    typing,
    pandas,
    pyarrow,
    pyspark.sql,
    pyspark.sql.functions,
    pyspark.sql.types,
)


@pytest.mark.parametrize("other", OTHERS, ids=lambda module: module.__name__)
def test_no_name_of_another_library_is_exported(other):
    found = [name for name in fl.__all__ if hasattr(other, name)]
    assert set(found) <= {"Row"}, "which most jobs need"


def test_a_class_and_an_import_of_the_users_stay():
    names = {}
    exec(
        "from collections import Counter\n"
        "from pyspark.sql import Window\n"
        "class Order: total = 5\n"
        "from flinkish import *\n",
        names,
    )
    assert names["Order"].total == 5
    assert names["Counter"] is collections.Counter
    assert names["Window"] is pyspark.sql.Window
    assert names["TumblingEventTimeWindows"] is fl.TumblingEventTimeWindows


@pytest.mark.parametrize("name", sorted(fl._CLASHING))
def test_the_names_are_there_by_themselves(name):
    names = {}
    exec(f"from flinkish import {name}", names)
    assert names[name] is getattr(fl, name)
    assert names[name].__module__.startswith("flinkish.api.")
