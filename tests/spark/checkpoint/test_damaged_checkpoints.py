"""A checkpoint that is damaged, of another version or in a place that cannot be written is reported
before anything runs, with the file and the fix."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

import flinkish as fl
from flinkish.api.errors import (
    CheckpointStorageError,
    CorruptCheckpointError,
    IncompatibleCheckpointError,
)
from tests.watched import drop

pytestmark = pytest.mark.recovery

LINES = 4


def run(env, tmp_path, key=lambda value: 0):
    """The job, over files that are there; gives what came out by batch."""
    directory = tmp_path / "input"
    if not directory.exists():
        directory.mkdir()
        for number in range(LINES):
            drop(directory, f"{number}.txt", "1\n", changed=1_767_225_600 + number)
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    seen = {}
    files = fl.FileSource.forLines(str(directory)).withFilesPerBatch(1)
    sums = env.fromSource(files).map(int).keyBy(key).reduce(lambda a, b: a + b)
    sums.forEachBatch(lambda values, batch: seen.update({batch: values}))
    env.execute()
    return seen


@pytest.fixture(scope="module")
def kept(spark, tmp_path_factory):
    """The directory of a job that has ended, and a copy of it."""
    directory, copy = tmp_path_factory.mktemp("ended"), tmp_path_factory.mktemp("copies") / "ended"
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    found = run(env.setParallelism(2).setMaxParallelism(4), directory)
    assert list(found.values()) == [[1], [2], [3], [4]]
    return directory, shutil.copytree(directory, copy)


@pytest.fixture
def ended(kept):
    """The directory of a job that has ended, as it was then: in its place, as the checkpoint has the paths of files."""
    directory, copy = kept
    shutil.rmtree(directory)
    return shutil.copytree(copy, directory)


def last(log):
    return max((f for f in log.iterdir() if f.name.isdigit()), key=lambda f: int(f.name))


def removed(*files):
    for file in files:
        file.unlink()
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def refused(env, tmp_path, file, kind=CorruptCheckpointError):
    """Run, and give the message of the refusal, which names the file."""
    with pytest.raises(kind) as raised:
        run(env, tmp_path)
    message = str(raised.value)
    assert str(file) in message
    assert "\tat " not in message
    return message


@pytest.mark.parametrize("content", ["", "{", '{"version": 3}', "[]", "null"])
def test_a_plan_that_is_cut_off(env, tmp_path, content):
    plan = tmp_path / "checkpoint" / "plan" / "text"
    plan.parent.mkdir(parents=True)
    plan.write_text(content)
    assert "begin anew with another one" in refused(env, tmp_path, plan)


@pytest.mark.parametrize(
    ("fields", "by"),
    [({"version": 1}, "one before 0.1"), ({"version": 9, "flinkish": "7.3"}, "7.3")],
    ids=["older", "newer"],
)
def test_another_format_names_both_versions(env, tmp_path, fields, by):
    plan = tmp_path / "checkpoint" / "plan" / "text"
    plan.parent.mkdir(parents=True)
    plan.write_text(json.dumps(fields))
    message = refused(env, tmp_path, tmp_path / "checkpoint", IncompatibleCheckpointError)
    assert f"is of format {fields['version']}, written by flinkish {by}. This flinkish" in message
    assert "reads format 3" in message


@pytest.mark.slow("runs two jobs")
def test_a_checkpoint_of_earlier_hashes_refuses_the_keys_that_it_kept_elsewhere(env, ended):
    plan = ended / "checkpoint" / "plan" / "text"
    fields = json.loads(plan.read_text())
    assert fields.pop("hashes") == 2
    plan.write_text(json.dumps(fields))
    plan.with_name(".text.crc").unlink(missing_ok=True)
    (ended / "input" / "more.txt").write_text("10\n")
    assert list(run(env, ended).values()) == [[14]]
    (ended / "input" / "other.txt").write_text("10\n")
    with pytest.raises(IncompatibleCheckpointError, match=r"kept the key Timestamp.*setSavepoint"):
        run(env, ended, pd.Timestamp)
    assert "hashes" not in json.loads(plan.read_text())


@pytest.mark.slow("runs six jobs")
def test_what_spark_notes_cut_off_is_told_and_the_advice_helps(env, ended):
    """Metadata, the last offsets, committed and not, and the last commit: empty, as after a crash."""
    query = ended / "checkpoint" / "query"
    metadata, offsets, commit = query / "metadata", last(query / "offsets"), last(query / "commits")
    was = metadata.read_text()
    metadata.write_text(was[: len(was) // 2])
    message = refused(env, ended, metadata)
    removed(metadata)
    metadata.write_text(message[message.index('{"id"') : message.index("}") + 1])
    assert run(env, ended) == {}

    commit = last(query / "commits")
    commit.write_text("")
    assert f"batch {commit.name} is then run again" in refused(env, ended, commit)
    removed(commit)
    run(env, ended)

    offsets, commit = last(query / "offsets"), last(query / "commits")
    whole = offsets.read_text()
    for content in ("", whole.splitlines()[0], whole[:-5]):
        offsets.write_text(content)
        message = refused(env, ended, offsets)
    assert str(commit) in message
    removed(offsets, commit)
    (ended / "input" / "more.txt").write_text("10\n")
    again = run(env, ended)
    assert list(again.values())[-1] == [14], "no element was lost or doubled"


def test_a_plan_that_is_gone(env, ended):
    plan = ended / "checkpoint" / "plan" / "text"
    plan.unlink()
    assert "is not there, which says what job it is of" in refused(env, ended, plan)


@pytest.mark.slow("runs two jobs, one of which Spark tries again")
def test_a_damaged_state_store_is_told(env, ended):
    for file in (ended / "checkpoint" / "query" / "state").rglob("*"):
        if file.is_file() and file.suffix in (".zip", ".changelog"):
            file.write_bytes(b"")
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    (ended / "input" / "more.txt").write_text("10\n")
    with pytest.raises(CorruptCheckpointError) as raised:
        run(env, ended)
    message = str(raised.value)
    assert "state" in message
    assert "\tat " not in message


def test_a_file_in_place_of_the_directory(env, tmp_path):
    (tmp_path / "checkpoint").write_text("a file")
    assert "cannot be" in refused(env, tmp_path, tmp_path / "checkpoint", CheckpointStorageError)


def test_a_place_that_cannot_be_written(env, tmp_path):
    env.fromData(1).print()
    env.enableCheckpointing("/proc/flinkish")
    with pytest.raises(CheckpointStorageError, match=r"/proc/flinkish cannot be written"):
        env.execute()


def test_no_space_left(env, tmp_path):
    plan = tmp_path / "checkpoint" / "plan"
    plan.mkdir(parents=True)
    (plan / ".text.draft").symlink_to("/dev/full")
    message = refused(env, tmp_path, tmp_path / "checkpoint", CheckpointStorageError)
    assert "No space left on device" in message
