"""``RevertiblePageStore``: the pages of a key group, which can be reverted to their contents before
the current batch."""

from __future__ import annotations

from flinkish.runtime.state.page_store import DictPageStore


class RevertiblePageStore(DictPageStore):
    """Pages in a dict that records what a batch has changed."""

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[bytes, bytes | None] = {}

    def put(self, page: bytes, content: bytes, digest: bytes | None = None) -> None:
        self._before.setdefault(page, self.pages.get(page))
        super().put(page, content, digest)

    def remove(self, page: bytes) -> None:
        self._before.setdefault(page, self.pages.get(page))
        super().remove(page)

    def endBatch(self) -> None:
        """Keep the changes of the batch."""
        self._before.clear()

    def revert(self) -> None:
        """Undo the changes of the batch."""
        for page, content in list(self._before.items()):
            if content is not None:
                super().put(page, content)
            elif page in self.pages:
                super().remove(page)
        self._before.clear()
