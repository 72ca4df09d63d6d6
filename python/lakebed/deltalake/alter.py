"""Changes the definition of a table, in the words of deltalake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lakebed.deltalake.dialect import column as quoted
from lakebed.deltalake.dialect import sql
from lakebed.deltalake.exceptions import DeltaError, translated
from lakebed.deltalake.features import TableFeatures, feature_name
from lakebed.deltalake.positional import COMMIT_FIRST, HOOKS_FIRST, commit_keywords
from lakebed.deltalake.schema import Field, StructType
from lakebed.deltalake.transaction import CommitProperties, PostCommitHookProperties, commit_options

if TYPE_CHECKING:
    from lakebed.deltalake.table import DeltaTable

__all__ = ["TableAlterer"]

_Change = Callable[[Any], Any]


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
        commit, hooks = commit_keywords("add_feature", args, COMMIT_FIRST, commit_properties, post_commithook_properties)
        names = [feature_name(one) for one in ([feature] if isinstance(feature, (TableFeatures, str)) else feature)]
        protocol = self.table.protocol()
        if not allow_protocol_versions_increase and protocol.min_writer_version < 7:
            raise DeltaError(
                f"add_feature: features need writer version 7, and the table has {protocol.min_writer_version}: "
                "pass allow_protocol_versions_increase=True"
            )
        self._change("add_feature", commit, hooks, lambda alter: [alter.add_feature(name) for name in names])

    @translated()
    def add_columns(
        self,
        fields: Field | list[Field],
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Adds columns to the table."""
        commit, hooks = commit_keywords("add_columns", args, COMMIT_FIRST, commit_properties, post_commithook_properties)
        wanted = [fields] if isinstance(fields, Field) else list(fields)

        def add(alter: Any) -> None:
            for place, one in _additions(self.table.schema(), wanted):
                own = {key: value for key, value in one.metadata.items() if key != "comment"}
                options = {"nullable": one.nullable, "comment": one.metadata.get("comment"), "metadata": own}
                alter.add_column(place, one.type.to_arrow(), **options)

        self._change("add_columns", commit, hooks, add)

    @translated()
    def add_constraint(
        self,
        constraints: dict[str, str],
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Adds a constraint, which every row must satisfy."""
        commit, hooks = commit_keywords("add_constraint", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        if len(constraints) != 1:
            raise ValueError(f"constraints has {len(constraints)} entries: add one at once")
        ((name, predicate),) = constraints.items()
        self._change("add_constraint", commit, hooks, lambda alter: alter.add_constraint(name, sql(predicate)))

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
        commit, hooks = commit_keywords("drop_constraint", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        may_miss = not raise_if_not_exists
        self._change("drop_constraint", commit, hooks, lambda alter: alter.drop_constraint(name, if_exists=may_miss))

    @translated()
    def drop_column_not_null(
        self,
        column_name: str,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Lets a column have nulls."""
        if any(one.name == column_name and one.nullable for one in self.table.schema().fields):
            raise DeltaError(f"drop_column_not_null: column {column_name} may have nulls already")
        commit, hooks = commit_properties, post_commithook_properties
        self._change("drop_column_not_null", commit, hooks, lambda alter: alter.set_nullable(column_name, True))

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
        commit, hooks = commit_keywords("set_table_properties", args, COMMIT_FIRST, commit_properties, post_commithook_properties)
        self._change("set_table_properties", commit, hooks, lambda alter: alter.set_properties(properties))

    @translated()
    def set_table_name(
        self,
        name: str,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Sets the name of the table."""
        commit, hooks = commit_keywords("set_table_name", args, COMMIT_FIRST, commit_properties, post_commithook_properties)
        if not 1 <= len(name) <= 255:
            raise DeltaError(f"Table metadata is invalid: name: it has {len(name)} characters, and 1 to 255 are allowed")
        self._change("set_table_name", commit, hooks, lambda alter: alter.set_name(name))

    @translated()
    def set_table_description(
        self,
        description: str,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Sets the description of the table."""
        commit, hooks = commit_keywords(
            "set_table_description", args, COMMIT_FIRST, commit_properties, post_commithook_properties
        )
        if len(description) > 4000:
            raise DeltaError(
                f"Table metadata is invalid: description: it has {len(description)} characters, and 4000 are allowed"
            )
        self._change("set_table_description", commit, hooks, lambda alter: alter.set_description(description))

    @translated()
    def set_column_metadata(
        self,
        column: str,
        metadata: dict[str, str],
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Sets entries of a column's metadata, its comment among them. Other entries stay."""
        commit, hooks = commit_keywords("set_column_metadata", args, COMMIT_FIRST, commit_properties, post_commithook_properties)
        own = {key: value for key, value in metadata.items() if key != "comment"}

        def change(alter: Any) -> None:
            if "comment" in metadata:
                alter.comment(column, metadata["comment"])
            if own or not metadata:
                alter.set_metadata(column, own)

        self._change("set_column_metadata", commit, hooks, change)

    def _change(
        self, what: str, commit: CommitProperties | None, hooks: PostCommitHookProperties | None, change: _Change
    ) -> None:
        """Makes changes of lakebed's ``table.alter`` in one commit."""
        alter: Any = self.table._opened.alter
        if options := commit_options(what, commit, hooks, takes_txn=False):
            alter = alter(**options)
        with alter.together() as together:
            change(together)
        self.table._opened = together.table


def _additions(known: StructType, wanted: Sequence[Field], path: str = "") -> Iterator[tuple[str, Field]]:
    """Returns the columns to add, with their paths. A struct that exists gets the fields that it lacks."""
    fields = {one.name: one.type for one in known.fields}
    for one in wanted:
        place = path + (one.name if one.name.isidentifier() else quoted(one.name))
        found = fields.get(one.name)
        if isinstance(found, StructType) and isinstance(one.type, StructType):
            yield from _additions(found, one.type.fields, f"{place}.")
        else:
            yield place, one
