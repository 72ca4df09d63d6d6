"""Assignments that set null where a value does not fit its column."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lakebed.deltalake.schema import PrimitiveType, StructType

__all__ = ["try_casts"]

_SQL = {
    "string": "STRING",
    "long": "BIGINT",
    "integer": "INT",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BINARY",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP_NTZ",
}
#: The last name of a column, behind the alias of its table.
_NAME = re.compile(r"(?:[^`.]+\.|`(?:[^`]|``)*`\.)?(?:`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>[^`.]+))")


def try_casts(assignments: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """Returns the assignments with ``TRY_CAST``. Those to structs, lists and maps stay as they are."""
    types = {one.name: one.type.type for one in schema.fields if isinstance(one.type, PrimitiveType)}
    found = {}
    for column, expression in assignments.items():
        name = _NAME.fullmatch(column)
        kind = types.get("" if name is None else name["plain"] or name["quoted"].replace("``", "`"))
        target = None if kind is None else _SQL.get(kind, kind)
        found[column] = expression if target is None else f"TRY_CAST(({expression}) AS {target})"
    return found
