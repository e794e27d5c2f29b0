"""``OperatorIdentifier``: an operator of a savepoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flinkish.api.arguments import text
from flinkish.api.errors import IllegalArgumentError, shown


@dataclass(frozen=True)
class OperatorIdentifier:
    """Names an operator of a savepoint (Flink: ``OperatorIdentifier``).

    >>> OperatorIdentifier.forUid("counts")
    OperatorIdentifier(uid='counts')
    """

    uid: str

    @staticmethod
    def forUid(uid: str) -> OperatorIdentifier:
        """The operator with that ``uid(...)``, or with the one that flinkish made for it."""
        return OperatorIdentifier(text("OperatorIdentifier.forUid: uid", uid))

    @staticmethod
    def forUidHash(uidHash: str) -> OperatorIdentifier:
        """The same: a savepoint of flinkish has uids, and no hashes of them."""
        return OperatorIdentifier(text("OperatorIdentifier.forUidHash: uidHash", uidHash))


OperatorLike: TypeAlias = OperatorIdentifier | str
"""An identifier, or a uid."""


def uid_of(method: str, operator: OperatorLike) -> str:
    """The uid of ``operator``. Raises IllegalArgumentError if it is neither."""
    if isinstance(operator, OperatorIdentifier):
        return operator.uid
    if isinstance(operator, str) and operator:
        return operator
    raise IllegalArgumentError(
        f"{method}: {shown(operator)} is no operator of a savepoint. Pass its uid, or"
        ' OperatorIdentifier.forUid("uid").'
    )
