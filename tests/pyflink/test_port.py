"""The converter of PyFlink jobs."""

from __future__ import annotations

import runpy
from textwrap import dedent

import pytest

pytest.importorskip("libcst", reason="the extra port: pip install flinkish[port]")

from flinkish.pyflink.port import main, ported

JOB = """
    # a job
    import os, pyflink.datastream
    from pyflink.common import (Types,  # the types
                                Row)
    from pyflink.datastream.connectors.kafka import FlinkKafkaConsumer
    from pyflink.table import StreamTableEnvironment, TableDescriptor
    from pyflink.datastream import StreamExecutionEnvironment as Env, Nonsense
    import pyflink.datastream.window as w
    from pyflinking import other

    env = pyflink.datastream.StreamExecutionEnvironment.get_execution_environment()
"""


def test_imports_are_rewritten_and_the_rest_stays():
    code, _ = ported(dedent(JOB))
    assert code == dedent("""
        # a job
        import os, flinkish.pyflink.datastream
        from flinkish.pyflink.common import (Types,  # the types
                                    Row)
        from flinkish.pyflink.datastream.connectors.kafka import FlinkKafkaConsumer
        from flinkish.pyflink.table import StreamTableEnvironment, TableDescriptor
        from flinkish.pyflink.datastream import StreamExecutionEnvironment as Env, Nonsense
        import flinkish.pyflink.datastream.window as w
        from pyflinking import other

        env = flinkish.pyflink.datastream.StreamExecutionEnvironment.get_execution_environment()
    """)


def test_what_is_left_to_do_is_listed_by_line():
    _, leftovers = ported(dedent(JOB))
    assert [(left.line, left.code) for left in leftovers] == [
        (6, "pyflink.datastream.connectors.kafka.FlinkKafkaConsumer"),
        (7, "pyflink.table.StreamTableEnvironment"),
        (7, "pyflink.table.TableDescriptor"),
        (8, "pyflink.datastream.Nonsense"),
    ]
    assert "docs/port/tables.md#create-table-and-insert" in leftovers[2].reason


def test_a_ported_job_runs(tmp_path, capsys):
    job = tmp_path / "job.py"
    job.write_text(
        dedent("""
            from pyflink.common import Types
            from pyflink.datastream import StreamExecutionEnvironment

            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_local_execution(True)
            env.from_collection([1, 2]).map(lambda n: (n, "a"), Types.ROW([Types.INT(), Types.STRING()])).print()
            env.execute()
        """)
    )
    assert main([str(job), "--output", str(tmp_path / "ported")]) == 0
    assert "from pyflink" in job.read_text()
    runpy.run_path(str(tmp_path / "ported" / "job.py"))
    assert capsys.readouterr().out == "+I[1, a]\n+I[2, a]\n"


def test_files_are_changed_in_place_and_leftovers_printed(tmp_path, capsys):
    job = tmp_path / "job.py"
    job.write_text("from pyflink.table import TableDescriptor\nfrom pyflink.common import Row\n")
    assert main([str(job)]) == 1
    assert capsys.readouterr().out.startswith(
        f"{job}:1: pyflink.table.TableDescriptor: flinkish.pyflink.table has no TableDescriptor."
    )
    assert job.read_text().endswith("from flinkish.pyflink.common import Row\n")


OLDER = """
    from pyflink.common import TypeSerializer
    from pyflink.datastream import FileSink, KafkaSource, TimeCharacteristic
    from pyflink.datastream.formats.csv import CsvRowSerializationSchema
    from pyflink.java_gateway import get_gateway

    env.add_jars("file:///kafka.jar")
    env._j_stream_execution_environment
    env.add_source(source).time_window(5).add_sink(sink)
"""


def test_names_that_are_absent_and_methods_that_are_not_supported_are_listed():
    code, leftovers = ported(dedent(OLDER))
    assert "from flinkish.pyflink.datastream.formats.csv import" in code
    listed = [(left.line, left.code.rpartition(".")[2], left.reason) for left in leftovers]
    for line, name, reason in (
        (2, "TypeSerializer", "Leave it out: elements are pickled"),
        (3, "FileSink", "from flinkish.pyflink.datastream.connectors import FileSink"),
        (3, "TimeCharacteristic", "Leave it out: the window assigner says"),
        (4, "CsvRowSerializationSchema", "Map the elements with a function"),
        (5, "get_gateway", "there is no JVM of Flink's."),
        (7, "add_jars", "Leave it out"),
        (8, "_j_stream_execution_environment", "there is no JVM of Flink's"),
        (9, "add_source", "from_source(source, watermark_strategy, name)"),
        (9, "time_window", "Write window(TumblingEventTimeWindows.of(size))"),
        (9, "add_sink", "Write sink_to(sink)"),
    ):
        assert any((at, found) == (line, name) and reason in text for at, found, text in listed), (
            line,
            name,
            listed,
        )
    assert len(listed) == 11  # and KafkaSource


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_ported(tmp_path, capsys):
    broken, whole = tmp_path / "broken.py", tmp_path / "whole.py"
    broken.write_text("print 'of Python 2'\n")
    whole.write_text("import pyflink.datastream\n")
    assert main([str(broken), str(tmp_path / "none.py"), str(whole)]) == 1
    said = capsys.readouterr().out
    assert f"{broken}: it is left unchanged" in said
    assert "none.py: it is left unchanged" in said
    assert whole.read_text() == "import flinkish.pyflink.datastream\n"
    assert broken.read_text() == "print 'of Python 2'\n"
