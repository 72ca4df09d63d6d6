"""Columns and rows of Python's own values as Arrow tables.

Types are inferred by pyarrow from all values of a column. Where values of several kinds stand side by side, and pyarrow would make one kind of
them that loses what the other says, they are refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from lakebed.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_columns", "from_rows"]


def from_rows(rows: Iterable[Mapping[Any, Any]]) -> pa.Table:
    """Rows as a table. It has every column that any row has, null where a row lacks it."""
    import pyarrow as pa

    rows = list(rows)
    names = dict.fromkeys(chain.from_iterable(rows))
    _check_names(names, "a row without columns")
    return pa.table({name: _column(name, [row.get(name) for row in rows], "row") for name in names})


def from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    """Columns by their names as a table."""
    import pyarrow as pa

    _check_names(columns, "a dictionary without columns")
    made = {}
    for name, values in columns.items():
        if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") or isinstance(values, Iterable)):
            raise InvalidInputError(
                f"column {name} is a {type(values).__name__}, not a list of values: for a single row give a list of one dictionary"
            )
        made[name] = _column(name, values, "value")
    lengths = {name: len(column) for name, column in made.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidInputError(f"the columns of the data have different numbers of values: {told}")
    return pa.table(made)


def _check_names(names: Mapping[Any, Any], what: str) -> None:
    if not names:
        raise InvalidInputError(f"{what} is no data: give at least one column, or an empty table with a schema")
    for name in names:
        if not isinstance(name, str):
            raise InvalidInputError(f"{name!r} is no name of a column: it is a {type(name).__name__}, not a text")


def _column(name: str, values: Any, what: str) -> Any:
    """Values as an Arrow array; ``what`` is how one of them is called in messages."""
    import pyarrow as pa

    if (
        isinstance(values, (pa.Array, pa.ChunkedArray))
        or hasattr(values, "__arrow_c_stream__")
        or hasattr(values, "__arrow_c_array__")
    ):
        return pa.chunked_array(values) if not isinstance(values, pa.Array) else values
    if not isinstance(values, Sequence) and not hasattr(values, "dtype"):
        values = list(values)
    try:
        column = pa.array(values)
    except Exception as error:
        place = _first_that_fails(values)
        said = " ".join(str(part) for part in error.args)
        raise InvalidInputError(
            f"column {name}, {what} {place + 1}: {_shown(values[place])} is no value beside those before it: {said}"
        ) from error
    if isinstance(values, Sequence):
        _refuse_mixed(name, values, column.type)
    return column


def _first_that_fails(values: Sequence[Any]) -> int:
    """The place of the first value with which pyarrow cannot make an array of those up to it."""
    import pyarrow as pa

    good, bad = 0, len(values)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            pa.array(values[:middle])
            good = middle
        except Exception:
            bad = middle
    return bad - 1


def _refuse_mixed(name: str, values: Iterable[Any], data_type: pa.DataType) -> None:
    """Of dates beside times, of times with and without a zone, and of texts beside bytes pyarrow makes one kind, without a word."""
    import pyarrow as pa

    kinds = pa.types
    if not _may_be_mixed(data_type):
        return
    given = [value for value in values if value is not None and type(value).__name__ != "NaTType"]
    if kinds.is_struct(data_type):
        fields = {field.name: field.type for field in data_type}
        for field, inner in fields.items():
            _refuse_mixed(f"{name}.{field}", (value.get(field) for value in given if isinstance(value, Mapping)), inner)
    elif kinds.is_list(data_type) or kinds.is_large_list(data_type):
        if _may_be_mixed(data_type.value_type):
            _refuse_mixed(name, chain.from_iterable(given), data_type.value_type)
    else:
        found = {_kind(value): value for value in reversed(given)}
        if len(found) > 1:
            (one, first), (other, second) = sorted(found.items())[:2]
            raise InvalidInputError(
                f"column {name} has {one} ({_shown(first)}) beside {other} ({_shown(second)}): give all its values as one of them"
            )


def _may_be_mixed(data_type: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = pa.types
    return any(
        of(data_type)
        for of in (kinds.is_date, kinds.is_timestamp, kinds.is_binary, kinds.is_struct, kinds.is_list, kinds.is_large_list)
    )


def _kind(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return "times without a zone" if value.tzinfo is None else "times with a zone"
    if isinstance(value, datetime.date):
        return "dates"
    if isinstance(value, str):
        return "texts"
    return "bytes" if isinstance(value, (bytes, bytearray, memoryview)) else "others"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
