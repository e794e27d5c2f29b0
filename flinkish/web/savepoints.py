"""The savepoints requested over the REST interface, by the id of the request."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

REQUESTS_KEPT = 100
"""The number of finished requests to remember."""


class SavepointRequests:
    """Runs each request in a separate thread, as a savepoint may take longer than an HTTP request
    may."""

    def __init__(self) -> None:
        self._operations: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._lock = threading.Lock()

    def start(self, jid: str, write: Callable[[], str]) -> dict[str, Any]:
        """Call ``write``, which returns where the savepoint is, and return the id of the request at once."""
        trigger = uuid.uuid4().hex
        with self._lock:
            self._operations[jid, trigger] = None
            ended = [key for key, operation in self._operations.items() if operation is not None]
            for key in ended[:-REQUESTS_KEPT]:
                del self._operations[key]
        threading.Thread(target=self._run, args=((jid, trigger), write), daemon=True).start()
        return {"request-id": trigger}

    def _run(self, key: tuple[str, str], write: Callable[[], str]) -> None:
        try:
            operation = {"location": write()}
        except Exception as error:
            failure = {"class": type(error).__name__, "stack-trace": str(error)}
            self._operations[key] = {"failure-cause": failure}
        else:
            self._operations[key] = operation

    def document(self, jid: str, trigger: str) -> dict[str, Any]:
        """``/jobs/:jobid/savepoints/:triggerid``. Raises LookupError if there was no such request."""
        if (jid, trigger) not in self._operations:
            raise LookupError(f"the job {jid} was asked for no savepoint by the id {trigger}")
        operation = self._operations[jid, trigger]
        state = "IN_PROGRESS" if operation is None else "COMPLETED"
        return {"status": {"id": state}, "operation": operation}
