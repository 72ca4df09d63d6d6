"""Reads rows, as deltalake does."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import lakebed
from lakebed.deltalake.filters import pruning, superset

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["changes", "table"]


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

    try:
        return opened.changes(start, end, columns=columns, where=where).to_reader()
    except lakebed.VersionNotFoundError:
        if not allow_out_of_range:
            raise
    facts = [("_change_type", pa.string()), ("_commit_version", pa.int64()), ("_commit_timestamp", pa.timestamp("us", "UTC"))]
    fields = [field for field in opened.schema if columns is None or field.name in columns]
    schema = pa.schema([*fields, *(pa.field(name, kind) for name, kind in facts)])
    return pa.RecordBatchReader.from_batches(schema, [])
