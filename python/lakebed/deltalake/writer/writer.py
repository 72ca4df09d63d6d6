"""Writes rows to a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import lakebed
from lakebed.deltalake.dialect import sql
from lakebed.deltalake.exceptions import DeltaError, TableExistsError, translated
from lakebed.deltalake.properties import WriterProperties, file_options
from lakebed.deltalake.table import DeltaTable
from lakebed.deltalake.transaction import CommitProperties, PostCommitHookProperties, commit_options

__all__ = ["write_deltalake"]


@translated()
def write_deltalake(
    table_or_uri: str | Path | DeltaTable,
    data: Any,
    *,
    partition_by: list[str] | str | None = None,
    mode: Literal["error", "append", "overwrite", "ignore"] = "error",
    name: str | None = None,
    description: str | None = None,
    configuration: Mapping[str, str | None] | None = None,
    schema_mode: Literal["merge", "overwrite"] | None = None,
    storage_options: dict[str, str] | None = None,
    predicate: str | None = None,
    target_file_size: int | None = None,
    writer_properties: WriterProperties | None = None,
    commit_properties: CommitProperties | None = None,
    post_commithook_properties: PostCommitHookProperties | None = None,
) -> None:
    """Writes rows to a table, or creates one with them. ``mode`` is for tables that exist.

    ``predicate`` limits what ``overwrite`` replaces. ``schema_mode`` lets the schema change. If a
    :class:`DeltaTable` is given, it has the new version afterwards.
    """
    if mode not in ("error", "append", "overwrite", "ignore"):
        raise DeltaError(f"mode={mode!r}: it must be one of error, append, overwrite, ignore")
    what = "write_deltalake"
    options = {
        "target_file_size": target_file_size,
        "schema_mode": schema_mode or "enforce",
        **file_options(what, writer_properties),
        **commit_options(what, commit_properties, post_commithook_properties),
    }
    defining: dict[str, Any] = {
        "partition_by": partition_by,
        "properties": {key: value for key, value in (configuration or {}).items() if value is not None} or None,
        "name": name,
        "description": description,
    }
    if mode == "overwrite" and predicate is not None and schema_mode == "overwrite":
        data, options["schema_mode"] = _kept_or_merged(table_or_uri, data, storage_options)
    if isinstance(table_or_uri, DeltaTable):
        if storage_options and storage_options != table_or_uri._storage_options:
            raise ValueError("storage_options: a DeltaTable has its own: give them to DeltaTable(...), or write to its location")
        _write_to(table_or_uri, data, mode, predicate, options, defining)
        return
    if not isinstance(table_or_uri, (str, Path)):
        raise ValueError("table_or_uri must be a str, Path or DeltaTable")
    where = {"where": sql(predicate), "storage_options": storage_options}
    lakebed.write(table_or_uri, data, mode=mode, **options, **defining, **where)


def _write_to(
    table: DeltaTable, data: Any, mode: str, predicate: str | None, options: dict[str, Any], defining: dict[str, Any]
) -> None:
    """Writes to a table that is open."""
    opened = table._opened
    if mode == "error":
        raise TableExistsError(f"{opened.uri}: there is a table, and mode is error: pass append or overwrite")
    if mode == "ignore":
        return
    wanted = {key: value for key, value in defining.items() if value is not None}
    if mode == "overwrite":
        _check_words(table, {name: wanted.pop(name) for name in ("name", "description") if name in wanted})
    if "partition_by" in wanted and list(opened.partition_columns) == _names(wanted["partition_by"]):
        del wanted["partition_by"]
    if mode == "overwrite":
        result = opened.overwrite(data, where=sql(predicate), **options, **wanted)
    elif wanted:
        # This checks what is wanted against the definition of the table.
        result = lakebed.write(opened.uri, data, mode="append", **options, **wanted, **table._storage)
    else:
        result = opened.append(data, **options)
    table._opened = result.table


def _kept_or_merged(table: Any, data: Any, storage_options: dict[str, str] | None) -> tuple[Any, str]:
    """Returns the data and the schema mode for an overwrite of some rows. The other rows keep their
    columns, so the schema of the data can only add some.
    """
    import pyarrow as pa

    if not hasattr(data, "__arrow_c_stream__"):
        return data, "overwrite"
    if not isinstance(table, DeltaTable):
        if not lakebed.exists(str(table), storage_options=storage_options):
            return data, "overwrite"
        table = DeltaTable(table, storage_options=storage_options)
    reader = pa.RecordBatchReader.from_stream(data)
    has_all = set(table._opened.schema.names) <= set(reader.schema.names)
    return reader, "merge" if has_all else "overwrite"


def _check_words(table: DeltaTable, wanted: Mapping[str, str]) -> None:
    found = table.metadata()
    for what, given in wanted.items():
        if given != getattr(found, what):
            raise DeltaError(
                f"{what}={given!r}: the {what} of the table is {getattr(found, what)!r}: use alter.set_table_{what} to change it"
            )


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given or [])
