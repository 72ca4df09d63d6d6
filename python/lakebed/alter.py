"""Changes the definition of a table. The rows stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakebed import arguments
from lakebed.columns import Identity, described, named, typed
from lakebed.errors import InvalidInputError
from lakebed.results import DropFeatureMetrics, DropFeatureResult
from lakebed.values import shown

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["Alter", "AlterTogether"]


class Alter:
    """Changes of a table's definition. Each method commits on top of the newest version, also if this
    handle is older. It returns the table as of that commit.

    A column is named by its path: ``a``, ``a.b``, ``list.element.b``, ``map.value``. A name that
    contains dots is written in backticks. Types are types of pyarrow, or SQL text such as
    ``"decimal(10,2)"``, ``"array<struct<a:int>>"`` or ``"varchar(10)"``.

    ``table.alter(user_metadata=..., commit_info=..., timeout=...)`` sets options: a text of your own,
    which the history keeps, entries of your own in ``commitInfo``, and the seconds to keep trying
    while other writers commit first. ``upkeep`` is that of :func:`lakebed.write`. With
    ``table.alter.together()``, several changes become one commit.
    """

    def __init__(self, table: Table, options: dict[str, Any] | None = None) -> None:
        self._table = table
        self._options = options or {}

    def __call__(
        self,
        *,
        user_metadata: str | None = None,
        commit_info: Mapping[str, Any] | None = None,
        upkeep: Mapping[str, bool] | None = None,
        timeout: float | None = None,
    ) -> Alter:
        """Returns the same methods with these options."""
        options = {
            "user_metadata": arguments.words("user_metadata", user_metadata),
            "commit_info": arguments.entries("commit_info", commit_info),
            "upkeep": arguments.upkeep("upkeep", upkeep),
            "timeout": arguments.number("timeout", timeout),
        }
        return type(self)(self._table, options)

    def together(self) -> AlterTogether:
        """Collects several changes for one commit, which happens at the end of the ``with`` block.

        If the block raises an error, nothing is committed. The changes see each other in order.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/alter-together", pa.table({"id": [1, 2]})).table
        >>> with table.alter.together() as alter:
        ...     _ = alter.add_column("name", "string")
        ...     _ = alter.add_constraint("positive", "id > 0")
        >>> alter.table.version
        1
        """
        return AlterTogether(self._table, self._options)

    def _apply(self, change: str, **fields: Any) -> Table:
        altered = self._table._table.alter([{"change": change, **fields}], self._options)
        return self._table._with(altered)

    def add_column(
        self,
        name: str,
        type: Any,
        *,
        nullable: bool = True,
        comment: str | None = None,
        default: str | None = None,
        generated: str | None = None,
        identity: Identity | tuple[int, int] | bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        first: bool = False,
        after: str | None = None,
    ) -> Table:
        """Adds a column, or a field of a struct. It is null in the rows that the table has.

        - ``name``: the path of the column, and ``type``: its type. ``comment``: a text for people.
        - ``nullable=False``, ``default`` (an SQL expression), ``generated`` (an SQL expression) and
          ``identity`` (``True``, or ``(start, step)``) need a table without rows. To give later
          rows a default, use :meth:`set_default` afterwards.
        - ``metadata``: entries of your own in the column's metadata: strings, numbers or booleans.
        - ``first=True`` or ``after="b"``: the position. The default is the last one.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/add-column", pa.table({"id": [1]})).table
        >>> table.alter.add_column("name", "string", comment="who", after="id").schema.names
        ['id', 'name']
        """
        column = described(
            name, type, nullable=nullable, comment=comment, default=default, generated=generated, identity=identity
        )
        column["metadata"] = arguments.entries("metadata", metadata)
        position = _position(first, after)
        return self._apply("add_columns", columns=[{**column, "position": position} if position else column])

    def add_columns(self, columns: Mapping[str, Any]) -> Table:
        """Adds several columns: ``columns`` maps their names to their types.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/add-columns", pa.table({"id": [1]})).table
        >>> table.alter.add_columns({"name": "string", "day": pa.date32()}).schema.names
        ['id', 'name', 'day']
        """
        if not isinstance(columns, Mapping):
            raise TypeError(f"columns={shown(columns)}: it must be a mapping of names to types")
        return self._apply("add_columns", columns=[described(name, type, within="columns: ") for name, type in columns.items()])

    def rename_column(self, column: str, name: str) -> Table:
        """Gives ``column`` another name. ``name`` is the new name alone, also of a field of a struct.

        The table needs the property ``delta.columnMapping.mode``. No file is rewritten.

        >>> import lakebed as lb, pyarrow as pa
        >>> mapped = {"delta.columnMapping.mode": "name"}
        >>> table = lb.write("memory://docs/rename", pa.table({"id": [1]}), properties=mapped).table
        >>> table.alter.rename_column("id", "key").to_arrow().to_pylist()
        [{'key': 1}]
        """
        return self._apply("rename_column", column=named("column", column), name=named("name", name))

    def drop_column(self, *columns: str) -> Table:
        """Drops ``columns``. The table needs the property ``delta.columnMapping.mode``.

        Data files keep the values until they are rewritten; older versions still show them.

        >>> import lakebed as lb, pyarrow as pa
        >>> mapped = {"delta.columnMapping.mode": "name"}
        >>> rows = pa.table({"id": [1], "old": [2], "older": [3]})
        >>> table = lb.write("memory://docs/drop-column", rows, properties=mapped).table
        >>> table.alter.drop_column("old", "older").to_arrow().to_pylist()
        [{'id': 1}]
        """
        return self._apply("drop_columns", columns=arguments.columns("columns", columns) or [])

    def move_column(self, column: str, *, first: bool = False, after: str | None = None) -> Table:
        """Moves ``column`` to the first position (``first=True``), or behind another column of its struct
        (``after="b"``).

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/move", pa.table({"a": [1], "b": [2]})).table
        >>> table.alter.move_column("b", first=True).schema.names
        ['b', 'a']
        """
        moved, position = named("column", column), _position(first, after)
        if position is None:
            raise InvalidInputError(f"say where to move the column {moved}: first=True, or after= another column")
        return self._apply("move_column", column=moved, position=position)

    def change_type(self, column: str, type: Any) -> Table:
        """Gives ``column`` a wider ``type``, so that no value is lost. No file is rewritten.

        The table needs the property ``delta.enableTypeWidening``. A longer ``varchar``, or
        ``string`` in place of ``varchar`` or ``char``, needs no property.

        >>> import lakebed as lb, pyarrow as pa
        >>> rows = pa.table({"n": pa.array([1], pa.int32())})
        >>> table = lb.write("memory://docs/widen", rows, properties={"delta.enableTypeWidening": True}).table
        >>> table.alter.change_type("n", "bigint").schema.field("n").type
        DataType(int64)
        """
        return self._apply("change_type", column=named("column", column), type=typed("type", type))

    def set_nullable(self, column: str, nullable: bool) -> Table:
        """Allows null in ``column`` (``nullable=True``), or forbids it.

        To forbid it, no row may be null. Statistics decide first; files of which they say too
        little are read.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/nullable", pa.table({"id": [1]})).table
        >>> table.alter.set_nullable("id", False).schema.field("id").nullable
        False
        """
        return self._apply("set_nullable", column=named("column", column), nullable=arguments.flag("nullable", nullable))

    def set_default(self, column: str, default: str | None) -> Table:
        """Sets the SQL expression ``default`` for rows that do not give ``column``. None removes it.

        Rows that the table has stay as they are.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/default", pa.table({"id": [1], "n": [2]})).table
        >>> table = table.alter.set_default("n", "7")
        >>> table.append(pa.table({"id": [3]})).table.to_arrow(where="id = 3").to_pylist()
        [{'id': 3, 'n': 7}]
        """
        return self._apply("set_default", column=named("column", column), default=arguments.text("default", default))

    def comment(self, column: str, comment: str | None) -> Table:
        """Sets the ``comment`` of ``column``. None removes it.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/comment", pa.table({"id": [1]})).table
        >>> table.alter.comment("id", "who").schema.field("id").metadata
        {b'comment': b'who'}
        """
        return self._apply("set_comment", column=named("column", column), comment=arguments.words("comment", comment))

    def set_metadata(self, column: str, metadata: Mapping[str, Any]) -> Table:
        """Sets entries of your own in the metadata of ``column``: strings, numbers or booleans.

        ``metadata`` maps keys to values. None removes an entry, and entries that are not named stay.
        Keys that Delta uses itself are refused. Readers ignore these entries, and
        :attr:`Table.schema_json` shows them.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/set-metadata", pa.table({"id": [1]})).table
        >>> '"metadata":{"owner":"sales"}' in table.alter.set_metadata("id", {"owner": "sales"}).schema_json
        True
        """
        name = named("column", column)
        entries = arguments.entries("metadata", arguments.given("metadata", metadata))
        return self._apply("set_column_metadata", column=name, metadata=entries)

    def cluster_by(self, *columns: str) -> Table:
        """Sets the table's clustering columns to ``columns``, or removes them.

        Existing rows stay where they are. :meth:`Table.optimize` clusters new rows, and with
        ``full=True`` all rows.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/cluster-by", pa.table({"day": [1, 2], "id": [3, 4]})).table
        >>> table.alter.cluster_by("day", "id").detail().clustering_columns
        ('day', 'id')
        """
        return self._apply("cluster_by", columns=arguments.columns("columns", columns) or [])

    def add_constraint(self, name: str, condition: str) -> Table:
        """Adds the constraint ``name``: a ``condition`` in SQL that every row must meet, now and later.
        Null does not meet it.

        Statistics decide first about the rows that the table has; other files are read.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/constraint", pa.table({"id": [1]})).table
        >>> table.alter.add_constraint("positive", "id > 0").properties
        {'delta.constraints.positive': 'id > 0'}
        """
        return self._apply("add_constraint", name=named("name", name), condition=named("condition", condition))

    def drop_constraint(self, name: str, *, if_exists: bool = False) -> Table:
        """Drops the constraint ``name``. With ``if_exists=True`` it may be missing.

        >>> import lakebed as lb, pyarrow as pa
        >>> schema = pa.schema([("id", pa.int64())])
        >>> table = lb.create("memory://docs/drop-constraint", schema, constraints={"positive": "id > 0"})
        >>> table.alter.drop_constraint("positive").properties
        {}
        """
        return self._apply("drop_constraint", name=named("name", name), if_exists=arguments.flag("if_exists", if_exists))

    def set_properties(self, properties: Mapping[str, Any]) -> Table:
        """Sets ``properties``: Delta's, or your own. Features that they need are added to the protocol.

        - ``delta.columnMapping.mode="name"`` gives the columns of the table physical names, so that
          they can be renamed and dropped.
        - ``delta.enableRowTracking`` first gives row ids to all files, in commits of their own.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/set-properties", pa.table({"id": [1]})).table
        >>> table.alter.set_properties({"delta.appendOnly": True, "team": "blue"}).properties
        {'delta.appendOnly': 'true', 'team': 'blue'}
        """
        given = arguments.properties("properties", arguments.given("properties", properties))
        return self._apply("set_properties", properties=given)

    def unset_properties(self, *names: str, if_exists: bool = False) -> Table:
        """Removes the properties ``names``. With ``if_exists=True`` they may be missing.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/unset", pa.table({"id": [1]}), properties={"team": "blue"}).table
        >>> table.alter.unset_properties("team").properties
        {}
        """
        given = [named("names", name) for name in names]
        return self._apply("unset_properties", names=given, if_exists=arguments.flag("if_exists", if_exists))

    def set_name(self, name: str | None) -> Table:
        """Sets the ``name`` of the table, for people. None removes it.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/set-name", pa.table({"id": [1]})).table
        >>> table.alter.set_name("trips").detail().name
        'trips'
        """
        return self._apply("set_name", name=arguments.words("name", name))

    def set_description(self, description: str | None) -> Table:
        """Sets the ``description`` of the table, for people. None removes it.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/set-description", pa.table({"id": [1]})).table
        >>> table.alter.set_description("All trips.").detail().description
        'All trips.'
        """
        return self._apply("set_description", description=arguments.words("description", description))

    def add_feature(self, name: str) -> Table:
        """Adds the table feature ``name`` to the protocol. Readers and writers need to support it from then on.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/add-feature", pa.table({"id": [1]})).table
        >>> "deletionVectors" in table.alter.add_feature("deletionVectors").protocol.reader_features
        True
        """
        return self._apply("add_feature", name=named("name", name))

    def drop_feature(self, name: str, *, truncate_history: bool = False) -> DropFeatureResult:
        """Drops the table feature ``name``, so that readers and writers need not support it any more.

        The storage of rows is changed first, in commits of its own: files with deletion vectors are
        rewritten, and so are those with the physical names of column mapping or with types from
        before a type change. The meaning of the table is not changed: a constraint, a generated
        column or a column of a type is in the way. The error names everything that is in the way,
        with the call that removes it.

        If readers need the feature, versions from before the drop stay readable for readers that
        support it: the feature ``checkpointProtection`` is added, which keeps their checkpoints.
        ``truncate_history=True`` deletes these versions instead. They must be older than the property
        ``delta.dropFeatureTruncateHistory.retentionDuration``, by default 24 hours. Until then the
        call only prepares the table, and raises an error that says when the same call will succeed.

        >>> import lakebed as lb, pyarrow as pa
        >>> vectors = {"delta.enableDeletionVectors": True}
        >>> table = lb.write("memory://docs/drop-feature", pa.table({"id": [1, 2]}), properties=vectors).table
        >>> _ = table.delete("id = 2")
        >>> result = table.alter.drop_feature("deletionVectors")
        >>> result.metrics.deletion_vectors_removed, result.protected_before == result.version
        (1, True)
        >>> result.table.protocol.min_reader_version
        1
        """
        options = {**self._options, "truncate_history": arguments.flag("truncate_history", truncate_history)}
        made, feature, protected_before, first_version, metrics = self._table._table.drop_feature(named("name", name), options)
        newer = self._table._with(made)
        return DropFeatureResult(
            version=newer.version,
            metrics=DropFeatureMetrics(**metrics),
            feature=feature,
            protected_before=protected_before,
            first_version=first_version,
            table=newer,
        )


class AlterTogether(Alter):
    """Changes that become one commit at the end of the ``with`` block. See :meth:`Alter.together`.

    ``table`` is the table as of the commit. Inside the block it is the table before the changes.
    """

    def __init__(self, table: Table, options: dict[str, Any] | None = None) -> None:
        super().__init__(table, options)
        self._changes: list[dict[str, Any]] | None = None

    @property
    def table(self) -> Table:
        """The table as of the commit."""
        return self._table

    def __enter__(self) -> AlterTogether:
        self._changes = []
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        changes, self._changes = self._changes, None
        if kind is None and changes:
            self._table = self._table._with(self._table._table.alter(changes, self._options))

    def drop_feature(self, name: str, *, truncate_history: bool = False) -> DropFeatureResult:
        """Is always an error: ``name`` and ``truncate_history`` need commits of their own.

        Call :meth:`Alter.drop_feature` outside of the ``with`` block.
        """
        raise InvalidInputError(f"drop_feature({shown(name)}) needs commits of its own: call it outside of together()")

    def _apply(self, change: str, **fields: Any) -> Table:
        if self._changes is None:
            raise InvalidInputError("together() collects changes in a with block: with table.alter.together() as alter: ...")
        self._changes.append({"change": change, **fields})
        return self._table


def _position(first: bool, after: str | None) -> Any:
    if arguments.flag("first", first) and after is not None:
        raise InvalidInputError("first and after are two positions: choose one")
    if after is not None:
        return {"after": named("after", after)}
    return "first" if first else None
