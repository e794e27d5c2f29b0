"""Pages as bytes: what is refused, and with which error."""

from __future__ import annotations

import pickle
import threading
from collections import namedtuple

import pytest

from flinkish.api.errors import (
    CorruptCheckpointError,
    IncompatibleCheckpointError,
    InvalidProgramError,
)
from flinkish.api.program_classes import ProgramClasses
from flinkish.runtime.state.page_codec import Envelope, PageCodec
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.task.stage import decode_directory, encode_directory


def local_class():
    class Local:
        def __init__(self, value):
            self.value = value

    return Local


def test_what_pickle_refuses_goes_by_name_or_by_value():
    local = local_class()
    codec = PageCodec("operator", "values", "state")
    page = {1: local(2), 2: lambda x: x + 1}
    with ProgramClasses.of([local]).current():
        for _ in range(2):
            back = codec.decodeEntries(codec.encodeEntries(page))
            assert type(back[1]) is local
            assert back[1].value == 2
            assert back[2](1) == 2
        assert codec.decodeEntries(codec.encodeEntries({1: "plain"})) == {1: "plain"}


def test_a_class_that_no_restart_would_find_is_named():
    codec = PageCodec("my-operator", "values", "mode")
    with pytest.raises(InvalidProgramError) as raised:
        codec.encodeEntries({1: local_class()(2)})
    assert "my-operator: state 'mode': the class local_class.<locals>.Local of" in str(raised.value)
    one, other = local_class(), local_class()
    both = ProgramClasses.of([one, other])
    with both.current(), pytest.raises(InvalidProgramError, match="two classes of the job"):
        codec.encodeEntries({1: one(2)})


def test_a_class_that_is_gone_is_named():
    local = local_class()
    codec = PageCodec("my-operator", "values", "mode")
    with ProgramClasses.of([local]).current():
        page = codec.encodeEntries({1: local(2)})
    with pytest.raises(IncompatibleCheckpointError) as raised:
        codec.decodeEntries(page)
    assert "my-operator: state 'mode': an object of the class local_class" in str(raised.value)


def test_tuples_of_a_class_that_is_made_as_the_job_runs_go_by_value():
    codec = PageCodec("operator", "values", "state")
    for names in ("a", "a b"):
        made = namedtuple("Made", names)
        row = made(*names.split())
        assert codec.decodeEntries(codec.encodeEntries({1: row}))[1]._asdict() == row._asdict()


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
    message = r"operator: state 'state': a page of state is of format 1, .* reads format 3"
    with pytest.raises(IncompatibleCheckpointError, match=message):
        codec.decodeEntries(b"\x01" + codec.encodeEntries({})[1:])


def test_a_class_that_is_gone_is_told():
    codec = PageCodec("operator", "values", "state")
    content = codec.encodeEntries({1: PageCodec}).replace(b"PageCodec", b"GoneCodec")
    with pytest.raises(CorruptCheckpointError, match=r"cannot be unpickled .*GoneCodec"):
        codec.decodeEntries(content)


class Unknown:
    """A class that a tool has not imported."""

    def __eq__(self, other):
        return isinstance(other, Unknown)

    __hash__ = None


@pytest.mark.parametrize("named", [False, True])
def test_a_page_is_listed_without_the_classes_of_its_values(monkeypatch, named):
    codec = PageCodec("operator", "maps", "seen")
    page = {("k", n) if named else n: Unknown() for n in range(3)}
    content = codec.encodeEntries(page, named)
    assert codec.decodeEntries(content) == page
    monkeypatch.delattr(f"{__name__}.Unknown")
    envelope = Envelope.of(content)
    assert (envelope.table, envelope.state, envelope.encoding) == ("maps", "seen", "pickle")
    assert list(envelope.sections) == ["keys", *(["namespaces"] if named else []), "values"]
    assert pickle.loads(envelope.sections["keys"]) == (["k"] * 3 if named else [0, 1, 2])
    with pytest.raises(CorruptCheckpointError, match="Unknown"):
        codec.decodeEntries(content)


def test_a_page_that_is_cut_off_is_told():
    codec = PageCodec("operator", "values", "state")
    content = codec.encodeEntries({"key": "value"})
    for length in range(1, len(content)):
        with pytest.raises(CorruptCheckpointError, match="operator: state 'state': a page of"):
            codec.decodeEntries(content[:length])
    with pytest.raises(CorruptCheckpointError):
        codec.decodeEntries(content + b"more")


@pytest.mark.parametrize(("version", "words"), [(b"\x01", "1"), (b"\x63", "99")])
def test_a_directory_of_another_version_is_told(version, words):
    data = version + encode_directory({})[1:]
    with pytest.raises(
        IncompatibleCheckpointError, match=f"is of format {words}, .* reads format 3"
    ):
        decode_directory(data)


def test_directories():
    directory = {"uid": {"backend": {}, "gates": {}, "chain": b""}}
    assert decode_directory(encode_directory(directory)) == directory
    assert decode_directory(None) == {}
    with pytest.raises(IncompatibleCheckpointError, match="format 1"):
        decode_directory(pickle.dumps(directory))  # what format 1 was
    with pytest.raises(CorruptCheckpointError, match="is empty"):
        decode_directory(b"")
    with pytest.raises(CorruptCheckpointError, match="cannot be read"):
        decode_directory(encode_directory(directory)[:-3])
