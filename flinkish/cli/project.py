"""``python -m flinkish new``: a small typed project, with a test that needs no Spark."""

from __future__ import annotations

import json
import keyword
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent, indent

from flinkish.api.errors import IllegalArgumentError
from flinkish.cli.project_options import OPTIONS

_FILES = {
    "pyproject.toml": """
        [project]
        name = "PROJECT"
        version = "0.1.0"
        requires-python = ">=3.11"
        dependencies = ["flinkishEXTRAS"]

        [project.optional-dependencies]
        dev = ["pytest", "mypy"]

        [build-system]
        requires = ["setuptools"]
        build-backend = "setuptools.build_meta"

        [tool.setuptools]
        py-modules = MODULES

        [tool.pytest.ini_options]
        pythonpath = ["."]

        [tool.mypy]
        strict = true
        """,
    "PROJECT.py": '''
        """Counts the clicks of each user by the minute."""

        from __future__ import annotations

        from typing import NamedTuple

        from flinkish import (
            DataStream,
            Duration,
            StreamExecutionEnvironment,
            TumblingEventTimeWindows,
            WatermarkStrategy,
        )


        class Click(NamedTuple):
            user: str
            time: int
            """Milliseconds since the epoch."""


        def clicks_a_minute(clicks: DataStream[Click]) -> DataStream[tuple[str, int]]:
            """The job without its source and sink, as the test runs it."""
            strategy = (
                WatermarkStrategy[Click]
                .forBoundedOutOfOrderness(Duration.ofSeconds(5))
                .withTimestampAssigner(lambda click, _: click.time)
            )
            return (
                clicks.assignTimestampsAndWatermarks(strategy)
                .map(lambda click: (click.user, 1))
                .keyBy(lambda counted: counted[0])
                .window(TumblingEventTimeWindows.of(Duration.ofMinutes(1)))
                .reduce(lambda one, other: (one[0], one[1] + other[1]))
                .name("clicks a minute")
                .uid("clicks-a-minute")
            )


        def main() -> None:
            env = StreamExecutionEnvironment.getExecutionEnvironment()
            clicks = env.fromData(
                Click("ada", 1_000), Click("bob", 2_000), Click("ada", 59_000), Click("ada", 60_000)
            )
            clicks_a_minute(clicks).print()
            env.execute("PROJECT")


        if __name__ == "__main__":
            main()
        ''',
    "test_PROJECT.py": '''
        """The job by hand, without Spark."""

        from __future__ import annotations

        from typing import Any

        from PROJECT import Click, clicks_a_minute

        from flinkish import StreamRecord
        from flinkish.testing import StreamTestHarness


        def counted(job: StreamTestHarness) -> list[Any]:
            return [out.value for out in job.getOutput() if isinstance(out, StreamRecord)]


        def test_a_minute_is_counted_when_it_is_over() -> None:
            job = StreamTestHarness(clicks_a_minute)
            job.processElement(Click("ada", 1_000))
            job.processElement(Click("ada", 59_000))
            job.setProcessingTime(200)  # the generator emits every 200 ms
            assert counted(job) == []
            job.processElement(Click("bob", 66_000))
            job.setProcessingTime(400)
            assert counted(job) == [("ada", 2)]
            job.endInput()
            assert counted(job) == [("ada", 2), ("bob", 1)]
        ''',
    "README.md": """
        # PROJECT

            pip install -e '.[dev]'
            pytest                              # without Spark
            mypy .
            flinkish explain PROJECT.py  # what would run
            flinkish run PROJECT.py --checkpoint /path/to/checkpoint --web
        """,
}


def create(directory: str, options: Sequence[str] = ()) -> Path:
    """Write a new project to ``directory``, named after it, with the additions of ``options``."""
    path = Path(directory)
    name = path.name
    if not name.isidentifier() or keyword.iskeyword(name) or name == "flinkish":
        raise IllegalArgumentError(
            f"new: {name!r} cannot be the name of a Python module. Take letters, digits and _, as in"
            " my_job."
        )
    if path.exists():
        raise IllegalArgumentError(f"new: {path} is there already. Take another name.")
    for file, content in _files(options).items():
        target = path / file.replace("PROJECT", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content.replace("PROJECT", name), "utf-8")
    return path


def _files(options: Sequence[str]) -> dict[str, str]:
    files = {file: dedent(content).lstrip() for file, content in _FILES.items()}
    extras: list[str] = []
    modules = ["PROJECT"]
    for option in dict.fromkeys(options):
        added = OPTIONS[option]
        own = [added.files, *(added.withOthers.get(other, {}) for other in options)]
        for file, content in (item for found in own for item in found.items()):
            files[file] = dedent(content).lstrip()
        files["README.md"] += indent(dedent(added.readme), "    ").rstrip() + "\n"
        extras += added.extras
        modules += added.modules
    project = files["pyproject.toml"].replace("EXTRAS", f"[{','.join(extras)}]" if extras else "")
    files["pyproject.toml"] = project.replace("MODULES", json.dumps(modules))
    return files
