"""What a caller hands over, as a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_schema(schema: Any) -> Any:
    if hasattr(schema, "__arrow_c_schema__"):
        return schema
    import pyarrow as pa

    return pa.schema(schema)


def stream(data: Any) -> Any:
    """The data as an object with ``__arrow_c_stream__``."""
    if _is_pandas(data):
        return _from_pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        return data
    import pyarrow as pa

    if hasattr(data, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(data)])
    if hasattr(data, "to_reader"):
        return data.to_reader()
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):
        raise TypeError("a lazy frame has no rows yet: call .collect() on it first")
    if isinstance(data, Mapping):
        return pa.table(dict(data))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _from_batches(iter(data))
    raise TypeError(f"a {type(data).__name__} is no Arrow data: give a pyarrow table, a pandas or polars frame, a reader, ...")


def _from_batches(batches: Iterator[Any]) -> Any:
    """Record batches one by one, or rows as dictionaries."""
    import pyarrow as pa

    first = next(batches, None)
    if first is None:
        raise ValueError("there is no data, and so no schema: give an empty table with a schema instead")
    if isinstance(first, Mapping):
        return pa.Table.from_pylist([dict(first), *(dict(row) for row in batches)])
    start = pa.record_batch(first)

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield start
        for batch in batches:
            yield pa.record_batch(batch)

    return pa.RecordBatchReader.from_batches(start.schema, all_batches())


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "reset_index")


def _from_pandas(frame: Any) -> Any:
    """A pandas frame: a named index is a column, an unnamed one only numbers rows."""
    import pyarrow as pa

    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return pa.Table.from_pandas(frame, preserve_index=False)
