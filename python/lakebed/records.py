"""Converts columns and rows of Python's own values to Arrow tables. :mod:`lakebed.values` converts
the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from lakebed.adapters.pandas import is_pandas, series
from lakebed.errors import InvalidInputError
from lakebed.values import array_of, check_name, refuse_dtype, with_article

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_columns", "from_rows"]


def from_rows(rows: Iterable[Mapping[Any, Any]]) -> pa.Table:
    """Returns rows as a table. It has every column that any row has. If a row lacks a column, its
    value is null.
    """
    import pyarrow as pa

    rows = list(rows)
    names = dict.fromkeys(chain.from_iterable(rows))
    _check_names(names, "a row without columns")
    return pa.table({name: _column(name, [row.get(name) for row in rows], "row") for name in names})


def from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    """Returns columns by their names as a table."""
    import pyarrow as pa

    _check_names(columns, "a dictionary without columns")
    made = {}
    for name, values in columns.items():
        if (
            isinstance(values, (str, bytes, bytearray, memoryview, Mapping))
            or is_pandas(values, "DataFrame")
            or not (hasattr(values, "__len__") or isinstance(values, Iterable))
        ):
            raise InvalidInputError(
                f"column {name} is {with_article(values)}, not a list of values: for a single row pass a list of one dictionary"
            )
        made[name] = _column(name, values, "value")
    lengths = {name: len(column) for name, column in made.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidInputError(f"the columns of the data have different numbers of values: {told}")
    return pa.table(made)


def _check_names(names: Mapping[Any, Any], what: str) -> None:
    if not names:
        raise InvalidInputError(f"{what} is not data: pass at least one column, or an empty table with a schema")
    for name in names:
        check_name(name)


def _column(name: str, values: Any, what: str) -> Any:
    """Returns values as an Arrow array. ``what`` is the word for one value in messages."""
    import pyarrow as pa

    if is_pandas(values, "Series", "Index", "ExtensionArray"):
        return series(name, values, what)
    if isinstance(values, pa.Array):
        return values
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        refuse_dtype(name, getattr(values, "dtype", None))
        return pa.chunked_array(values)
    if not isinstance(values, Sequence) and not hasattr(values, "dtype"):
        values = list(values)
    return array_of(name, values, what)
