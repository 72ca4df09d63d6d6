"""Converts Python's own values to an Arrow array. This is the only module that infers types.

Read :func:`array_of`. pyarrow infers the type from all values. If a column mixes values of several
kinds, and pyarrow would convert them to one kind with a loss, they are refused. If pyarrow would
cut off nanoseconds, the type becomes one that has them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from lakebed.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["array_of", "check_name", "printable", "refuse_dtype", "shown", "with_article"]


#: Sets of types that pyarrow converts without a loss if a column has no other types.
_ALIKE: list[set[type]] = [{datetime.date}, {datetime.timedelta}, {bytes}]

#: Polars types that no table can have.
_OF_POLARS = {"Object": "Python objects", "Int128": "numbers of 128 bits", "UInt128": "numbers of 128 bits"}


def array_of(name: str, values: Any, what: str, *, nan_is_null: bool = False) -> Any:
    """Returns the values of a column as an array. ``what`` is the word for one value in messages."""
    import pyarrow as pa

    try:
        given, column = _inferred(name, values, what, nan_is_null)
        data_type = _exact(name, given, column.type)
    except RecursionError:
        raise InvalidInputError(f"column {name} has lists or dictionaries that are nested too deep") from None
    if data_type == column.type:
        return column
    try:
        return pa.array(given, type=data_type, from_pandas=nan_is_null)
    except Exception as error:
        raise InvalidInputError(
            f"column {name} has nanoseconds, and also values that are too far from 1970 for nanoseconds: round the former or leave out the latter"
        ) from error


def _inferred(name: str, values: Any, what: str, nan_is_null: bool) -> tuple[Any, Any]:
    """Returns the array of the values, and the values, converted if pyarrow does not take them as
    they are.
    """
    import pyarrow as pa

    try:
        column = pa.array(values, from_pandas=nan_is_null)
        if not (_may_lose(column.type) and _has_pandas(values)):
            return values, column
    except RecursionError:
        raise
    except Exception:
        if (dimensions := getattr(values, "ndim", 1)) != 1:
            raise InvalidInputError(f"column {name} has {dimensions} dimensions, but a column must have one") from None
    # The values may include NaT. Beside dates, pyarrow converts it to the first day of the
    # calendar.
    given = [_plain(name, value) for value in values]
    return given, _tried(name, given, what, nan_is_null)


def check_name(name: Any, of: str = "column") -> None:
    """Refuses a value that cannot be a column's or a field's name. In Arrow's interface, names end
    at a NUL.
    """
    why = ""
    if not isinstance(name, str):
        why = f"it is {with_article(name)}, not a string"
    elif printable(name) != name:
        why = "it contains half of a surrogate pair, which is not a character"
    elif "\0" in name:
        why = "it contains a NUL character"
    if why:
        raise InvalidInputError(f"{shown(name)} cannot be the name of a {of}: {why}")


def refuse_dtype(name: str, dtype: Any) -> None:
    """Refuses types that Arrow would take for something else.

    Arrow converts a period of pandas to a number of its units since 1970. Polars passes the
    addresses of its Python objects.
    """
    if type(dtype).__name__ in ("PeriodDtype", "IntervalDtype"):
        raise InvalidInputError(
            f"column {name} is of type {dtype}, which a table cannot have: call .dt.to_timestamp() on a column of periods, or pass "
            "the bounds of intervals as two columns"
        )
    if type(dtype).__module__.partition(".")[0] == "polars" and (found := _unknown(dtype)):
        raise InvalidInputError(f"column {name} holds {_OF_POLARS[found]}, which a table cannot: convert it to another type")


def shown(value: Any) -> str:
    """Returns a value in a message: short, and of characters that every output can print."""
    text = printable(repr(value))
    return text if len(text) <= 80 else f"{text[:77]}..."


def printable(text: str) -> str:
    """Returns the text with escapes instead of halves of surrogate pairs, which no encoding has."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def with_article(value: Any) -> str:
    """Returns the type of a value with its article: "an int", "a DataFrame", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def _tried(name: str, values: Sequence[Any], what: str, nan_is_null: bool) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=nan_is_null)
    except Exception as error:
        place = _first_that_fails(values, nan_is_null)
        said = printable(" ".join(str(part) for part in error.args))
        if isinstance(error, UnicodeEncodeError):
            said = f"{error.reason}: position {error.start} is half of a surrogate pair, which is not a character"
        told = f"column {name}, {what} {place + 1}: {shown(values[place])} does not fit the values before it: {said}"
        raise InvalidInputError(told) from error


def _first_that_fails(values: Sequence[Any], nan_is_null: bool) -> int:
    """Returns the position of the first value with which pyarrow fails."""
    import pyarrow as pa

    good, bad = 0, len(values)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            pa.array(values[:middle], from_pandas=nan_is_null)
            good = middle
        except Exception:
            bad = middle
    return bad - 1


def _plain(name: str, value: Any) -> Any:
    """Returns the value, and the values in it, in forms that pyarrow takes outside of frames.

    NaT and NA of pandas, numpy's dates and times, and series are converted.
    """
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    if _is_missing(value):
        return None
    if isinstance(value, Mapping):
        return {key: _plain(name, inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(name, inner) for inner in value]
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "numpy" and kind in ("datetime64", "timedelta64"):
        return _of_numpy(value)
    if module in ("numpy", "pandas", "polars") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 1:
        refuse_dtype(name, value.dtype)
        return [_plain(name, inner) for inner in value]
    return value


def _has_pandas(values: Any) -> bool:
    """Returns whether pandas values may be among these values or in them."""
    if getattr(getattr(values, "dtype", None), "kind", "O") != "O":
        return False
    return any(
        kind.__module__.partition(".")[0] == "pandas" or issubclass(kind, (Mapping, list, tuple))
        for kind in set(map(type, values))
    )


def _of_numpy(value: Any) -> Any:
    """Returns a numpy date, time or duration as Python's, or as pandas' if it has finer digits."""
    import numpy as np

    unit = np.datetime_data(value.dtype)[0]
    if unit in ("ns", "ps", "fs", "as"):
        import pandas as pd

        return pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    found = value.item()
    # numpy returns a number for years and months, which have no fixed length, and for times outside
    # of Python's calendar.
    return value if isinstance(found, int) else found


def _exact(name: str, values: Iterable[Any], data_type: pa.DataType) -> pa.DataType:
    """Returns the type that holds all values without a loss. ``data_type`` is the type that pyarrow
    inferred.
    """
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(data_type):
        categories = getattr(getattr(values, "cat", values), "categories", ())
        wanted = _exact(name, categories, data_type.value_type)
        return data_type if wanted == data_type.value_type else wanted
    if not _may_lose(data_type) or getattr(getattr(values, "dtype", None), "kind", "O") != "O":
        return data_type
    values = list(values)
    if set(map(type, values)) - {type(None)} in _ALIKE:
        return data_type
    given = [value for value in values if not (value is None or _is_missing(value) or _is_nan(value))]
    if kinds.is_struct(data_type):
        return _exact_struct(name, given, data_type)
    if kinds.is_list(data_type):
        for value in given:
            refuse_dtype(name, getattr(value, "dtype", None))
        inner = _exact(name, chain.from_iterable(given), data_type.value_type) if _may_lose(data_type.value_type) else None
        return data_type if inner in (None, data_type.value_type) else pa.list_(inner)
    _refuse_mixed(name, given)
    if kinds.is_timestamp(data_type) and data_type.unit != "ns" and any(_has_nanoseconds(value) for value in given):
        return pa.timestamp("ns", data_type.tz)
    if kinds.is_duration(data_type) and data_type.unit != "ns" and any(_has_nanoseconds(value) for value in given):
        return pa.duration("ns")
    return data_type


def _exact_struct(name: str, given: Sequence[Any], data_type: pa.StructType) -> pa.DataType:
    import pyarrow as pa

    given = [value for value in given if isinstance(value, Mapping)]
    for key in dict.fromkeys(chain.from_iterable(given)):
        check_name(key, f"field of column {name}")
    fields = [
        field.with_type(_exact(f"{name}.{field.name}", (value.get(field.name) for value in given), field.type))
        for field in data_type
    ]
    return pa.struct(fields)


def _refuse_mixed(name: str, given: Sequence[Any]) -> None:
    """Refuses mixes that pyarrow would silently convert to one type: dates and times, times with
    and without zone, text and bytes.
    """
    found = {_kind(value): value for value in reversed(given)}
    if len(found) > 1:
        (one, first), (other, second) = sorted(found.items())[:2]
        raise InvalidInputError(
            f"column {name} mixes {one} ({shown(first)}) and {other} ({shown(second)}): convert all its values to one of them"
        )


def _may_lose(data_type: pa.DataType) -> bool:
    """Returns whether pyarrow may have made values of this type from values of other types with a
    loss.
    """
    import pyarrow as pa

    kinds = pa.types
    may = (kinds.is_date, kinds.is_timestamp, kinds.is_duration, kinds.is_binary, kinds.is_struct, kinds.is_list)
    return any(of(data_type) for of in may)


def _kind(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return "datetimes without a zone" if value.tzinfo is None else "datetimes with a zone"
    if isinstance(value, datetime.date):
        return "dates"
    if isinstance(value, str):
        return "strings"
    return "bytes" if isinstance(value, (bytes, bytearray, memoryview)) else "others"


def _is_missing(value: Any) -> bool:
    """Returns whether this is one of the missing values of pandas and numpy."""
    kind = type(value).__name__
    return kind in ("NaTType", "NAType") or (kind in ("datetime64", "timedelta64") and bool(value != value))


def _is_nan(value: Any) -> bool:
    return type(value).__name__.startswith("float") and bool(value != value)


def _has_nanoseconds(value: Any) -> bool:
    return bool(getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0))


def _unknown(dtype: Any) -> str:
    """Returns the Polars type that no table can have, either this one or one nested in it. An empty
    string if there is none.
    """
    inner = [getattr(dtype, "inner", None), *(field.dtype for field in getattr(dtype, "fields", ()))]
    return (
        str(dtype)
        if str(dtype) in _OF_POLARS
        else next((found for one in inner if one is not None and (found := _unknown(one))), "")
    )
