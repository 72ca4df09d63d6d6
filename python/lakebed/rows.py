"""The methods that return rows. Scans and changes share them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lakebed import _lakebed, arguments
from lakebed.adapters.duckdb import to_duckdb
from lakebed.adapters.polars import to_polars
from lakebed.adapters.pyarrow import read, reader, schema_of

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Rows", "narrowed"]


class Rows(ABC):
    """Rows that are not read yet."""

    @abstractmethod
    def _stream(self) -> _lakebed.ArrowStream:
        """Returns a stream of all rows, from the first one."""

    @abstractmethod
    def _delta_schema(self) -> str:
        """Returns the columns from which the rows' columns were selected, with Delta's types."""

    @abstractmethod
    def __arrow_c_schema__(self) -> object:
        """Returns the schema by Arrow's PyCapsule interface."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return schema_of(self.__arrow_c_schema__())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule interface: polars, DuckDB, pandas, pyarrow and others read the rows by
        it.

        Each call reads the rows again.
        """
        return self._stream().__arrow_c_stream__(requested_schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns a reader of record batches, for rows that do not fit in memory."""
        return reader(self._stream())

    def to_arrow(self) -> pa.Table:
        """Returns all rows as a pyarrow table."""
        return read(self._stream())

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Returns all rows as a pandas data frame; ``options`` go to
        :meth:`pyarrow.Table.to_pandas`.
        """
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """Returns all rows as a polars data frame."""
        return to_polars(self.to_arrow())

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Returns a DuckDB relation over all rows, in this ``connection`` or in a new one."""
        return to_duckdb(self.to_arrow, connection)


def narrowed(columns: str | Sequence[str] | None, where: str | None, limit: int | None = None) -> dict[str, Any]:
    """Returns the options of `_lakebed` for these columns, this predicate and this limit."""
    found = {
        "columns": arguments.columns("columns", columns),
        "where": arguments.text("where", where),
        "limit": arguments.integer("limit", limit),
    }
    return {name: value for name, value in found.items() if value is not None}
