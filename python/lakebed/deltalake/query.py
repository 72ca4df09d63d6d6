"""Queries in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.deltalake.exceptions import UnsupportedFeatureError

if TYPE_CHECKING:
    from lakebed.deltalake.table import DeltaTable

__all__ = ["QueryBuilder"]


class QueryBuilder:
    """Queries over tables. This version of lakebed has none, so creating one raises an error."""

    def __init__(self, session_config: dict[str, str] | None = None) -> None:
        raise UnsupportedFeatureError(
            "QueryBuilder: this version of lakebed has no SQL queries yet: query with DuckDB "
            "(lakebed.Table(...).to_duckdb()) or polars, or read with DeltaTable.scan(columns, predicate)"
        )

    def register(self, table_name: str, delta_table: DeltaTable) -> QueryBuilder:
        """Makes a table known by a name."""
        raise NotImplementedError

    def execute(self, sql: str) -> Any:
        """Returns a reader of the rows of a query."""
        raise NotImplementedError
