"""The methods that scan in one call. Tables and transactions share them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from lakebed.scan import Scan

__all__ = ["Scannable"]


class Scannable(ABC):
    """Something with a method ``scan``, and the shortcuts for its results."""

    @abstractmethod
    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        *,
        where: str | None = None,
        limit: int | None = None,
        row_columns: Sequence[tuple[str, str]] = (),
    ) -> Scan:
        """Returns a lazy scan."""

    def to_arrow(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pa.Table:
        """Returns all rows as a pyarrow table.

        Short for ``scan(columns, where=where, limit=limit).to_arrow()``.
        """
        return self.scan(columns, where=where, limit=limit).to_arrow()

    def to_reader(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """Returns all rows as a reader of record batches.

        Short for ``scan(columns, where=where, limit=limit).to_reader()``.
        """
        return self.scan(columns, where=where, limit=limit).to_reader()

    def to_pandas(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """Returns all rows as a pandas data frame.

        Short for ``scan(columns, where=where, limit=limit).to_pandas()``.
        """
        return self.scan(columns, where=where, limit=limit).to_pandas()

    def to_polars(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pl.DataFrame:
        """Returns all rows as a polars data frame.

        Short for ``scan(columns, where=where, limit=limit).to_polars()``.
        """
        return self.scan(columns, where=where, limit=limit).to_polars()

    def to_duckdb(
        self,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Returns all rows as a DuckDB relation.

        Short for ``scan(columns, where=where, limit=limit).to_duckdb(connection)``.
        """
        return self.scan(columns, where=where, limit=limit).to_duckdb(connection)

    def head(self, n: int = 5, *, columns: str | Sequence[str] | None = None, where: str | None = None) -> pa.Table:
        """Returns the first ``n`` rows, or all rows if the table has fewer.

        Short for ``scan(columns, where=where).head(n)``.
        """
        return self.scan(columns, where=where).head(n)

    def count(self, where: str | None = None) -> int:
        """Returns the number of rows, or of rows for which the SQL predicate ``where`` is true.

        The statistics of the files answer it if they are exact.

        >>> import lakebed as lb
        >>> lb.Table("examples/trips").count("fare > 20")
        2
        """
        return self.scan(where=where).count()
