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
    _allow_repeated_output: bool = False

    def __post_init__(self) -> None:
        name = "SavepointRestoreSettings"
        fix = "Pass True to drop state that has no operator any more, else False."
        instance(f"{name}: allowNonRestoredState", self._allow_non_restored_state, bool, fix)
        fix = "Pass True to write the output of an unfinished batch again, else False."
        instance(f"{name}: allowRepeatedOutput", self._allow_repeated_output, bool, fix)

    @staticmethod
    def none() -> SavepointRestoreSettings:
        """Begin without a savepoint."""
        return SavepointRestoreSettings()

    @staticmethod
    def forPath(
        savepointPath: str, allowNonRestoredState: bool = False, allowRepeatedOutput: bool = False
    ) -> SavepointRestoreSettings:
        """Begin from the savepoint in a directory. ``allowNonRestoredState``: drop the state of operators
        that the job no longer has. ``allowRepeatedOutput``: if the directory is the checkpoint of a
        job that was killed, do not finish its last batch first, but write its output again."""
        path = text("SavepointRestoreSettings.forPath: savepointPath", savepointPath)
        return SavepointRestoreSettings(path, allowNonRestoredState, allowRepeatedOutput)

    def restoreSavepoint(self) -> bool:
        """Whether the job begins from a savepoint."""
        return self._path is not None

    def getRestorePath(self) -> str | None:
        """The directory of the savepoint, None if there is none."""
        return self._path

    def allowNonRestoredState(self) -> bool:
        """Whether state that has no operator any more is dropped."""
        return self._allow_non_restored_state

    def allowRepeatedOutput(self) -> bool:
        """Whether the job begins although a batch that was written in part is not finished."""
        return self._allow_repeated_output
