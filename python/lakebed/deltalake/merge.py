"""Merges, in the words of deltalake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from lakebed.deltalake import metrics, unsupported
from lakebed.deltalake.dialect import column, expressions, sql
from lakebed.deltalake.exceptions import translated
from lakebed.deltalake.lenient import try_casts

if TYPE_CHECKING:
    from lakebed.deltalake.table import DeltaTable

__all__ = ["TableMerger"]


class TableMerger:
    """A merge of source rows into a table. :meth:`DeltaTable.merge` makes this object."""

    def __init__(
        self,
        table: DeltaTable,
        source: Any,
        predicate: str,
        source_alias: str | None,
        target_alias: str | None,
        merge_schema: bool,
        is_lenient: bool,
        options: Mapping[str, Any],
    ) -> None:
        self._table = table
        self._source_alias = source_alias or "source"
        source = _reader(source)
        known = table._opened.schema.names
        # A column that only the source has is left out, unless the schema may change.
        self._columns: list[str] = [name for name in source.schema.names if merge_schema or name in known]
        self._takes_all = merge_schema
        self._is_lenient = is_lenient
        if merge_schema and is_lenient:
            why = "the type of a new column is not known before the merge: add the column first, or leave one of the two out"
            unsupported.refused("merge with merge_schema=True", why, error_on_type_mismatch=False)
        merge = table._opened.merge
        self._merge = merge(
            source,
            sql(predicate),
            source_alias=self._source_alias,
            target_alias=target_alias or "target",
            schema_mode="merge" if merge_schema else "enforce",
            **unsupported.supported(merge, options),
        )

    @translated()
    def when_matched_update(self, updates: dict[str, str], predicate: str | None = None) -> TableMerger:
        """Updates matched rows of the table by SQL expressions."""
        self._merge.when_matched_update(self._assigned(expressions(updates)), where=sql(predicate))
        return self

    @translated()
    def when_matched_update_all(self, predicate: str | None = None, except_cols: list[str] | None = None) -> TableMerger:
        """Updates matched rows of the table with all columns of the source."""
        self._merge.when_matched_update(self._all(except_cols), where=sql(predicate))
        return self

    @translated()
    def when_matched_delete(self, predicate: str | None = None) -> TableMerger:
        """Deletes matched rows of the table."""
        self._merge.when_matched_delete(where=sql(predicate))
        return self

    @translated()
    def when_not_matched_insert(self, updates: dict[str, str], predicate: str | None = None) -> TableMerger:
        """Inserts source rows that match no row of the table, by SQL expressions."""
        self._merge.when_not_matched_insert(self._assigned(expressions(updates)), where=sql(predicate))
        return self

    @translated()
    def when_not_matched_insert_all(self, predicate: str | None = None, except_cols: list[str] | None = None) -> TableMerger:
        """Inserts source rows that match no row of the table, with all of their columns."""
        self._merge.when_not_matched_insert(self._all(except_cols), where=sql(predicate))
        return self

    @translated()
    def when_not_matched_by_source_update(self, updates: dict[str, str], predicate: str | None = None) -> TableMerger:
        """Updates rows of the table that match no source row, by SQL expressions."""
        self._merge.when_not_matched_by_source_update(self._assigned(expressions(updates)), where=sql(predicate))
        return self

    @translated()
    def when_not_matched_by_source_delete(self, predicate: str | None = None) -> TableMerger:
        """Deletes rows of the table that match no source row."""
        self._merge.when_not_matched_by_source_delete(where=sql(predicate))
        return self

    @translated()
    def execute(self) -> dict[str, Any]:
        """Merges the rows and commits."""
        result, milliseconds = metrics.timed(self._merge.execute)
        self._table._opened = result.table
        return metrics.merged(result.metrics, milliseconds)

    def _all(self, except_cols: list[str] | None) -> dict[str, str] | Literal["all"]:
        """Returns the columns of the source, each set to itself. In ``"all"``, lakebed adds those
        that the table does not have.
        """
        if self._takes_all and not except_cols:
            return "all"
        left_out = except_cols or []
        source = column(self._source_alias)
        return self._assigned({column(name): f"{source}.{column(name)}" for name in self._columns if name not in left_out})

    def _assigned(self, values: dict[str, str]) -> dict[str, str]:
        return try_casts(values, self._table.schema()) if self._is_lenient else values


def _reader(source: Any) -> Any:
    """Returns a reader of Arrow data, whose schema is known before it is read."""
    import pyarrow as pa

    if hasattr(source, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(source)
    if hasattr(source, "__arrow_c_array__"):
        batch: Any = pa.record_batch(source)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    raise TypeError(f"source is of type {type(source).__name__}: it must be Arrow data, such as a pyarrow table or a data frame")
