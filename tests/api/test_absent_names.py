"""Names of Flink that flinkish lacks say what to write instead."""

from __future__ import annotations

import importlib

import pytest

import flinkish
from flinkish import NotSupportedError, StreamExecutionEnvironment
from flinkish.api.absent import absent_method
from flinkish.api.absent_methods import ABSENT_METHODS
from flinkish.api.absent_names import ABSENT_NAMES, MOVED_NAMES


@pytest.mark.parametrize("name", ABSENT_NAMES)
def test_an_import_says_what_to_write_instead(name: str) -> None:
    with pytest.raises(ImportError, match=f"^flinkish has no {name}. [A-Za-z]"):
        exec(f"from flinkish import {name}")


@pytest.mark.parametrize(("name", "package"), MOVED_NAMES.items())
def test_a_name_of_another_system_says_where_it_is(name: str, package: str) -> None:
    with pytest.raises(ImportError, match=f"{name} is in {package}: write from {package} import"):
        exec(f"from flinkish import {name}")
    assert hasattr(importlib.import_module(package), name)


def test_what_is_there_is_not_called_absent() -> None:
    assert not {*ABSENT_NAMES, *MOVED_NAMES} & set(dir(flinkish))


def test_any_other_name_is_a_plain_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        flinkish.Nonsense  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec("from flinkish import Nonsense")


@pytest.mark.parametrize("method", ABSENT_METHODS[""])
def test_a_method_says_what_to_write_instead(method: str) -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    stream = env.fromData((1, 2))
    for subject in (env, stream, stream.keyBy(0)):
        assert not hasattr(subject, method)
        with pytest.raises(NotSupportedError, match=rf"{method} is not supported: [a-z]"):
            getattr(subject, method)


RECEIVERS = {
    "_TwoStreams": "ConnectedStreams",
    "BaseWindowedStream": "WindowedStream",
}


@pytest.mark.parametrize(
    ("owner", "method"),
    [(owner, m) for owner in ABSENT_METHODS if owner for m in ABSENT_METHODS[owner]],
)
def test_the_receiver_decides_what_is_said(owner: str, method: str) -> None:
    receiver = getattr(flinkish, RECEIVERS.get(owner, owner))
    assert not hasattr(receiver, method)
    error = absent_method(receiver, method)
    assert str(error) == (
        f"{receiver.__name__}.{method} is not supported: {ABSENT_METHODS[owner][method]}."
    )


def test_what_has_no_key_or_no_result_says_what_to_call_first() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    stream = env.fromData((1, 2))
    windows = flinkish.TumblingEventTimeWindows.of(1000)
    for broken, fix in (
        (lambda: stream.window(windows), r"call keyBy first: stream\.keyBy\(key\)\.window"),  # type: ignore[attr-defined]
        (lambda: stream.sum(0), "call keyBy first"),  # type: ignore[attr-defined]
        (lambda: stream.groupBy(0), "write keyBy"),  # type: ignore[attr-defined]
        (lambda: stream.foreach(print), "write forEachBatch"),  # type: ignore[attr-defined]
        (lambda: stream.keyBy(0).window(windows).print(), "a window has no result yet"),  # type: ignore[attr-defined]
        (lambda: stream.keyBy(0).aggregate(None), r"call window\(assigner\) or countWindow"),  # type: ignore[attr-defined]
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
