"""``OutputTag``: names a side output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from flinkish.api.arguments import text
from flinkish.api.output_tag import OutputTag as CoreTag
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.common.arguments import declared_type
from flinkish.pyflink.common.typeinfo import RowTypeInfo, TypeInformation, Types


class OutputTag(AbsentMethods):
    """Names a side output (PyFlink: ``OutputTag``). A list of types stands for a row of these
    types."""

    def __init__(
        self, tag_id: str, type_info: TypeInformation | Sequence[TypeInformation] | None = None
    ) -> None:
        self.tag_id = text("OutputTag: tag_id", tag_id)
        if type_info is None:
            self.type_info: TypeInformation = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, (list, tuple)):
            self.type_info = RowTypeInfo(type_info)
        else:
            self.type_info = declared_type("OutputTag", cast(TypeInformation, type_info))

    @property
    def core(self) -> CoreTag[Any]:
        """The tag for flinkish's own streams."""
        return CoreTag(self.tag_id, self.type_info.core)
