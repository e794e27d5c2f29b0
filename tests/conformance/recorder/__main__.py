"""Records cases on real Flink and holds flinkish against them; see ../README.md."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.conformance.cases import Case
from tests.conformance.recorder.differences import difference
from tests.conformance.recorder.flink import Flink
from tests.conformance.recorder.generation import Cases


def main() -> int:
    arguments = _arguments()
    if arguments.cases:
        cases = [json.loads(line) for line in arguments.cases.read_text().splitlines()]
    else:
        cases = list(Cases(arguments.seed).take(arguments.count, tuple(arguments.families)))
    recorded = _recorded(cases, arguments.jars, arguments.build)
    if arguments.to:
        arguments.to.write_text("".join(json.dumps(case) + "\n" for case in recorded))
    verdicts: Counter[str] = Counter()
    for data in recorded:
        case = Case(data)
        found = difference(case)
        verdicts["differ" if found else "refused" if case.refused else "same"] += 1
        if found:
            print(f"{case}: {found}")
    print(dict(verdicts))
    return 1 if verdicts["differ"] else 0


def _recorded(cases: list[dict[str, Any]], jars: list[Path], build: Path) -> list[dict[str, Any]]:
    files = [file for folder in jars for file in sorted(folder.rglob("*.jar"))]
    if not files:
        raise SystemExit(f"no jars in {', '.join(map(str, jars))}")
    expected = ("output", "phase", "exception", "message")
    bare = [{k: v for k, v in case.items() if k not in expected} for case in cases]
    return list(Flink(files, build).record(bare))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.conformance.recorder", description=__doc__)
    parser.add_argument("jars", nargs="+", type=Path, help="folders with Flink's jars")
    parser.add_argument("--cases", type=Path, help="cases to record; else random ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--families", nargs="*", default=())
    parser.add_argument("--to", type=Path, help="where to write the cases as recorded")
    build = Path(tempfile.gettempdir()) / "flinkish-recorder"
    parser.add_argument("--build", type=Path, default=build, help="folder for the class files")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
