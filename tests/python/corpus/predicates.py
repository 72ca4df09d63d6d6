"""Derives predicates from the columns of a table and their values, so that every case tests
skipping.

The predicates test the operations that skipping can get wrong: equality, ranges at existing values,
IN, LIKE, nulls and negation. Literals are written in forms with an unambiguous type. Start with
`derive`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from corpus import canon

_MOST = 16
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def derive(table: pa.Table) -> list[str]:
    """Returns at most `_MOST` predicates on the columns of the table: first one column after the
    other in turn, then combinations.
    """
    by_column = [list(_column(name, array)) for name, array in _leaves(table)]
    turns = [found[turn] for turn in range(8) for found in by_column if turn < len(found)]
    picked = turns[: _MOST - 3]
    if len(picked) >= 2:
        first, last = picked[0], picked[-1]
        picked += [f"({first}) AND NOT ({last})", f"({first}) OR ({last})", f"NOT (({first}) AND ({last}))"]
    return picked


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _leaves(table: pa.Table) -> Iterator[tuple[str, Any]]:
    """Returns columns and fields of structs with their SQL names."""
    for name in table.column_names:
        array = table.column(name).combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, array.type)
        yield quoted(name), array
        if pa.types.is_struct(array.type) and not canon.is_variant(array.type):
            for i, child in enumerate(array.flatten()):
                yield f"{quoted(name)}.{quoted(array.type.field(i).name)}", child


def _column(name: str, array: Any) -> Iterator[str]:
    kind = array.type
    low, middle, high = _picks(array)
    if middle is not None:
        yield f"{name} = {middle}"
        if canon.is_string(kind):
            yield from _like(name, array)
        yield f"{name} > {middle}"
        yield f"{name} <= {low}"
        yield f"{name} IS NULL"
        yield f"{name} IN ({low}, {high})"
        yield f"NOT ({name} < {high})"
        yield f"{name} <=> {middle}"
        yield f"{name} BETWEEN {low} AND {middle}"
    elif pa.types.is_boolean(kind):
        yield from (name, f"{name} IS NULL", f"NOT {name}", f"{name} = true", f"{name} IS NOT TRUE")
    else:
        yield from (f"{name} IS NULL", f"{name} IS NOT NULL")
        if canon.is_list(kind) or pa.types.is_map(kind):
            yield f"size({name}) > 1"


def _like(name: str, array: Any) -> Iterator[str]:
    prefixes = sorted({value[:2] for value in array.to_pylist() if value and value[:2].isalnum()})
    if prefixes:
        yield f"{name} LIKE '{prefixes[len(prefixes) // 2]}%'"


def _picks(array: Any) -> tuple[str | None, str | None, str | None]:
    """Returns the literals of the least, the middle and the greatest value that has a literal."""
    literals = [(value, text) for value in _sorted(array) if (text := _literal(value, array.type)) is not None]
    if not literals:
        return None, None, None
    return literals[0][1], literals[len(literals) // 2][1], literals[-1][1]


def _sorted(array: Any) -> list[Any]:
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        array = array.view(pa.int64())
    elif pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_duration(kind):
        return []
    present = {value for value in array.to_pylist() if value is not None}
    return sorted(present, key=lambda value: (isinstance(value, float) and math.isnan(value), value))


def _literal(value: Any, kind: pa.DataType) -> str | None:
    """Returns the value as SQL, or None if not every dialect has a plain literal for it (quotes,
    years outside of 1 to 9999, NaN).
    """
    if canon.is_string(kind):
        plain = value.isprintable() and "'" not in value and "\\" not in value and len(value) < 60
        return f"'{value}'" if plain else None
    if canon.is_binary(kind):
        return f"X'{value.hex()}'"
    if pa.types.is_decimal(kind):
        return f"CAST('{Decimal(value):f}' AS DECIMAL({kind.precision},{kind.scale}))"
    if pa.types.is_floating(kind):
        name = "FLOAT" if pa.types.is_float32(kind) else "DOUBLE"
        return f"CAST('{value!r}' AS {name})" if math.isfinite(value) else None
    if pa.types.is_date32(kind):
        return _date(value)
    if pa.types.is_timestamp(kind):
        return _timestamp(value, "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ")
    if pa.types.is_int64(kind):
        return f"CAST('{value}' AS BIGINT)" if abs(value) >= 2**63 - 1 else str(value)
    return str(value)


def _date(days: int) -> str | None:
    try:
        return f"DATE '{(_EPOCH + dt.timedelta(days=days)).date().isoformat()}'"
    except OverflowError:
        return None


def _timestamp(micros: int, keyword: str) -> str | None:
    try:
        return f"{keyword} '{(_EPOCH + micros * _MICROSECOND).isoformat(' ', 'microseconds')}'"
    except OverflowError:
        return None
