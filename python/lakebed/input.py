"""Converts a caller's data to Arrow: tables, frames, readers, rows, and iterators over batches of
any of these kinds.

Read :func:`stream`. :mod:`lakebed.records` converts dictionaries, and :mod:`lakebed.adapters`
converts frames. An exception of the caller's own code becomes the cause of an
:class:`InvalidInputError`. A ``KeyboardInterrupt``, and every other exception that is no
``Exception``, passes through unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from lakebed.adapters.pandas import arrow, is_pandas
from lakebed.adapters.polars import check_polars
from lakebed.errors import InvalidInputError, LakebedError
from lakebed.values import check_name, printable, shown, with_article

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_schema", "begins_anew", "stream"]

_T = TypeVar("_T")

#: Stands for the end of an iterator.
_END = object()


def arrow_schema(schema: Any, name: str = "schema") -> Any:
    """Returns the schema as an object with ``__arrow_c_schema__``. ``name`` is the argument's."""
    if hasattr(schema, "__arrow_c_schema__"):
        return schema
    import pyarrow as pa

    try:
        return pa.schema(schema)
    except Exception as error:
        wanted = "it must be a pyarrow.Schema, or a list of names and types"
        raise TypeError(f"{name}={shown(schema)}: {wanted} ({told(error)})") from error


def stream(data: Any) -> Any:
    """Returns the data as an object with ``__arrow_c_stream__``, or as an iterator over capsules,
    :class:`Batches`.
    """
    if _is_lazy(data):
        raise InvalidInputError("a lazy frame has no rows yet: call .collect() on it first")
    if _is_reader(data):
        # Python reads it, because C would lose the exceptions of the code that makes the batches.
        return Batches(data, data.schema)
    if isinstance(data, Mapping):
        from lakebed.records import from_columns

        return from_columns(data)
    if is_pandas(data) or hasattr(data, "__arrow_c_stream__"):
        return Whole(data)
    if hasattr(data, "__arrow_c_array__"):
        return Batches([data])
    if _is_of(data, "duckdb", "DuckDBPyConnection"):
        raise InvalidInputError(
            "a DuckDB connection is not data: pass a relation, such as connection.sql(...), or a result, such as connection.arrow()"
        )
    if _is_of(data, "pyarrow", "Dataset"):
        return stream(_tried("the data", data.scanner))
    if hasattr(data, "to_reader"):
        return stream(_tried("the data", data.to_reader))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, bytearray)):
        return _of_items(_tried("the data", lambda: iter(data)))
    raise InvalidInputError(
        f"{with_article(data)} is not Arrow data: pass a pyarrow table, a pandas or polars frame, a reader, a list of rows, ..."
    )


def begins_anew(data: Any) -> bool:
    """Returns whether the data can be read again from its beginning. Unknown kinds of data count as
    readable once.
    """
    if is_pandas(data):
        return True
    if isinstance(data, Mapping):
        return all(not hasattr(values, "__next__") for values in data.values())
    if isinstance(data, (list, tuple)):
        return all(begins_anew(item) for item in data)
    known = {
        "lakebed": "Rows Table",
        "polars": "DataFrame",
        "pyarrow": "Table RecordBatch Dataset Array",
        "duckdb": "DuckDBPyRelation",
    }
    return any(_is_of(data, package, name) for package, names in known.items() for name in names.split())


class Whole:
    """A table, a frame or a stream, as one stream."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return _tried("the data", lambda: _arrow(self._data).__arrow_c_stream__())


class Batches:
    """The batches of an iterator, as capsules."""

    def __init__(self, items: Iterable[Any], schema: pa.Schema | None = None) -> None:
        #: The schema of all batches, if it is known in advance.
        self.schema = schema
        self._items = iter(items)
        self._number = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._number += 1
        name = f"batch {self._number} of the data" if self._number > 1 else "the data"
        item = _tried(name, lambda: next(self._items, _END))
        if item is _END:
            raise StopIteration
        if not _is_batch(item):
            raise InvalidInputError(
                f"batch {self._number} of the data is {with_article(item)}: pass only batches (tables, frames), or only rows as dictionaries"
            )
        return _tried(name, lambda: _exported(item))


def _of_items(items: Iterator[Any]) -> Any:
    """Batches one by one, or rows as dictionaries."""
    first = _tried("the data", lambda: next(items, _END))
    if first is _END:
        raise InvalidInputError("there is no data, and so no schema: pass an empty table with a schema instead")
    if _is_batch(first):
        return Batches(_chained(first, items))
    if isinstance(first, Mapping):
        from lakebed.records import from_rows

        return from_rows(_numbered(first, items))
    raise InvalidInputError(
        f"the first item of the data is {with_article(first)}, neither a batch (a table, a frame) nor a row as a dictionary{_instead(first)}"
    )


def _chained(first: Any, items: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from items


def _numbered(first: Mapping[Any, Any], items: Iterator[Any]) -> Iterator[Mapping[Any, Any]]:
    """Returns the rows, each of which is a mapping."""
    yield first
    number = 2
    while (row := _tried(f"row {number} of the data", lambda: next(items, _END))) is not _END:
        if not isinstance(row, Mapping):
            raise InvalidInputError(f"row {number} of the data is {with_article(row)}, not a dictionary{_instead(row)}")
        yield row
        number += 1


def _instead(item: Any) -> str:
    """Returns the advice how to make a dictionary from an object that is similar to one."""
    if hasattr(item, "_asdict"):
        return ": call ._asdict() on it"
    if hasattr(item, "asDict"):
        return ": call .asDict() on it"
    if hasattr(item, "__dataclass_fields__"):
        return ": call dataclasses.asdict() on it"
    if hasattr(item, "model_dump"):
        return ": call .model_dump() on it"
    return ""


def _is_batch(data: Any) -> bool:
    return is_pandas(data) or hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__")


def _is_lazy(data: Any) -> bool:
    return hasattr(data, "collect") and hasattr(data, "collect_schema")


def _is_reader(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pyarrow" and hasattr(data, "read_next_batch") and hasattr(data, "schema")


def _is_of(data: Any, package: str, name: str) -> bool:
    """Returns whether the value is an instance of this class or of a subclass. The package is not
    imported.
    """
    kinds = (kind for kind in type(data).__mro__ if kind.__name__ == name)
    return any(kind.__module__.partition(".")[0].lstrip("_") == package for kind in kinds)


def _exported(item: Any) -> Any:
    """Returns a capsule with a stream, or one with a schema and one with an array."""
    item = _arrow(item)
    if hasattr(item, "__arrow_c_array__"):
        return item.__arrow_c_array__()
    return item.__arrow_c_stream__()


def _arrow(data: Any) -> Any:
    """Returns the data as an object of Arrow's interface."""
    if is_pandas(data):
        return arrow(data)
    if type(data).__module__.partition(".")[0] == "polars":
        check_polars(data)
    names = getattr(getattr(data, "schema", None), "names", None)
    for name in names if isinstance(names, list) else ():
        check_name(name)
    return data


def _tried(name: str, do: Callable[[], _T]) -> _T:
    """Calls a function of the caller. An exception becomes the cause of an error that names the
    place.
    """
    try:
        return do()
    except LakebedError:
        raise
    except BaseException as error:
        # A panic of another extension is not an Exception, but it is an error, too.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InvalidInputError(f"{name} could not be read: {told(error)}") from error


def told(error: BaseException) -> str:
    """Returns the class of an exception and its message, as one text."""
    said = " ".join(str(part) for part in error.args) if type(error).__module__.startswith("pyarrow") else str(error)
    return printable(f"{type(error).__name__}: {said}") if said else type(error).__name__
