"""Flink's builders of files of lines, and other names that ported jobs use."""

from __future__ import annotations

import pytest

import flinkish as fl


@pytest.fixture
def local():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def test_lines_are_read_and_written_by_builders(local, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}\n")
    source = fl.FileSource.forRecordStreamFormat(
        fl.TextLineInputFormat(), str(tmp_path / "a"), str(tmp_path / "b")
    )
    sink = (
        fl.FileSink.forRowFormat(str(tmp_path / "out"), fl.SimpleStringEncoder("UTF-8"))
        .withRollingPolicy(
            fl.DefaultRollingPolicy.builder()
            .withMaxPartSize(1)
            .withRolloverInterval(fl.Duration.ofMinutes(1))
            .withInactivityInterval(1)
            .build()
        )
        .withOutputFileConfig(
            fl.OutputFileConfig.builder().withPartPrefix("p").withPartSuffix(".x").build()
        )
        .withBucketCheckInterval(1)
        .build()
    )
    local.fromSource(source.processStaticFileSet().build()).map(str.upper).sinkTo(sink)
    local.execute()
    [file] = (tmp_path / "out").glob("batch=0/part-*")
    assert sorted(file.read_text().split()) == ["A", "B"]


def test_a_builder_may_watch_a_directory():
    builder = fl.FileSource.forRecordStreamFormat(fl.TextLineInputFormat(), "/in")
    assert builder.build().bounded
    assert not builder.monitorContinuously(fl.Duration.ofSeconds(1)).build().bounded


@pytest.mark.parametrize("kind", [fl.SimpleStringEncoder, fl.TextLineInputFormat])
def test_another_charset_is_refused(kind):
    with pytest.raises(fl.NotSupportedError, match="in UTF-8, not in latin-1"):
        kind("latin-1")


def test_what_is_no_encoder_or_policy_is_named():
    with pytest.raises(fl.InvalidProgramError, match=r"SimpleStringEncoder\(\)"):
        fl.FileSink.forRowFormat("/out", str)
    with pytest.raises(fl.InvalidProgramError, match="withRollingPolicy"):
        fl.FileSink.forRowFormat("/out", fl.SimpleStringEncoder()).withRollingPolicy("daily")
    with pytest.raises(fl.InvalidProgramError, match="TextLineInputFormat"):
        fl.FileSource.forRecordStreamFormat("lines", "/in")
    assert fl.OutputFileConfig("a", "b").getPartPrefix() == "a"
    assert fl.OutputFileConfig("a", "b").getPartSuffix() == "b"
    assert isinstance(fl.OnCheckpointRollingPolicy.build(), fl.RollingPolicy)


def test_a_discarding_sink_takes_all(local):
    local.fromSequence(1, 5).map(str).name("texts").sinkTo(fl.DiscardingSink())
    assert local.execute().getMetrics()["texts"].numRecordsOut == 5


def test_a_rate_limiter_strategy_is_a_rate():
    limited = fl.DataGeneratorSource(str, 5, fl.RateLimiterStrategy.perSecond(10))
    assert limited.rate == 10
    assert fl.DataGeneratorSource(str, 5, fl.RateLimiterStrategy.noOp()).elementsPerSecond is None
    with pytest.raises(fl.IllegalArgumentError, match="recordsPerSecond"):
        fl.RateLimiterStrategy.perSecond(0.5)
