"""Reads rows, as deltalake does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import lakebed
from lakebed.deltalake.exceptions import translated
from lakebed.deltalake.filters import pruning, superset

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["changes", "rows", "table"]

#: The columns of the change data feed about a change.
_FACTS = ("_change_type", "_commit_version", "_commit_timestamp")


def rows(opened: lakebed.Table, columns: list[str] | None, where: str | None) -> pa.RecordBatchReader:
    """Returns a reader of the rows for which an SQL predicate is true."""
    return _selected(opened.scan(columns, where=where).to_reader(), None)


def table(opened: lakebed.Table, columns: list[str] | None, partitions: Any, filters: Any) -> pa.Table:
    """Returns the rows of some partitions for which a filter of pyarrow is true.

    lakebed skips files by those parts of the filter that mean the same in SQL. pyarrow then decides
    about each row, while it reads.
    """
    import pyarrow.dataset as ds
    from pyarrow.parquet import filters_to_expression

    chosen = pruning(partitions, opened.schema.names)
    if filters is None:
        return opened.to_arrow(columns, where=chosen)
    limits = [f"({one})" for one in (chosen, superset(filters)) if one is not None]
    reader = opened.to_reader(where=" AND ".join(limits) or None)
    return ds.Scanner.from_batches(reader, columns=columns, filter=filters_to_expression(filters)).to_table()


def changes(
    opened: lakebed.Table,
    start: int | datetime,
    end: int | datetime | None,
    columns: list[str] | None,
    where: str | None,
    allow_out_of_range: bool,
) -> pa.RecordBatchReader:
    """Returns a reader of the change data feed. If nothing is in range, it may be empty."""
    import pyarrow as pa

    own = None if columns is None else [name for name in columns if name not in _FACTS]
    try:
        found = opened.changes(start, end, columns=own, where=where)
    except lakebed.VersionNotFoundError:
        if not allow_out_of_range:
            raise
        fields: list[Any] = [field for field in opened.schema if own is None or field.name in own]
        empty = pa.schema(
            [*fields, ("_change_type", pa.string()), ("_commit_version", pa.int64()), ("_commit_timestamp", _time())]
        )
        return _selected(pa.RecordBatchReader.from_batches(empty, []), columns)
    return _selected(found.to_reader(), columns)


def _of_deltalake(field: Any) -> Any:
    """Returns a column about a change, with deltalake's type."""
    return (field.with_type(_time()) if field.name == "_commit_timestamp" else field).with_nullable(True)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [batch.column(name).cast(kind) for name, kind in zip(schema.names, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _time() -> Any:
    """Returns the type of deltalake for the time of a commit, which is in UTC."""
    import pyarrow as pa

    return pa.timestamp("ms")


def _selected(reader: Any, columns: list[str] | None) -> pa.RecordBatchReader:
    """Returns a reader of these columns, with the commits' times in deltalake's type.

    The errors that reading raises are those of the door, too.
    """
    import pyarrow as pa

    names = reader.schema.names if columns is None else columns
    fields: list[Any] = [reader.schema.field(name) for name in names]
    schema = pa.schema([_of_deltalake(field) if field.name in _FACTS else field for field in fields])

    def batches() -> Iterator[pa.RecordBatch]:
        with translated():
            for batch in reader:
                yield batch if schema == batch.schema else _cast(batch, schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
