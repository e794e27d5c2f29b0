"""``CountingPageStore``: pages in a dict, with the numbers of the calls."""

from __future__ import annotations

from flinkish.runtime.state.page_store import DictPageStore


class CountingPageStore(DictPageStore):
    def __init__(self) -> None:
        super().__init__()
        self.gets = self.puts = self.removes = 0

    def get(self, page: bytes, digest: bytes | None = None) -> bytes | None:
        self.gets += 1
        return super().get(page, digest)

    def put(self, page: bytes, content: bytes, digest: bytes | None = None) -> None:
        self.puts += 1
        super().put(page, content, digest)

    def remove(self, page: bytes) -> None:
        self.removes += 1
        super().remove(page)

    def takeCalls(self) -> tuple[int, int, int]:
        """The numbers of calls of ``get``, ``put`` and ``remove`` since the last ``takeCalls``."""
        calls = self.gets, self.puts, self.removes
        self.gets = self.puts = self.removes = 0
        return calls
