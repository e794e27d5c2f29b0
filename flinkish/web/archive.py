"""``JobArchive``: jobs that have ended, kept in a directory for the page of later programs (Flink: the history server).

A file for each job has the documents of the REST interface by their paths, as Flink's archives have them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from flinkish.api.errors import IllegalArgumentError

JOBS_KEPT = 200
"""The number of jobs that a directory keeps: those that ended last."""


class JobArchive:
    """The archived jobs of ``directory``, which is created if it is not there."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise IllegalArgumentError(
                f"enableWebUI: the archive {directory!r} cannot be used: {error}. Pass a directory of this"
                " machine that you may write."
            ) from None
        self._read: dict[Path, tuple[int, dict[str, Any]]] = {}

    def write(self, jid: str, documents: dict[str, Any]) -> None:
        """Archive a job. Errors of writing are ignored, as no job depends on the archive."""
        archive = {"archive": [{"path": p, "json": json.dumps(d)} for p, d in documents.items()]}
        draft = self._directory / f".{jid}.draft"
        with suppress(OSError):
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
                json.dump(archive, stream)
            draft.rename(self._directory / f"{jid}.json")
            for old in self._files()[JOBS_KEPT:]:
                old.unlink(missing_ok=True)

    def overviews(self) -> list[dict[str, Any]]:
        """The entries of ``/jobs/overview``, the last to end first."""
        return [
            {**job, "archived": True}
            for documents in self._jobs()
            for job in documents.get("/jobs/overview", {}).get("jobs", ())
        ]

    def document(self, path: str) -> Any:
        """The document of an archived job. Raises LookupError if there is none."""
        for documents in self._jobs():
            if path in documents:
                return documents[path]
        raise LookupError(f"there is nothing at {path}")

    def _files(self) -> list[Path]:
        files: list[tuple[int, Path]] = []
        for file in self._directory.glob("*.json"):
            with suppress(OSError):
                files.append((file.stat().st_mtime_ns, file))
        return [file for _, file in sorted(files, reverse=True)]

    def _jobs(self) -> Iterator[dict[str, Any]]:
        for file in self._files():
            with suppress(OSError, ValueError, KeyError, TypeError):
                changed = file.stat().st_mtime_ns
                known = self._read.get(file)
                if known is None or known[0] != changed:
                    entries = json.loads(file.read_text("utf-8"))["archive"]
                    documents = {entry["path"]: json.loads(entry["json"]) for entry in entries}
                    known = self._read[file] = changed, documents
                yield known[1]


def archived(
    document: Callable[[list[str]], Any], jid: str, vertices: list[str], operators: list[str]
) -> dict[str, Any]:
    """All documents of a job by their paths; ``document`` returns the one at the parts of a path."""
    paths = [["jobs", jid], ["jobs", jid, "metrics"]]
    paths += [
        ["jobs", jid, name]
        for name in (
            "plan",
            "checkpoints",
            "exceptions",
            "config",
            "details",
            "graph.svg",
            "profile",
        )
    ]
    paths.append(["jobs", jid, "checkpoints", "config"])
    for uid in vertices:
        paths += [["jobs", jid, "vertices", uid], ["jobs", jid, "vertices", uid, "watermarks"]]
    paths += [["jobs", jid, "operators", uid, "batches"] for uid in operators]
    found: dict[str, Any] = {}
    for path in paths:
        with suppress(LookupError):
            content = document(path)
            encoded = path[-1] == "details"
            found["/" + "/".join(path)] = json.loads(content) if encoded else content
    return found
