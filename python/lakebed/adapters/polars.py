"""Checks polars frames that are written, and makes polars frames from scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.values import check_name, refuse_dtype

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["check_polars", "to_polars"]


def check_polars(frame: Any) -> None:
    """Refuses polars frames with names or types that no table can have."""
    for name, dtype in (getattr(frame, "schema", None) or {}).items():
        check_name(name)
        refuse_dtype(name, dtype)


def to_polars(rows: pa.Table) -> pl.DataFrame:
    """Returns the rows as a polars data frame."""
    import polars as pl

    return pl.DataFrame(rows)
