"""Files that tasks write, and that become the result of a batch together."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from flinkish.api.errors import JobExecutionError, UnfitElementError
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.sinks.lines import LineWriter
from flinkish.runtime.sinks.part_files import PartFiles


@pytest.fixture
def files(tmp_path):
    return PartFiles(str(tmp_path / "out"), "txt", "my files", LineWriter("my files", "text"))


def written(files, *runs):
    """The name of a file with those elements."""
    part = files.begun()
    for run in runs:
        part.append(run)
    part.close()
    return part.name


def found(files):
    """All files of the directory, by their path in it."""
    root = Path(files.directory)
    return {
        str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()
    }


def test_nothing_is_there_before_the_batch_is_published(files):
    parts = [written(files, [1, 2], [3]), written(files, [4])]
    assert set(found(files).values()) == {"1\n2\n3\n", "4\n"}
    assert all(path.startswith("_") for path in found(files))
    files.publish(parts, 7)
    assert found(files) == {
        "batch=7/part-00000.txt": "1\n2\n3\n",
        "batch=7/part-00001.txt": "4\n",
    }


def test_a_batch_that_comes_again_replaces_what_it_wrote(files):
    files.publish([written(files, [1]), written(files, [2])], 0)
    files.publish([written(files, [1, 2])], 0)
    files.publish([written(files, [3])], 1)
    assert found(files) == {"batch=0/part-00000.txt": "1\n2\n", "batch=1/part-00000.txt": "3\n"}


def test_what_a_failed_task_has_written_is_no_result(files):
    written(files, [1])
    files.publish([written(files, [2])], 0)
    assert list(found(files).values()).count("1\n") == 1
    files.clear()
    assert found(files) == {"batch=0/part-00000.txt": "2\n"}


def test_a_batch_that_broke_off_while_it_was_published(files):
    """Some of the files have been moved: the batch comes again, with other files."""
    parts = [written(files, [1]), "gone"]
    with pytest.raises(JobExecutionError):
        files.publish(parts, 0)
    files.publish([written(files, [1]), written(files, [2])], 0)
    assert sorted(path for path in found(files) if path.startswith("batch")) == [
        "batch=0/part-00000.txt",
        "batch=0/part-00001.txt",
    ]


def test_a_file_on_another_machine_is_missed(files):
    written(files, [1])
    with pytest.raises(JobExecutionError, match=r"my files: .*gone.*is not on this machine.*mount"):
        files.publish(["gone"], 0)


def test_a_directory_that_cannot_be_written(files, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(JobExecutionError, match=r"my files: cannot write to .*out"):
        written(files, [1])


def test_an_element_that_is_no_text_is_named(files):
    expected = re.escape(r"the element 'b\ud800' holds text that UTF-8 cannot write")
    with pytest.raises(UnfitElementError, match=expected):
        written(files, ["a", "b\ud800"])


@pytest.mark.parametrize("text", ["a\nb", "a\r", "\ufeffa"])
def test_an_element_that_is_not_read_as_one_line_is_named(files, text):
    with pytest.raises(UnfitElementError, match=r"my files: the element .* has a line break in it"):
        written(files, ["a", text])


def test_columns_are_csv(tmp_path):
    writer = LineWriter("my files", "csv", ("name", "n"), header=True)
    files = PartFiles(str(tmp_path / "out"), "csv", "my files", writer)
    run = RowColumns(pa.RecordBatch.from_pydict({"name": ["a", "b, c", None], "n": [1, None, 3]}))
    files.publish([written(files, run, run)], 0)
    rows = 'a,1\n"b, c",\n,3\n'
    assert found(files) == {"batch=0/part-00000.csv": f"name,n\n{rows}{rows}"}


def test_columns_are_parquet(tmp_path):
    files = PartFiles(str(tmp_path / "out"), "parquet", "my files", None)
    run = RowColumns(pa.RecordBatch.from_pydict({"name": ["a", None], "n": [1, None]}))
    files.publish([written(files, run, run)], 0)
    table = parquet.read_table(tmp_path / "out" / "batch=0" / "part-00000.parquet")
    assert table.select(["name", "n"]) == pa.Table.from_batches([run.batch, run.batch])
    (tmp_path / "full").write_text("a file")
    with pytest.raises(JobExecutionError, match=r"my files: cannot write to .*full"):
        written(PartFiles(str(tmp_path / "full"), "parquet", "my files", None), run)
