"""Spark's data frames in the form in which the corpus stores rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from corpus import canon


def rows(frame: Any) -> list[str]:
    """Returns the rows as `canon.rows`. pyarrow has no type for intervals of months, so they become
    numbers.
    """
    return canon.rows(pa.Table.from_batches(_batches(frame.select(*[_shown(field) for field in frame.schema.fields]))))


def _shown(field: Any) -> Any:
    from pyspark.sql import functions as F
    from pyspark.sql.types import YearMonthIntervalType

    column = F.col(quoted(field.name))
    if isinstance(field.dataType, YearMonthIntervalType):
        column = column.cast(YearMonthIntervalType(1, 1)).cast("int").alias(field.name)
    return column


def _batches(frame: Any) -> list[Any]:
    """Returns the Arrow batches as Spark sends them. `toArrow` casts them, which fails for nulls in
    structs with required fields.
    """
    found: list[Any] = frame._collect_as_arrow(empty_list_if_zero_records=False)
    return found


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def lost_and_gained(found: list[str], expected: list[str]) -> str:
    """Returns how two sorted lists of rows differ, or an empty text if they do not."""
    from collections import Counter

    if found == expected:
        return ""
    lost, gained = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    return f"{len(found)} rows, expected {len(expected)}; lost {sorted(lost)[:3]}; gained {sorted(gained)[:3]}"
