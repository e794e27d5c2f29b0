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
    from pyflink.table import StreamTableEnvironment
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
        from pyflink.table import StreamTableEnvironment
        from flinkish.pyflink.datastream import StreamExecutionEnvironment as Env, Nonsense
        import flinkish.pyflink.datastream.window as w
        from pyflinking import other

        env = flinkish.pyflink.datastream.StreamExecutionEnvironment.get_execution_environment()
    """)


def test_what_is_left_to_do_is_listed_by_line():
    _, leftovers = ported(dedent(JOB))
    assert [(left.line, left.code) for left in leftovers] == [
        (6, "pyflink.datastream.connectors.kafka.FlinkKafkaConsumer"),
        (7, "pyflink.table"),
        (8, "pyflink.datastream.Nonsense"),
    ]
    assert "toDataFrame" in leftovers[1].reason


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
    job.write_text("from pyflink.table import DataTypes\nfrom pyflink.common import Row\n")
    assert main([str(job)]) == 1
    assert capsys.readouterr().out.startswith(
        f"{job}:1: pyflink.table: flinkish has no such module."
    )
    assert job.read_text().endswith("from flinkish.pyflink.common import Row\n")
