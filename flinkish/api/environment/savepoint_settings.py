"""``SavepointRestoreSettings``: the savepoint that a job is restored from."""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.api.arguments import instance, text


@dataclass(frozen=True)
class SavepointRestoreSettings:
    """The savepoint that a job is restored from (Flink: ``SavepointRestoreSettings``).

    >>> SavepointRestoreSettings.forPath("/savepoints/monday").getRestorePath()
    '/savepoints/monday'
    """

    _path: str | None = None
    _allow_non_restored_state: bool = False

    @staticmethod
    def none() -> SavepointRestoreSettings:
        """Begin without a savepoint."""
        return SavepointRestoreSettings()

    @staticmethod
    def forPath(
        savepointPath: str, allowNonRestoredState: bool = False
    ) -> SavepointRestoreSettings:
        """Begin from the savepoint in a directory. ``allowNonRestoredState``: drop the state of operators
        that the job no longer has."""
        return SavepointRestoreSettings(
            text("SavepointRestoreSettings.forPath: savepointPath", savepointPath),
            instance(
                "SavepointRestoreSettings.forPath: allowNonRestoredState",
                allowNonRestoredState,
                bool,
                "Pass True to drop state that has no operator any more, else False.",
            ),
        )

    def restoreSavepoint(self) -> bool:
        """Whether the job begins from a savepoint."""
        return self._path is not None

    def getRestorePath(self) -> str | None:
        """The directory of the savepoint, None if there is none."""
        return self._path

    def allowNonRestoredState(self) -> bool:
        """Whether state that has no operator any more is dropped."""
        return self._allow_non_restored_state
