"""``OutputTag``: names a side output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.output_tag import OutputTag as CoreTag
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.common.typeinfo import RowTypeInfo, TypeInformation, Types


class OutputTag(AbsentMethods):
    """Names a side output (PyFlink: ``OutputTag``). A list of types stands for a row of those."""

    def __init__(
        self, tag_id: str, type_info: TypeInformation | Sequence[TypeInformation] | None = None
    ) -> None:
        if not tag_id:
            raise ValueError("OutputTag: tag_id cannot be None or empty string")
        self.tag_id = tag_id
        if type_info is None:
            self.type_info: TypeInformation = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, TypeInformation):
            self.type_info = type_info
        else:
            self.type_info = RowTypeInfo(type_info)

    @property
    def core(self) -> CoreTag[Any]:
        """The same for flinkish's own streams."""
        return CoreTag(self.tag_id, self.type_info.core)
