"""Names of Flink that flinkish lacks say what to write instead."""

from __future__ import annotations

import importlib
import re
import tomllib
import traceback
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish
from flinkish import NotSupportedError, StreamExecutionEnvironment
from flinkish.api.absent import absent_method, absent_tables

TABLE = absent_tables()["flink"]
NAMES = TABLE["flinkish"]
MOVED = {
    name: match[1]
    for name, text in NAMES.items()
    if (match := re.fullmatch(rf"It is in (\S+): write from \1 import {name}\.", text))
}


def test_no_row_hides_another() -> None:
    rows = tomllib.loads((files("flinkish.api") / "absent_names.toml").read_text("utf-8"))
    for dialect, owners in rows.items():
        for owner, groups in owners.items():
            names = [name for listed, _ in groups for name in listed.split()]
            assert len(names) == len(absent_tables()[dialect][owner]), f"{dialect}: {owner}"
            assert all(re.fullmatch(r"\S.*\.", sentence) for _, sentence in groups), owner


@pytest.mark.parametrize("name", NAMES)
def test_an_import_says_what_to_write_instead(name: str) -> None:
    absent = name.rstrip("*")
    with pytest.raises(ImportError, match=f"^flinkish has no {absent}\\. [A-Za-z]"):
        exec(f"from flinkish import {absent}")


def test_a_name_of_another_system_says_where_it_is() -> None:
    assert len(MOVED) > 40
    for name, package in MOVED.items():
        assert hasattr(importlib.import_module(package), name)


def test_what_is_there_is_not_called_absent() -> None:
    assert not set(NAMES) & set(dir(flinkish))


def test_any_other_name_is_a_plain_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        flinkish.Nonsense  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec("from flinkish import Nonsense")


@pytest.mark.parametrize(
    ("package", "name", "meant"),
    [
        ("flinkish", "TumblingEventTimeWindow", "TumblingEventTimeWindows"),
        ("flinkish", "keyedProcessFunction", "KeyedProcessFunction"),
        ("flinkish.cep", "Patern", "Pattern"),
        ("flinkish.testing", "StreamTestHarnes", "StreamTestHarness"),
        ("flinkish.compat.storm", "TopologyBuider", "TopologyBuilder"),
        ("flinkish.pyflink.common", "WatermarkStrategie", "WatermarkStrategy"),
        ("flinkish.pyflink.datastream", "StreamExecutionEnviroment", "StreamExecutionEnvironment"),
    ],
)
def test_a_misspelt_import_suggests_the_name(package: str, name: str, meant: str) -> None:
    with pytest.raises(ImportError, match=f"{package} has no {name}. Did you mean {meant}\\?"):
        exec(f"from {package} import {name}")


def test_a_misspelt_method_suggests_the_name() -> None:
    stream = StreamExecutionEnvironment.getExecutionEnvironment().fromData((1, 2))
    for subject, name, meant in (
        (stream, "keyby", "keyBy"),
        (stream, "flatmap", "flatMap"),
        (stream.keyBy(0).window(flinkish.GlobalWindows.create()), "agregate", "aggregate"),
        (stream.getExecutionEnvironment(), "fromColection", "fromCollection"),
    ):
        with pytest.raises(AttributeError, match=f"{name}'. Did you mean {meant}\\?$") as raised:
            getattr(subject, name)
        assert not hasattr(subject, name)
        printed = "".join(traceback.format_exception(raised.value))
        assert printed.count("Did you mean") == 1, "Python has nothing to add"


@given(st.sampled_from([name for name in dir(flinkish) if name[0].isupper()]), st.data())
def test_a_letter_more_or_less_is_found(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    for misspelt in (name[:at] + name[at + 1 :], name[:at] + "z" + name[at:], name.swapcase()):
        if misspelt not in {*dir(flinkish), *NAMES} and len(name) > 3:
            with pytest.raises(ImportError, match="Did you mean"):
                getattr(flinkish, misspelt)


@pytest.mark.parametrize("method", TABLE["*"])
def test_a_method_says_what_to_write_instead(method: str) -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    stream = env.fromData((1, 2))
    for subject in (env, stream, stream.keyBy(0)):
        assert not hasattr(subject, method)
        with pytest.raises(NotSupportedError, match=rf"{method} is not supported\. [A-Z]"):
            getattr(subject, method)


RECEIVERS = {
    "_TwoStreams": "ConnectedStreams",
    "BaseWindowedStream": "WindowedStream",
}


@pytest.mark.parametrize(
    ("owner", "method"),
    [(owner, m) for owner in TABLE if owner not in ("*", "flinkish") for m in TABLE[owner]],
)
def test_the_receiver_decides_what_is_said(owner: str, method: str) -> None:
    receiver = getattr(flinkish, RECEIVERS.get(owner, owner))
    assert not hasattr(receiver, method)
    error = absent_method(receiver, method)
    assert str(error) == f"{receiver.__name__}.{method} is not supported. {TABLE[owner][method]}"


def test_what_has_no_key_or_no_result_says_what_to_call_first() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    stream = env.fromData((1, 2))
    windows = flinkish.TumblingEventTimeWindows.of(1000)
    for broken, fix in (
        (lambda: stream.window(windows), r"Call keyBy first: stream\.keyBy\(key\)\.window"),  # type: ignore[attr-defined]
        (lambda: stream.sum(0), "Call keyBy first"),  # type: ignore[attr-defined]
        (lambda: stream.groupBy(0), "Write keyBy"),  # type: ignore[attr-defined]
        (lambda: stream.foreach(print), "Write forEachBatch"),  # type: ignore[attr-defined]
        (lambda: stream.keyBy(0).window(windows).print(), "A window has no result yet"),  # type: ignore[attr-defined]
        (lambda: stream.keyBy(0).aggregate(None), r"Call window\(assigner\) or countWindow"),  # type: ignore[attr-defined]
        (lambda: stream.connect(stream).print(), "no result yet: call map"),  # type: ignore[attr-defined]
    ):
        with pytest.raises(NotSupportedError, match=fix):
            broken()


def test_a_name_of_pyflink_says_flinks_own() -> None:
    stream = StreamExecutionEnvironment.getExecutionEnvironment().fromData((1, 2))
    with pytest.raises(NotSupportedError, match=r"has no key_by: .* Write keyBy\."):
        getattr(stream, "key_by")  # noqa: B009
    with pytest.raises(AttributeError, match="no attribute 'key_buy'"):
        getattr(stream, "key_buy")  # noqa: B009
