"""Spark's data frames in the form in which the corpus keeps rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from corpus import canon


def rows(frame: Any) -> list[str]:
    """The rows as `canon.rows`. Intervals of months, which pyarrow does not have, are shown by their number."""
    return canon.rows(pa.Table.from_batches(_batches(frame.select(*[_shown(field) for field in frame.schema.fields]))))


def _shown(field: Any) -> Any:
    from pyspark.sql import functions as F
    from pyspark.sql.types import YearMonthIntervalType

    column = F.col(quoted(field.name))
    if isinstance(field.dataType, YearMonthIntervalType):
        column = column.cast(YearMonthIntervalType(1, 1)).cast("int").alias(field.name)
    return column


def _batches(frame: Any) -> list[Any]:
    """As Spark sends them: `toArrow` casts, which fails for nulls in structs with required fields."""
    found: list[Any] = frame._collect_as_arrow(empty_list_if_zero_records=False)
    return found


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def lost_and_gained(found: list[str], expected: list[str]) -> str:
    """How two sorted lists of rows differ, empty if they do not."""
    from collections import Counter

    if found == expected:
        return ""
    lost, gained = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    return f"{len(found)} rows, expected {len(expected)}; lost {sorted(lost)[:3]}; gained {sorted(gained)[:3]}"
