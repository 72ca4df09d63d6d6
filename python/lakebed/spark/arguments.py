"""What callers give to the functions of this package: what makes no sense is refused by the name of the argument, before anything is done.

A value of another type is a ``TypeError``, as anywhere in Python; a value that means nothing is an ``InvalidInputError``.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from lakebed.errors import InvalidInputError
from lakebed.times import milliseconds

__all__ = ["check_frame", "check_session", "condition", "moment", "names", "size_bytes", "texts", "version", "word"]


def check_session(spark: Any) -> None:
    """Refuses what is no Spark session, classic or Connect."""
    if not hasattr(type(spark), "createDataFrame"):
        raise TypeError(f"spark takes a SparkSession, not a {type(spark).__name__}")


def check_frame(df: Any) -> None:
    """Refuses what is no data frame of Spark's whose rows are there."""
    if not hasattr(type(df), "mapInArrow"):
        own = hasattr(df, "to_spark")
        instead = "write df.to_spark()" if own else "lakebed.write takes pandas, polars and pyarrow"
        raise TypeError(f"df takes a data frame of Spark's, not a {type(df).__module__}.{type(df).__name__}: {instead}")
    if df.isStreaming:
        raise InvalidInputError(
            "df is a stream: use df.writeStream.format('lakebed'), or foreachBatch(lakebed.spark.foreach_batch(uri, app_id=...))"
        )


def word(name: str, value: Any, among: tuple[str, ...]) -> str:
    """One of some words, in any case."""
    if isinstance(value, str) and value.lower() in among:
        return value.lower()
    raise InvalidInputError(f"{name}={value!r}: it must be one of {', '.join(among)}")


def condition(value: Any) -> str | None:
    """A condition in SQL."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(
        f'where takes a condition as SQL text, such as "id > 5", not a {type(value).__name__}: lakebed plans with it before Spark sees '
        "any rows. A Column filters a data frame: df.where(...)"
    )


def names(name: str, value: Any) -> list[str] | None:
    """Names of columns, of which one may stand alone."""
    if value is None:
        return None
    found = [value] if isinstance(value, str) else list(value) if _is_list(value) else None
    wrong = value if found is None else next((one for one in found if not isinstance(one, str)), None)
    if found is None or wrong is not None:
        raise TypeError(f'{name} takes names of columns, such as ["id", "city"], not a {type(wrong).__name__}')
    if "" in found:
        raise InvalidInputError(f"{name}={value!r}: an empty text is no name of a column")
    return found


def version(value: Any) -> int | None:
    """A version of a table."""
    if value is None:
        return None
    number = _whole(value)
    if number is None:
        raise TypeError(f"version takes a whole number, not {value!r}")
    if not 0 <= number < 1 << 63:
        raise InvalidInputError(f"version={value!r}: versions count from 0")
    return number


def size_bytes(name: str, value: Any) -> int:
    """A size above zero."""
    number = _whole(value)
    if number is None:
        raise TypeError(f"{name} takes a whole number of bytes, not {value!r}")
    if number < 1:
        raise InvalidInputError(f"{name}={value!r}: a size above 0 is wanted")
    return number


def moment(name: str, value: Any) -> datetime | str | None:
    """A time with a zone."""
    if value is None:
        return None
    if not isinstance(value, (datetime, str)):
        raise TypeError(
            f"{name} takes a datetime with a zone, or a text such as 2026-03-01T12:00:00Z, not a {type(value).__name__}"
        )
    try:
        milliseconds(value)
    except ValueError:
        shown = value if isinstance(value, str) else value.isoformat()
        raise InvalidInputError(f"{name}={shown!r}: a time with a zone is wanted, such as 2026-03-01T12:00:00Z") from None
    return value


def texts(name: str, value: Any) -> dict[str, str]:
    """Texts by name."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} takes a dict of texts, not a {type(value).__name__}")
    wrong = next((key for key in value if not (isinstance(key, str) and isinstance(value[key], str))), None)
    if wrong is not None:
        raise TypeError(f"{name}: the value of {wrong} must be a text, not a {type(value[wrong]).__name__}")
    return dict(value)


def _is_list(value: Any) -> bool:
    """Whether something can be gone through. Spark's columns only seem so."""
    return isinstance(value, Iterable) and not hasattr(value, "isNotNull") and not isinstance(value, (bytes, Mapping))


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
