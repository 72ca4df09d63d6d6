"""The target tables, and their rows before the call."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import lakebed as lb
from door.case import Rows, Table

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("v", pa.float64()), ("p", pa.string()), ("s", pa.string())])
#: The types that a column takes without a check of the values, because the column can hold every
#: value of the type.
FITS = {
    "id": {"int64", "int32", "int16", "int8", "uint8"},
    "n": {"int32", "int16", "int8", "uint8"},
    "v": {"double", "float", "halffloat"},
    "p": {"string", "large_string", "string_view", "dictionary"},
    "s": {"string", "large_string", "string_view", "dictionary"},
}
#: The properties of each feature.
FEATURES: dict[str, dict[str, Any]] = {
    "vectors": {"delta.enableDeletionVectors": True},
    "feed": {"delta.enableChangeDataFeed": True},
    "mapping": {"delta.columnMapping.mode": "name"},
    "tracking": {"delta.enableRowTracking": True},
    "checkpoints": {"delta.checkpointInterval": 2},
}
#: The `txn` of the last write before the call.
TXN = ("door", 5)

BEFORE: Rows = [
    {"id": 1, "n": 1, "v": 0.5, "p": "x", "s": "a"},
    {"id": 2, "n": None, "v": None, "p": None, "s": "b"},
    {"id": 3, "n": 3, "v": 2.0, "p": "y", "s": None},
    {"id": 4, "n": 3, "v": -1.0, "p": "x", "s": ""},
]


def make(path: str, spec: Table) -> None:
    """Makes the table with two or more files."""
    fields = [field.with_nullable(not (spec.required and field.name == "id")) for field in SCHEMA]
    properties = {name: value for feature in spec.features for name, value in FEATURES[feature].items()}
    constraints = {"positive": "id > 0"} if spec.positive else {}
    lb.create(path, pa.schema(fields), partition_by=list(spec.partition_by), properties=properties, constraints=constraints)
    lb.write(path, pa.Table.from_pylist(BEFORE[:2], pa.schema(fields)))
    lb.write(path, pa.Table.from_pylist(BEFORE[2:], pa.schema(fields)), txn=TXN)


def before(spec: Table) -> Rows:
    return [dict(row) for row in BEFORE] if spec.exists else []
