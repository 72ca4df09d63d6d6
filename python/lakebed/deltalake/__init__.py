"""lakebed in the words of deltalake 1.6.6.

A script that uses deltalake runs on lakebed when its imports name this package instead.

>>> import pyarrow as pa
>>> from lakebed.deltalake import DeltaTable, write_deltalake
>>> write_deltalake("memory://docs/deltalake", pa.table({"id": [1, 2, 3]}))
>>> table = DeltaTable("memory://docs/deltalake")
>>> table.delete("id > 1")["num_deleted_rows"]
2
>>> table.version(), table.to_pyarrow_table().to_pydict()
(1, {'id': [1]})

Everything is done by lakebed's own interface. ``docs/deltalake.md`` lists what differs.
"""

from __future__ import annotations

import lakebed
from lakebed.deltalake.exceptions import UnsupportedFeatureError
from lakebed.deltalake.features import TableFeatures
from lakebed.deltalake.query import QueryBuilder
from lakebed.deltalake.schema import DataType, Field, Schema, VariantType
from lakebed.deltalake.table import DeltaTable, Metadata
from lakebed.deltalake.transaction import CommitProperties, PostCommitHookProperties, Transaction
from lakebed.deltalake.writer import (
    BloomFilterProperties,
    ColumnProperties,
    WriterProperties,
    convert_to_deltalake,
    write_deltalake,
)

__all__ = [
    "BloomFilterProperties",
    "ColumnProperties",
    "CommitProperties",
    "DataType",
    "DeltaTable",
    "Field",
    "Metadata",
    "PostCommitHookProperties",
    "QueryBuilder",
    "Schema",
    "TableFeatures",
    "Transaction",
    "VariantType",
    "WriterProperties",
    "__version__",
    "convert_to_deltalake",
    "enable_nanosecond_timestamps",
    "init_tracing",
    "rust_core_version",
    "write_deltalake",
]

#: The version of deltalake whose names this package has.
__version__ = "1.6.6"


def rust_core_version() -> str:
    """Returns the version of lakebed."""
    return f"lakebed-{lakebed.__version__}"


def enable_nanosecond_timestamps() -> None:
    """Is not available: Delta's timestamps have microseconds."""
    raise UnsupportedFeatureError(
        "enable_nanosecond_timestamps: timestamps of lakebed have microseconds, as Delta's protocol says"
    )


def init_tracing(endpoint: str | None = None) -> None:
    """Is not available: lakebed logs by Python's ``logging``."""
    raise UnsupportedFeatureError(
        "init_tracing: lakebed sends no traces: its log messages go to the loggers lakebed.* of Python's logging"
    )
