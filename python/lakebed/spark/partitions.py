"""Partition values of the log, and the ways in which Spark's reader gets them.

Spark's reader takes partition values from the names of directories. These are correct only if they
equal the values in the log, in a form that Spark parses to these values. Otherwise, files with the
same values are read together, and the values are added. Read :func:`groups`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from lakebed.spark import types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

__all__ = ["Group", "groups", "literal"]

#: Null in the name of a directory.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Group:
    """Files that Spark's reader reads together, by their rows in the list of planned files."""

    rows: list[int]
    #: Their partition values by column. None if the names of their directories have the values.
    values: Mapping[str, pa.Scalar[Any]] | None


def groups(rows: Iterable[int], directories: Sequence[str], values: Any, columns: StructType) -> list[Group]:
    """Groups files by the way in which Spark gets their partition values.

    `directories` are the directories of all files, below the table's root. `columns` are the
    partition columns, in order.
    """
    physical = types.physical(columns).names
    texts = list(zip(*[_texts(values.field(at)) for at in range(len(columns))], strict=True))
    keys = list(zip(*[_keys(values.field(at)) for at in range(len(columns))], strict=True))
    said: list[int] = []
    by_key: dict[tuple[Any, ...], list[int]] = {}
    known: dict[tuple[str, tuple[str | None, ...]], bool] = {}
    for row in rows:
        saying = directories[row], texts[row]
        if saying not in known:
            known[saying] = _says(directories[row], physical, texts[row])
        if known[saying]:
            said.append(row)
        else:
            by_key.setdefault(keys[row], []).append(row)
    found = [Group(said, None)] if said else []
    for members in by_key.values():
        found.append(Group(members, {name: values.field(at)[members[0]] for at, name in enumerate(columns.names)}))
    return found


def literal(value: Any, data_type: DataType) -> Column:
    """Returns a partition value, given as a pyarrow scalar, as a constant in Spark's plan."""
    import pyarrow as pa

    if not value.is_valid:
        found = F.lit(None)
    elif pa.types.is_date(value.type):
        found = F.date_from_unix_date(F.lit(value.value))
    elif pa.types.is_timestamp(value.type):
        # The value is made from microseconds, so that the zone of the session does not matter.
        found = F.timestamp_micros(F.lit(value.value).cast("long"))
        if value.type.tz is None:
            found = F.lit(str(value.as_py()))
    elif pa.types.is_decimal(value.type):
        found = F.lit(format(value.as_py(), "f"))
    else:
        found = F.lit(value.as_py())
    return found.cast(data_type)


def _says(directory: str, names: Sequence[str], texts: Sequence[str | None]) -> bool:
    """Returns whether the names of directories contain exactly these partition values, in this
    order.
    """
    found = directory.split("/") if directory else []
    if len(found) != len(names):
        return False
    for part, name, text in zip(found, names, texts, strict=True):
        key, equals, value = part.partition("=")
        if not equals or _unescaped(key) != name or _unescaped(value) != text:
            return False
    return True


def _texts(values: pa.Array[Any]) -> list[str | None]:
    """Returns the strings that Spark certainly parses to these values, if there are any.

    Timestamps depend on the zone of the session.
    """
    import pyarrow as pa

    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind) or pa.types.is_string(kind)):
        return [None] * len(values)
    texts: list[str | None] = values.cast(pa.string()).to_pylist()
    if pa.types.is_date32(kind):
        return [_NULL if text is None else text if _DATE.fullmatch(text) else None for text in texts]
    return [_NULL if text is None else None if text in ("", _NULL) else text for text in texts]


#: A date that every reader parses to the same value.
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _keys(values: pa.Array[Any]) -> list[Any]:
    """Returns keys that are equal only for equal values.

    The keys are numbers for values that Python cannot hold. They are bits for values if a
    comparison of these ignores a difference in spelling.
    """
    import pyarrow as pa

    kind = values.type
    if pa.types.is_date32(kind) or pa.types.is_float32(kind):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_float64(kind):
        values = values.view(pa.int64())
    return values.to_pylist()


def _unescaped(name: str) -> str:
    """Decodes Hive's escapes in the name of a directory: `%` and two hex digits for a character."""
    return re.sub("%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), name)
