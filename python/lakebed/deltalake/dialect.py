"""Expressions of deltalake in the SQL of lakebed, which is Spark's.

The two differ in quotes. In deltalake, ``"a"`` is a column, and a backslash in a string is a
character like others. In Spark's SQL, ``"a"`` is a string, and a backslash begins an escape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

__all__ = ["column", "expressions", "literal", "sql"]

#: A string (perhaps behind the name of a type), a quoted name in either quotes, or a comment.
_QUOTED = re.compile(
    r"""(?P<type>\b(?:tinyint|smallint|int|integer|bigint|float|double|boolean)\s*)?(?P<string>'(?:[^']|'')*')"""
    r"""|(?P<name>"(?:[^"]|"")*")|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/""",
    re.DOTALL | re.IGNORECASE,
)


def sql(text: Any) -> Any:
    """Returns the expression in Spark's SQL. Anything but a string is returned as it is."""
    return _QUOTED.sub(_requoted, text) if isinstance(text, str) else text


def expressions(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns columns and their expressions in Spark's SQL."""
    return {sql(name): sql(value) for name, value in values.items()}


def _requoted(found: re.Match[str]) -> str:
    if (text := found["string"]) is not None:
        value = _string(text[1:-1].replace("''", "'"))
        return value if found["type"] is None else f"CAST({value} AS {found['type'].strip()})"
    if (text := found["name"]) is not None:
        return column(text[1:-1].replace('""', '"'))
    return found.group()


def column(name: str) -> str:
    """Returns the quoted name of a column."""
    return f"`{name.replace('`', '``')}`"


def _string(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: Any) -> str:
    """Returns a value of Python as a literal of Spark's SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        # deltalake takes a datetime without a zone as one of the local zone of the process.
        return f"TIMESTAMP '{value.astimezone(timezone.utc).isoformat()}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(literal(one) for one in value)})"
    raise TypeError(
        f"{value!r} is of type {type(value).__name__}: only int, float, bool, str, list, date and datetime are values"
    )
