"""Pages as bytes: what is refused, and how it is told."""

from __future__ import annotations

import threading

import pytest

from flinkish.api.errors import (
    CorruptCheckpointError,
    IncompatibleCheckpointError,
    InvalidProgramError,
)
from flinkish.runtime.state.page_codec import PageCodec
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend


def test_what_pickle_refuses_goes_through_cloudpickle():
    class Local:
        def __init__(self, value):
            self.value = value

    codec = PageCodec("operator", "values", "state")
    page = {1: Local(2), 2: lambda x: x + 1}
    for _ in range(2):
        back = codec.decodeEntries(codec.encodeEntries(page))
        assert back[1].value == 2
        assert back[2](1) == 2
    assert codec.decodeEntries(codec.encodeEntries({1: "plain"})) == {1: "plain"}


def test_what_cannot_be_pickled_is_named():
    backend = PagedKeyedStateBackend("my-operator")
    backend.load(DictPageStore(), None)
    backend.table("connection").put("key", None, {"inner": [1, threading.Lock()]})
    with pytest.raises(InvalidProgramError) as raised:
        backend.flush()
    assert "my-operator: state 'connection'" in str(raised.value)
    assert "type lock" in str(raised.value)
    assert raised.value.__cause__ is not None


def test_another_version_is_told():
    codec = PageCodec("operator", "values", "state")
    message = r"operator: state 'state': a page of state is of format 1, .* reads format 2"
    with pytest.raises(IncompatibleCheckpointError, match=message):
        codec.decodeEntries(b"\x01" + codec.encodeEntries({})[1:])


def test_a_class_that_is_gone_is_told():
    codec = PageCodec("operator", "values", "state")
    content = codec.encodeEntries({1: PageCodec}).replace(b"PageCodec", b"GoneCodec")
    with pytest.raises(CorruptCheckpointError, match=r"cannot be unpickled .*GoneCodec"):
        codec.decodeEntries(content)
