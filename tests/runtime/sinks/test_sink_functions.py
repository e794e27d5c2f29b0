"""SinkFunctions of Flink 1 are called in the workers, with each element."""

from __future__ import annotations

import pytest

import flinkish as fl


class Writes(fl.RichSinkFunction):
    """Appends lines to a file, as a sink of Flink 1 would send them somewhere."""

    def __init__(self, path):
        self.path = path

    def open(self, openContext):
        self.name = self.getRuntimeContext().getTaskInfo().getTaskName()
        self.file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115

    def invoke(self, value, context):
        print(self.name, value, context.timestamp(), context.currentWatermark() < 9, file=self.file)

    def close(self):
        self.file.close()


class Plain(fl.SinkFunction):
    def __init__(self, path):
        self.path = path

    def invoke(self, value):
        with open(self.path, "a", encoding="utf-8") as file:
            print(value, file=file)


@pytest.fixture
def local():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def timed(env):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda n, _: n)
    return env.fromData(1, 2, 3).assignTimestampsAndWatermarks(strategy)


def test_a_rich_one_is_opened_and_closed(local, tmp_path):
    path = tmp_path / "out"
    timed(local).addSink(Writes(str(path))).name("files")
    local.execute()
    assert path.read_text().splitlines() == [f"Sink: Writes {n} {n} True" for n in (1, 2, 3)]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", ["class", "f(value)", "f(value, context)"])
def test_all_kinds_and_streams(local, tmp_path, kind, keyed):
    path = str(tmp_path / "out")

    def write(value):
        with open(path, "a", encoding="utf-8") as file:
            print(value, file=file)

    functions = {
        "class": Plain(path),
        "f(value)": write,
        "f(value, context)": lambda value, context: write((value, context.timestamp())[0]),
    }
    stream = timed(local)
    (stream.keyBy(lambda n: n % 2) if keyed else stream).addSink(functions[kind])
    local.execute()
    assert sorted((tmp_path / "out").read_text().split()) == ["1", "2", "3"]


def test_an_error_names_the_sink_and_the_element(local):
    class Fails(fl.SinkFunction):
        def invoke(self, value, context):
            raise ValueError("full")

    local.fromData(7).addSink(Fails())
    with pytest.raises(fl.UserFunctionError, match=r"Sink: Fails: .*full on the element 7"):
        local.execute()


def test_what_is_none_is_refused(local):
    stream = local.fromData(1)
    for wrong in (None, Plain, lambda: None, 5):
        with pytest.raises(fl.InvalidProgramError, match="addSink: "):
            stream.addSink(wrong)
