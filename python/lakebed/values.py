"""Python's own values as Arrow arrays, without a change that nobody asked for.

pyarrow infers a type from all values of a column. Some values it changes without a word: dates beside times lose the times, times lose their zone
or their nanoseconds, text beside bytes becomes bytes, and pandas' NaT beside dates becomes the first of January of the year 1. Here such
values are refused, or they are converted in full. Read :func:`array`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from lakebed.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["array", "refuse_changed", "refuse_objects", "refuse_type", "said", "shown"]


def array(name: str, values: Sequence[Any], what: str) -> pa.Array[Any]:
    """The values of a column as an Arrow array. ``what`` is the word for one of them in messages."""
    import pyarrow as pa

    values = _cleaned_all(values)
    try:
        column: pa.Array[Any] = pa.array(values)
        if _is_finer_than_micros(values):
            column = pa.array(values, _in_nanoseconds(column.type))
    except Exception as error:
        place = _first_that_fails(values)
        raise InvalidInputError(
            f"column {name}, {what} {place + 1}: {shown(values[place])} is no value beside those before it: {said(error)}"
        ) from error
    refuse_changed(name, values, column.type)
    return column


def refuse_type(name: Any, data_type: Any) -> None:
    """Refuses a column of pandas of a type that Arrow lacks: a period would become the number of its units since 1970."""
    if type(data_type).__name__ in ("PeriodDtype", "IntervalDtype"):
        raise InvalidInputError(
            f"column {name} is of type {data_type}, which no table has: call .dt.to_timestamp() on a column of periods, or give the bounds of "
            "intervals as two columns"
        )
    if type(data_type).__name__ == "SparseDtype":
        raise InvalidInputError(f"column {name} is sparse, which no table is: call .sparse.to_dense() on it")


def refuse_objects(name: str, data_type: Any) -> None:
    """Refuses a column of polars that holds Python objects: their addresses would be written."""
    if str(data_type) == "Object":
        raise InvalidInputError(f"column {name} holds Python objects, which no table can: give it another type")


def refuse_changed(name: str, values: Iterable[Any], data_type: pa.DataType) -> None:
    """Refuses values that are not the same any more in an array of this type."""
    import pyarrow as pa

    kinds = pa.types
    if not _may_be_changed(data_type):
        return
    given = [value for value in values if not _is_missing(value)]
    if kinds.is_struct(data_type):
        for field in data_type:
            refuse_changed(
                f"{name}.{field.name}", (value.get(field.name) for value in given if isinstance(value, Mapping)), field.type
            )
    elif kinds.is_list(data_type) or kinds.is_large_list(data_type):
        refuse_changed(name, chain.from_iterable(given), data_type.value_type)
    else:
        _refuse_mixed(name, given)
        if data_type in (pa.timestamp("us", getattr(data_type, "tz", None)), pa.duration("us")):
            finer = next((value for value in given if _nanoseconds(value)), None)
            if finer is not None:
                raise InvalidInputError(
                    f"column {name} has {shown(finer)}, whose nanoseconds no column can hold: give it with microseconds, as .floor('us') does"
                )


def shown(value: Any) -> str:
    """A value in messages."""
    text = _printable(repr(value))
    return text if len(text) <= 80 else f"{text[:77]}..."


def said(error: BaseException) -> str:
    """What an exception says."""
    return _printable(" ".join(str(part) for part in error.args))


def _refuse_mixed(name: str, given: list[Any]) -> None:
    found = {_kind(value): value for value in reversed(given)}
    if len(found) > 1:
        (one, first), (other, second) = sorted(found.items())[:2]
        raise InvalidInputError(
            f"column {name} has {one} ({shown(first)}) beside {other} ({shown(second)}): give all its values as one of them"
        )


def _may_be_changed(data_type: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_struct(data_type):
        return any(_may_be_changed(field.type) for field in data_type)
    if kinds.is_list(data_type) or kinds.is_large_list(data_type):
        return _may_be_changed(data_type.value_type)
    return any(of(data_type) for of in (kinds.is_date, kinds.is_timestamp, kinds.is_duration, kinds.is_binary))


def _kind(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return "times without a zone" if value.tzinfo is None else "times with a zone"
    if isinstance(value, datetime.date):
        return "dates"
    if isinstance(value, str):
        return "texts"
    return "bytes" if isinstance(value, (bytes, bytearray, memoryview)) else "others"


def _cleaned_all(values: Sequence[Any]) -> Sequence[Any]:
    """The values, with None for what is missing. Values that need no look are not copied."""
    if not any(_is_of(kind, "pandas", "numpy") or issubclass(kind, (Mapping, list, tuple)) for kind in set(map(type, values))):
        return values
    return [_cleaned(value) for value in values]


def _cleaned(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(inner) for inner in value]
    if _is_missing(value):
        return None
    # pyarrow takes no days of numpy.
    return value.astype("datetime64[D]").item() if _unit(value) in ("Y", "M", "W", "D") else value


def _is_missing(value: Any) -> bool:
    """Whether a value stands for null: None, and NaT and NA of pandas and numpy. NaN is a number."""
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return True
    return _is_of(type(value), "numpy") and type(value).__name__ in ("datetime64", "timedelta64") and bool(value != value)


def _unit(value: Any) -> str:
    """The unit of a moment of numpy; empty for everything else."""
    if type(value).__name__ != "datetime64" or not _is_of(type(value), "numpy"):
        return ""
    import numpy as np

    return str(np.datetime_data(value)[0])


def _is_of(kind: type, *packages: str) -> bool:
    return kind.__module__.partition(".")[0] in packages


def _nanoseconds(value: Any) -> int:
    """What a moment or a duration of pandas has below its microseconds."""
    name = {"Timestamp": "nanosecond", "Timedelta": "nanoseconds"}.get(type(value).__name__)
    return getattr(value, name, 0) if name is not None and _is_of(type(value), "pandas") else 0


def _is_finer_than_micros(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    return any(_is_of(kind, "pandas") for kind in kinds) and any(map(_nanoseconds, values))


def _in_nanoseconds(data_type: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return pa.timestamp("ns", data_type.tz) if pa.types.is_timestamp(data_type) else pa.duration("ns")


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


def _printable(text: str) -> str:
    """The text, with escapes for what cannot be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()
