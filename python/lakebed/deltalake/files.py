"""The data files of a table, as deltalake lists them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import lakebed
from lakebed.deltalake.dialect import literal
from lakebed.deltalake.exceptions import translated
from lakebed.deltalake.filters import partition_value, pruning

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["add_actions", "chosen", "deletion_vectors", "partitions", "uris"]


#: The position of a row in its file.
_POSITION = "_metadata.row_index"


def chosen(deprecated: str, filters: Any, predicate: Any) -> Any:
    """Returns the predicate, which may be given by its deprecated name."""
    if filters is None:
        return predicate
    if predicate is not None:
        raise ValueError(f"`{deprecated}` is deprecated; pass only `file_pruning_predicate`")
    warnings.warn(f"`{deprecated}` is deprecated; pass it as `file_pruning_predicate`", DeprecationWarning, stacklevel=5)
    return filters


def _files(table: lakebed.Table, predicate: Any) -> pa.Table:
    return table.files(where=pruning(predicate, table.schema.names))


def uris(table: lakebed.Table, predicate: Any) -> list[str]:
    """Returns the locations of files. Those of this machine are paths."""
    root = table.uri.rstrip("/")
    if urlsplit(root).scheme == "file":
        root = unquote(urlsplit(root).path)
    paths: list[Any] = _files(table, predicate)["path"].to_pylist()
    return [path if "://" in path or path.startswith("/") else f"{root}/{path}" for path in paths]


def partitions(table: lakebed.Table, predicate: Any) -> list[dict[str, str]]:
    """Returns the distinct partitions, with their values as the log spells them."""
    if not table.partition_columns:
        return []
    found: dict[tuple[Any, ...], dict[str, str]] = {}
    for values in _texts(_files(table, predicate)["partition"]):
        found.setdefault(tuple(values.values()), values)
    return list(found.values())


def _texts(column: Any) -> list[dict[str, Any]]:
    """Returns the values of partition columns as text."""
    return [{name: None if value is None else _text(value) for name, value in values.items()} for values in column.to_pylist()]


def _text(value: Any) -> str:
    return partition_value(value.replace(tzinfo=None) if isinstance(value, datetime) else value)


def add_actions(table: lakebed.Table, flatten: bool) -> pa.Table:
    """Returns one row for each file, with the statistics of its columns.

    Structs without fields are left out. ``flatten`` gives each field a column of its own.
    """
    import pyarrow as pa

    found = table.files(statistics=True)
    columns: dict[str, Any] = {name: found[name] for name in ("path", "size_bytes", "modification_time", "num_records")}
    columns["modification_time"] = found["modification_time"].cast(pa.int64())
    for name in ("null_count", "min", "max", "partition"):
        values: Any = found[name].combine_chunks()
        if flatten:
            columns.update(_leaves(name, values))
        elif values.type.num_fields > 0:
            columns[name] = values
    return pa.table(columns)


def deletion_vectors(table: lakebed.Table) -> pa.RecordBatchReader:
    """Returns a reader with one row for each file that has a deletion vector: its location, and
    whether each of its rows is left.
    """
    import numpy as np
    import pyarrow as pa

    kept = pa.list_(pa.field("item", pa.bool_(), nullable=False))
    fields: list[Any] = [
        pa.field("filepath", pa.large_string(), nullable=False),
        pa.field("selection_vector", kept, nullable=False),
    ]
    schema = pa.schema(fields)
    files = [one for one in table.files().to_pylist() if one["deleted_records"]]

    def batches() -> Iterator[pa.RecordBatch]:
        with translated():
            for file in files:
                path: str = file["path"]
                left = table.to_arrow([_POSITION], where=f"_metadata.file_path = {literal(path)}")[_POSITION]
                mask = np.zeros(file["num_records"], dtype=bool)
                mask[left.to_numpy()] = True
                arrays = [pa.array([_uri(table, path)], schema.types[0]), pa.array([mask], schema.types[1])]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _uri(table: lakebed.Table, path: str) -> str:
    """Returns the location of a file as a URL. The log has URLs, too, or paths that are encoded."""
    return path if urlsplit(path).scheme else f"{table.uri.rstrip('/')}/{path}"


def _leaves(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    """Returns the fields of a struct by their paths."""
    for field, inner in zip(values.type, values.flatten(), strict=True):
        path = f"{name}.{field.name}"
        if inner.type.id == values.type.id:
            yield from _leaves(path, inner)
        else:
            yield path, inner
