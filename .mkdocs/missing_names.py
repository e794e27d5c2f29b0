"""Makes the page ``port/missing.md`` of the site from the table that the errors say."""

from __future__ import annotations

from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from flinkish.api.absent import ANY_RECEIVER, absent_tables

PAGE = "port/missing.md"

_TITLES = {"flink": "Flink", "pyflink": "PyFlink"}
_RECEIVERS = {
    ANY_RECEIVER: "any class",
    "table.*": "any class of `table`",
    "table.SQL": "statements of SQL",
    "_TwoStreams": "`ConnectedStreams`, `BroadcastConnectedStream`",
    "BaseWindowedStream": "`WindowedStream`, `AllWindowedStream`",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called when MkDocs has listed the pages: adds this one."""
    files.append(File.generated(config, PAGE, content=page()))
    return files


def page() -> str:
    """The page as Markdown."""
    lines = [
        "# Names that flinkish lacks",
        "",
        "A name of Flink or PyFlink that flinkish does not have raises an error that says what to write instead:",
        "an import (`from flinkish import CheckpointedFunction`) or a method (`stream.timeWindow`). So does a method",
        "in the other's spelling (`stream.key_by`, and `keyBy` in `flinkish.pyflink`). These tables are what the",
        "errors say. Every public class of Flink 1.20 and 2.3, and every public name of PyFlink 2.2, is there or here.",
    ]
    for dialect, title in _TITLES.items():
        lines += ["", f"## {title}", "", "| of | name | what to write |", "|---|---|---|"]
        lines += _rows(dialect)
    return "\n".join((*lines, ""))


def _rows(dialect: str) -> Iterator[str]:
    """A row for each text of a module or receiver, with all of its names."""
    for owner, table in absent_tables()[dialect].items():
        names: dict[str, list[str]] = {}
        for name, instead in table.items():
            names.setdefault(instead, []).append("all others" if name == "*" else f"`{name}`")
        of = _RECEIVERS.get(owner, f"`{owner}`")
        for instead, group in names.items():
            yield f"| {of} | {', '.join(group)} | {instead.replace('|', chr(92) + '|')} |"

