"""Makes ``docs/port/missing.md`` of the tables that the errors say: ``python -m tests.docs.missing_names``."""

from __future__ import annotations

from collections.abc import Mapping

from flinkish.api.absent_methods import ABSENT_METHODS
from flinkish.api.absent_names import ABSENT_NAMES, MOVED_NAMES
from tests.docs.pages import DOCS

PAGE = DOCS / "port" / "missing.md"

_RECEIVERS = {
    "": "any class",
    "_TwoStreams": "`ConnectedStreams`, `BroadcastConnectedStream`",
    "BaseWindowedStream": "`WindowedStream`, `AllWindowedStream`",
}


def page() -> str:
    """The page as Markdown."""
    methods = []
    for owner, names in ABSENT_METHODS.items():
        receiver = _RECEIVERS.get(owner, f"`{owner}`")
        methods += [f"| {receiver} | {row}" for row in _rows(names)]
    return "\n".join(
        (
            "# Names that flinkish lacks",
            "",
            "A name of Flink that flinkish does not have raises an error that says what to write instead: an import",
            "(`from flinkish import CheckpointedFunction`), a method (`stream.timeWindow`), and a method in PyFlink's",
            "spelling (`stream.key_by`). These tables are what the errors say. Every public class of Flink 1.20 and 2.3",
            "is in flinkish or here.",
            "",
            "## Classes",
            "",
            "| name | what to write |",
            "|---|---|",
            *(f"| {row}" for row in _rows(ABSENT_NAMES)),
            "",
            "## Methods",
            "",
            "| of | name | what to write |",
            "|---|---|---|",
            *methods,
            "",
            "## Names that have moved",
            "",
            "| name | import it from |",
            "|---|---|",
            *(
                f"| {row}"
                for row in _rows({name: f"`{where}`" for name, where in MOVED_NAMES.items()})
            ),
            "",
        )
    )


def _rows(entries: Mapping[str, str]) -> list[str]:
    """``names | text |``, the names of one text together."""
    names: dict[str, list[str]] = {}
    for name, instead in entries.items():
        names.setdefault(instead, []).append(f"`{name}`")
    return [
        f"{', '.join(group)} | {instead.replace('|', chr(92) + '|')} |"
        for instead, group in names.items()
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
