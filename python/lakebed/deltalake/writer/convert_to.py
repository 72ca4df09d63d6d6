"""Makes a table of a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import lakebed
from lakebed.deltalake import unsupported
from lakebed.deltalake.exceptions import translated
from lakebed.deltalake.positional import COMMIT_FIRST, commit_keywords
from lakebed.deltalake.schema import Schema
from lakebed.deltalake.transaction import CommitProperties, PostCommitHookProperties, commit_options

__all__ = ["convert_to_deltalake"]


@translated()
def convert_to_deltalake(
    uri: str | Path,
    mode: Literal["error", "ignore"] = "error",
    partition_by: Schema | None = None,
    partition_strategy: Literal["hive", "directory"] | None = None,
    name: str | None = None,
    description: str | None = None,
    configuration: Mapping[str, str | None] | None = None,
    storage_options: dict[str, str] | None = None,
    *args: Any,
    collect_stats: bool = True,
    commit_properties: CommitProperties | None = None,
    post_commithook_properties: PostCommitHookProperties | None = None,
) -> None:
    """Makes a table of a folder of Parquet files, which stay where they are."""
    commit, hooks = commit_keywords("convert_to_deltalake", args, COMMIT_FIRST, commit_properties, post_commithook_properties)
    if partition_by is not None and partition_strategy is None:
        raise ValueError("Partition strategy has to be provided with partition_by.")
    if partition_strategy not in (None, "hive", "directory"):
        raise ValueError("Partition strategy must be `hive` or `directory`.")
    if partition_strategy == "directory":
        unsupported.refused("convert_to_deltalake", "lakebed reads folders such as day=1", partition_strategy=partition_strategy)
    convert = lakebed.convert
    given = {
        "name": name,
        "description": description,
        "properties": {key: value for key, value in (configuration or {}).items() if value is not None} or None,
        "storage_options": storage_options,
        "partition_schema": None if partition_by is None else partition_by.to_arrow(),
        # Statistics are collected by default.
        "collect_statistics": None if collect_stats else False,
        **commit_options("convert_to_deltalake", commit, hooks, takes_txn=False),
    }
    convert(uri, mode=mode, **unsupported.supported(convert, given))
