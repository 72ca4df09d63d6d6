"""Rewrites data files, in the words of deltalake."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lakebed.deltalake import metrics, unsupported
from lakebed.deltalake.exceptions import translated
from lakebed.deltalake.filters import pruning
from lakebed.deltalake.positional import HOOKS_FIRST, commit_keywords
from lakebed.deltalake.properties import WriterProperties, file_options
from lakebed.deltalake.transaction import CommitProperties, PostCommitHookProperties, commit_options

if TYPE_CHECKING:
    from lakebed.deltalake.table import DeltaTable

__all__ = ["TableOptimizer"]


class TableOptimizer:
    """Methods that rewrite data files. ``min_commit_interval`` commits each group of files on its
    own, as soon as it is written.
    """

    def __init__(self, table: DeltaTable) -> None:
        self.table = table

    @translated()
    def compact(
        self,
        partition_filters: list[tuple[str, str, Any]] | None = None,
        target_size: int | None = None,
        max_concurrent_tasks: int | None = None,
        max_spill_size: int | None = None,
        max_temp_directory_size: int | None = None,
        min_commit_interval: int | timedelta | None = None,
        writer_properties: WriterProperties | None = None,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> dict[str, Any]:
        """Combines small files."""
        commit, hooks = commit_keywords("compact", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        unsupported.memory("compact", max_spill_size=max_spill_size, max_temp_directory_size=max_temp_directory_size)
        unsupported.memory("compact", max_concurrent_tasks=max_concurrent_tasks)
        options = {**file_options("compact", writer_properties), **commit_options("compact", commit, hooks, takes_txn=False)}
        return self._run(partition_filters, target_size, min_commit_interval, None, options)

    @translated()
    def z_order(
        self,
        columns: Iterable[str],
        partition_filters: list[tuple[str, str, Any]] | None = None,
        target_size: int | None = None,
        max_concurrent_tasks: int | None = None,
        max_spill_size: int | None = None,
        max_temp_directory_size: int | None = None,
        min_commit_interval: int | timedelta | None = None,
        writer_properties: WriterProperties | None = None,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> dict[str, Any]:
        """Arranges the rows by a Z-order of these columns."""
        commit, hooks = commit_keywords("z_order", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        unsupported.memory("z_order", max_spill_size=max_spill_size, max_temp_directory_size=max_temp_directory_size)
        unsupported.memory("z_order", max_concurrent_tasks=max_concurrent_tasks)
        options = {**file_options("z_order", writer_properties), **commit_options("z_order", commit, hooks, takes_txn=False)}
        return self._run(
            partition_filters, target_size, min_commit_interval, [columns] if isinstance(columns, str) else list(columns), options
        )

    def _run(
        self,
        partition_filters: Any,
        target_size: int | None,
        min_commit_interval: int | timedelta | None,
        zorder_by: list[str] | None,
        options: dict[str, Any],
    ) -> dict[str, Any]:
        opened = self.table._opened
        optimize: Any = opened.optimize
        result = optimize(
            pruning(partition_filters, opened.schema.names),
            zorder_by=zorder_by,
            target_file_size=target_size,
            commit="run" if min_commit_interval is None else "group",
            **unsupported.supported(optimize, options),
        )
        self.table._opened = result.table
        return metrics.optimized(result.metrics, is_clustered=zorder_by is not None)
