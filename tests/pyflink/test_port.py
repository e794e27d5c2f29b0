"""The converter of PyFlink jobs."""

from __future__ import annotations

import runpy
from textwrap import dedent

import pytest

pytest.importorskip("libcst", reason="the extra port: pip install flinkish[port]")

from flinkish.api.absent import absent_method
from flinkish.pyflink.absent import PYFLINK
from flinkish.pyflink.port import OF_PYTHON, main, ported
from flinkish.pyflink.receivers import public_classes
from tests.pyflink.reference import PublicName, absent_packages
from tests.pyflink.test_public_names import NAMES, SAME, found

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
        f"{job}:1: pyflink.table.TableDescriptor: Write env.from_source(...)"
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


TABLES = '''
    from pyflink.datastream import *
    from pyflink.table import StreamTableEnvironment

    def report(t_env):
        ddl = """CREATE TABLE orders (id INT) WITH ('connector' = 'kafka')"""
        t_env.execute_sql(ddl)
        t_env.from_path("orders").where("id > 5").execute_insert("large")
        t_env.execute_sql(f"INSERT INTO large SELECT * FROM orders GROUP BY TUMBLE(at)")

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)

    class Job:
        def __init__(self):
            self.tables = StreamTableEnvironment.create(env)

        def run(self, stream: "DataStream"):
            orders = self.tables.from_path("orders")
            orders.filter("id > 5").to_what_no_one_knows()
            self.tables.to_data_stream(orders).map(str).window(5)
            stream.sum(0)
            stream.key_by(str).sum(0)
            stream.nonsense()

    import pyflink.datastream as all_of_it
    all_of_it.TimeCharacteristic.EventTime
    all_of_it.StreamExecutionEnvironment.get_execution_environment().add_source(None)
'''


def test_each_line_that_cannot_run_is_listed_with_what_to_write():
    _, leftovers = ported(dedent(TABLES))
    listed = {(left.line, left.code): left.reason for left in leftovers}
    for place, said in {
        (3, "pyflink.table.StreamTableEnvironment"): "#what-to-write",
        (7, "execute_sql"): "#create-table-and-insert",
        (8, "from_path, execute_insert"): "#create-table-and-insert",
        (8, "where"): "#projection-and-filter",
        (9, "execute_sql"): "#tumbling-and-hopping-windows",
        (12, "set_stream_time_characteristic"): "the window assigner",
        (12, "pyflink.datastream.TimeCharacteristic"): "the window assigner",
        (16, "create"): "#what-to-write",
        (19, "from_path"): "#create-table-and-insert",
        (20, "filter"): "#projection-and-filter",
        (20, "to_what_no_one_knows"): "#what-to-write",
        (21, "to_data_stream"): "#spark-sql",
        (21, "window"): "call key_by before it",
        (22, "sum"): "call key_by before it",
        (24, "nonsense"): "DataStream has no such method",
        (27, "pyflink.datastream.TimeCharacteristic"): "the window assigner",
        (28, "add_source"): "Write from_source",
    }.items():
        assert said in listed.pop(place), place
    assert listed == {}


RUNS = """
    import logging, re
    import pandas as pd
    from pyflink.common import Duration, Row, Time, Types, WatermarkStrategy
    from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
    from pyflink.datastream.state import MapStateDescriptor
    from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows

    class Clean(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext):
            self.seen = runtime_context.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.INT()))

        def select(self, value):
            return value.split(",")[0].strip().replace("a", "b").encode()

        def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)
            self.seen.put(ctx.get_current_key(), 1)
            self.seen.put_all({})
            self.seen.clear()
            self.select(value)
            pd.DataFrame([1]).where(lambda x: x > 1).round(2)
            logging.getLogger("x").info(re.match("a", value).group(0))
            yield Row(a=1).as_dict()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_config().set_auto_watermark_interval(5).set_latency_tracking_interval(5)
    stream = env.from_collection([1], Types.INT())
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    keyed = stream.assign_timestamps_and_watermarks(times.with_idleness(Duration.of_seconds(5))).key_by(str)
    keyed.process(Clean(), output_type=Types.STRING()).union(stream).print()
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).trigger(CountTrigger.of(1))
    windows.reduce(lambda a, b: a).name("a").uid("b").set_parallelism(2).print()
    stream.core.toDataFrame().select("a").where("x").limit(5)
    keyed.keyed_core.toDataFrame().select("a").where("x").limit(5)
    with stream.execute_and_collect() as results:
        print([result.bit_length() for result in results])
"""


def test_a_job_that_runs_has_nothing_left_to_do():
    assert ported(dedent(RUNS)).leftovers == []


def listed_calls(names):
    """Whether each method is listed, called on an object of its class and on one of which nothing is known."""
    methods: dict[tuple[str, str], list[str]] = {}
    for module, owner, method in names:
        methods.setdefault((module, owner), []).append(method)
    lines = [f"lambda y: ({', '.join(f'y.{name}()' for name in {name[2] for name in names})})"]
    for module, owner in methods:
        kind, _, inner = owner.partition(".")
        annotation = f"{kind}.{inner}" if inner else kind
        called = "; ".join(f"x.{method}()" for method in methods[module, owner])
        lines.append(f"from pyflink.{module} import {kind}; x: {annotation}; {called}")
    left: dict[int, set[str]] = {}
    for line, code, _ in ported("\n".join(lines)).leftovers:
        left.setdefault(line, set()).update(code.split(", "))
    for line, owner in enumerate(methods, 2):
        for method in methods[owner]:
            yield *owner, method, method in left.get(line, ()), method in left.get(1, ())


def test_each_call_of_pyflink_is_known():
    names = [
        (name.module, *name.name.rpartition(".")[::2])
        for name in SAME
        if name.kind in ("method", "static") and "__init__" not in name.name
    ]
    assert len(names) > 900
    for module, owner, method, missing, guessed in listed_calls(names):
        receiver = found(PublicName(module, "class", owner, None))
        if isinstance(receiver, type):
            instead = absent_method(receiver, method, PYFLINK)
            there = instead is None and hasattr(receiver, method)
            assert missing is not there, (owner, method)
            assert not (guessed and there), (owner, method)


def test_each_call_of_an_absent_package_is_listed():
    names = [
        (*owner, method)
        for owner, methods in absent_packages().items()
        for method in methods
        if owner[0].startswith("table")
    ]
    assert len(names) > 500
    for module, owner, method, missing, guessed in listed_calls(names):
        assert missing, (module, owner, method)
        is_elsewhere = any(hasattr(kind, method) for kind in public_classes().values())
        assert guessed or is_elsewhere or method in OF_PYTHON, (module, owner, method)


def test_each_import_that_is_refused_is_listed_and_no_other():
    classes = [name for name in NAMES if name.kind == "class" and "." not in name.name]
    lines = [f"from pyflink.{name.module} import {name.name}" for name in classes]
    left = {leftover.line for leftover in ported("\n".join(lines)).leftovers}
    for line, name in enumerate(classes, 1):
        refused = found(name) is None or name.name in ("FlinkKafkaConsumer", "FlinkKafkaProducer")
        assert (line in left) is refused, name
