"""Changes the definition of a table, in the words of deltalake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakebed.deltalake import pending
from lakebed.deltalake.dialect import sql
from lakebed.deltalake.exceptions import DeltaError, translated
from lakebed.deltalake.features import TableFeatures, feature_name
from lakebed.deltalake.positional import keywords
from lakebed.deltalake.schema import Field
from lakebed.deltalake.transaction import CommitProperties, PostCommitHookProperties, commit_options

if TYPE_CHECKING:
    from lakebed.deltalake.table import DeltaTable

__all__ = ["TableAlterer"]

_COMMIT_FIRST = ("commit_properties", "post_commithook_properties")
_HOOKS_FIRST = ("post_commithook_properties", "commit_properties")


class TableAlterer:
    """Methods that change the table's definition."""

    def __init__(self, table: DeltaTable) -> None:
        self.table = table

    @translated()
    def add_feature(
        self,
        feature: TableFeatures | list[TableFeatures],
        allow_protocol_versions_increase: bool = False,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Enables table features."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("add_feature", args, _COMMIT_FIRST, **given)
        names = [feature_name(one) for one in ([feature] if isinstance(feature, (TableFeatures, str)) else feature)]
        protocol = self.table.protocol()
        if not allow_protocol_versions_increase and protocol.min_writer_version < 7:
            raise DeltaError(
                f"add_feature: features need writer version 7, and the table has {protocol.min_writer_version}: "
                "pass allow_protocol_versions_increase=True"
            )
        for name in names:
            self._run("add_feature", commit, hooks, name)

    @translated()
    def add_columns(
        self,
        fields: Field | list[Field],
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Adds columns to the table."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("add_columns", args, _COMMIT_FIRST, **given)
        for one in [fields] if isinstance(fields, Field) else fields:
            options = {"nullable": None if one.nullable else False, "metadata": one.metadata or None}
            self._run("add_column", commit, hooks, one.name, one.type.to_arrow(), **options)

    @translated()
    def add_constraint(
        self,
        constraints: dict[str, str],
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Adds a constraint, which every row must satisfy."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("add_constraint", args, _HOOKS_FIRST, **given)
        if len(constraints) != 1:
            raise ValueError(f"constraints has {len(constraints)} entries: add one at once")
        for name, predicate in constraints.items():
            self._run("add_constraint", commit, hooks, name, sql(predicate))

    @translated()
    def drop_constraint(
        self,
        name: str,
        raise_if_not_exists: bool = True,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Drops a constraint."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("drop_constraint", args, _HOOKS_FIRST, **given)
        self._run("drop_constraint", commit, hooks, name, if_exists=None if raise_if_not_exists else True)

    @translated()
    def drop_column_not_null(
        self,
        column_name: str,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Lets a column have nulls."""
        self._run("set_nullable", commit_properties, post_commithook_properties, column_name, True)

    @translated()
    def set_table_properties(
        self,
        properties: dict[str, str],
        raise_if_not_exists: bool = True,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Sets properties of the table."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("set_table_properties", args, _COMMIT_FIRST, **given)
        self._run("set_properties", commit, hooks, properties)

    @translated()
    def set_table_name(
        self,
        name: str,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Sets the name of the table."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("set_table_name", args, _COMMIT_FIRST, **given)
        if not 1 <= len(name) <= 255:
            raise DeltaError(f"Table metadata is invalid: name: it has {len(name)} characters, and 1 to 255 are allowed")
        self._run("set_name", commit, hooks, name)

    @translated()
    def set_table_description(
        self,
        description: str,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Sets the description of the table."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("set_table_description", args, _COMMIT_FIRST, **given)
        if len(description) > 4000:
            raise DeltaError(
                f"Table metadata is invalid: description: it has {len(description)} characters, and 4000 are allowed"
            )
        self._run("set_description", commit, hooks, description)

    @translated()
    def set_column_metadata(
        self,
        column: str,
        metadata: dict[str, str],
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Sets the comment of a column, which is the only metadata that lakebed sets."""
        given = {"commit_properties": commit_properties, "post_commithook_properties": post_commithook_properties}
        commit, hooks = keywords("set_column_metadata", args, _COMMIT_FIRST, **given)
        others: Mapping[str, Any] = {key: value for key, value in metadata.items() if key != "comment"}
        pending.refused("set_column_metadata", "lakebed sets only the comment of a column", **others)
        self._run("comment", commit, hooks, column, metadata.get("comment"))

    def _run(
        self, name: str, commit: CommitProperties | None, hooks: PostCommitHookProperties | None, *args: Any, **given: Any
    ) -> None:
        """Calls a method of lakebed's ``table.alter``."""
        change = pending.method(self.table._opened.alter, name)
        options = {**given, **commit_options(f"alter.{name}", commit, hooks, takes_txn=False)}
        made = change(*args, **pending.supported(change, options))
        self.table._opened = getattr(made, "table", made)
