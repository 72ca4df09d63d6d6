"""ALTER: what each method does, what it refuses, and that Delta Spark does the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import duck
import lakebed as lb

MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def rows() -> pa.Table:
    inner = pa.struct([("x", pa.int32()), ("y", pa.string())])
    return pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "n": pa.array([10, 20, None], pa.int32()),
            "s": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}], inner),
            "l": pa.array([[{"x": 1, "y": "c"}], [], None], pa.list_(inner)),
            "p": ["u", "u", "w"],
        }
    )


def made(path: str, **properties: Any) -> lb.Table:
    return lb.write(path, rows(), partition_by="p", properties=properties).table


def refuse(kind: type[Exception], message: str, call: Callable[[], object]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


# Arguments


def test_alter_refuses_wrong_types(path: str) -> None:
    alter = made(path).alter
    refuse(TypeError, "type=7: it must be a type of pyarrow, or SQL text such as 'bigint'", lambda: alter.add_column("a", 7))
    refuse(TypeError, "name=7: it must be a string", lambda: alter.add_column(7, "int"))  # type: ignore[arg-type]
    refuse(TypeError, "name=None: a value is required", lambda: alter.rename_column("id", None))  # type: ignore[arg-type]
    refuse(TypeError, "nullable='no': it must be True or False", lambda: alter.set_nullable("id", "no"))  # type: ignore[arg-type]
    refuse(
        lb.InvalidInputError,
        "first and after are two positions: choose one",
        lambda: alter.move_column("id", first=True, after="n"),
    )
    refuse(
        lb.InvalidInputError,
        "say where to move the column id: first=True, or after= another column",
        lambda: alter.move_column("id"),
    )
    refuse(
        TypeError,
        "identity=5: it must be True, or a pair of the first number and the step",
        lambda: alter.add_column("a", "bigint", identity=5),  # type: ignore[arg-type]
    )
    assert lb.Table(path).version == 0


def test_add_column_takes_types_of_pyarrow(path: str) -> None:
    made(path)
    wide = pa.struct([pa.field("a", pa.decimal128(10, 2)), pa.field("b", pa.list_(pa.timestamp("us", "UTC")))])
    table = lb.Table(path).alter.add_columns({"w": wide, "f": pa.float32(), "t": "timestamp_ntz"})
    found = {name: str(table.schema.field(name).type) for name in ("w", "f", "t")}
    assert found == {
        "w": "struct<a: decimal128(10, 2), b: list<element: timestamp[us, tz=UTC]>>",
        "f": "float",
        "t": "timestamp[us]",
    }
    assert "timestampNtz" in (table.protocol.reader_features or ())


def test_alter_together_commits_once(path: str) -> None:
    table = made(path)
    with table.alter(user_metadata="why").together() as alter:
        alter.set_properties(MAPPED)
        alter.rename_column("s.x", "z")
        alter.add_column("l.element.q", "bigint")
        alter.comment("n", "a number")
    assert alter.table.version == 1
    assert lb.Table(path).history(limit=1)[0].user_metadata == "why"
    assert alter.table.to_arrow(columns=["s", "l"], where="id = 1").to_pylist() == [
        {"s": {"z": 1, "y": "a"}, "l": [{"x": 1, "y": "c", "q": None}]}
    ]
    with pytest.raises(lb.InvalidInputError), table.alter.together() as alter:
        add_and_fail(alter)
    assert lb.Table(path).version == 1


def add_and_fail(alter: lb.Alter) -> None:
    alter.add_column("never", "int")
    raise lb.InvalidInputError("no")


def test_values_fill_later_rows_of_empty_table(path: str) -> None:
    table = lb.create(path, pa.schema([("id", pa.int64())]))
    table = table.alter.add_column("n", "bigint", identity=(10, 5))
    table = table.alter.add_column("g", "bigint", generated="id * 2", comment="twice")
    table = table.alter.add_column("d", "int", default="7", nullable=False)
    table.append(pa.table({"id": [1, 2]}))
    assert lb.Table(path).to_arrow().to_pylist() == [
        {"id": 1, "n": 10, "g": 2, "d": 7},
        {"id": 2, "n": 15, "g": 4, "d": 7},
    ]


# Delta Spark


def widen(alter: Any) -> None:
    alter.change_type("n", "bigint")
    alter.change_type("l.element.x", "bigint")
    alter.change_type("s.x", "decimal(12,2)")


def rename(alter: Any) -> None:
    alter.rename_column("n", "m")
    alter.rename_column("s.x", "z")
    alter.rename_column("l.element.y", "w")
    alter.rename_column("p", "q")
    alter.add_column("n", "string")


def add(alter: Any) -> None:
    alter.add_columns({"a": "int", "b": "array<struct<x:date,y:decimal(5,1)>>"})
    alter.add_column("s.f", "string", after="x", comment="inside")
    alter.add_column("first", "varchar(5)", first=True)


def change(alter: Any) -> None:
    alter.comment("n", "a number")
    alter.move_column("n", first=True)
    alter.move_column("s.y", first=True)
    alter.move_column("l", after="id")


def constrain(alter: Any) -> None:
    alter.add_constraint("Positive", "id > 0")
    alter.add_constraint("other", "n IS NULL OR n < 100")
    alter.drop_constraint("positive")


def tune(alter: Any) -> None:
    alter.set_properties({"delta.enableDeletionVectors": "true", "team": "blue"})
    alter.set_properties({"delta.enableChangeDataFeed": "true"})
    alter.unset_properties("team")
    alter.set_properties({"delta.checkpointPolicy": "v2"})
    alter.set_properties({"delta.enableInCommitTimestamps": "true"})
    alter.add_feature("vacuumProtocolCheck")


#: The properties of the table, the calls, and the statements of Spark.
CASES: dict[str, tuple[dict[str, str], Callable[[Any], object], list[str]]] = {
    "add": (
        {},
        add,
        [
            "ADD COLUMNS (a int, b array<struct<x:date,y:decimal(5,1)>>)",
            "ADD COLUMNS (s.f string COMMENT 'inside' AFTER x)",
            "ADD COLUMNS (first varchar(5) FIRST)",
        ],
    ),
    "change": (
        {},
        change,
        [
            "ALTER COLUMN n COMMENT 'a number'",
            "ALTER COLUMN n FIRST",
            "ALTER COLUMN s.y FIRST",
            "ALTER COLUMN l AFTER id",
        ],
    ),
    "map": (
        {},
        lambda alter: alter.set_properties(MAPPED),
        ["SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"],
    ),
    "rename": (
        {**MAPPED, "delta.dataSkippingStatsColumns": "id,n,s.x"},
        rename,
        [
            "RENAME COLUMN n TO m",
            "RENAME COLUMN s.x TO z",
            "RENAME COLUMN l.element.y TO w",
            "RENAME COLUMN p TO q",
            "ADD COLUMNS (n string)",
        ],
    ),
    "change mapped": (
        MAPPED,
        lambda alter: (alter.comment("n", "a number"), alter.move_column("s.y", first=True)),
        ["ALTER COLUMN n COMMENT 'a number'", "ALTER COLUMN s.y FIRST"],
    ),
    "drop": (
        {**MAPPED, "delta.dataSkippingStatsColumns": "id,n,s.x"},
        lambda alter: (alter.drop_column("n", "s.x"), alter.drop_column("l.element.y")),
        ["DROP COLUMNS (n, s.x)", "DROP COLUMN l.element.y"],
    ),
    "widen": (
        {"delta.enableTypeWidening": "true"},
        widen,
        [
            "ALTER COLUMN n TYPE bigint",
            "ALTER COLUMN l.element.x TYPE bigint",
            "ALTER COLUMN s.x TYPE decimal(12,2)",
        ],
    ),
    "constraints": (
        {},
        constrain,
        [
            "ADD CONSTRAINT Positive CHECK (id > 0)",
            "ADD CONSTRAINT other CHECK (n IS NULL OR n < 100)",
            "DROP CONSTRAINT positive",
        ],
    ),
    "properties": (
        {},
        tune,
        [
            "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'team' = 'blue')",
            "SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
            "UNSET TBLPROPERTIES ('team')",
            "SET TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')",
            "SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
            "SET TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')",
        ],
    ),
    "tracking": (
        {},
        lambda alter: alter.set_properties({"delta.enableRowTracking": "true"}),
        ["SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"],
    ),
}

#: What two writers choose by themselves.
CHOSEN = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "delta.inCommitTimestampEnablementTimestamp",
)


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES)
def test_spark_alters_the_same_way(case: str, path: str, tmp_path: Path, spark: Any) -> None:
    properties, ours, statements = CASES[case]
    made(path, **properties)
    theirs = str(tmp_path / "theirs")
    shutil.copytree(path, theirs)
    ours(lb.Table(path).alter)
    for statement in statements:
        spark.sql(f"ALTER TABLE delta.`{theirs}` {statement}")
    assert definition(path) == definition(theirs)
    assert history(path) == history(theirs)
    expected = lb.Table(theirs).to_arrow().sort_by("id").to_pylist()
    assert lb.Table(path).to_arrow().sort_by("id").to_pylist() == expected
    frame = spark.read.format("delta").load(path).orderBy("id")
    assert [row.asDict(recursive=True) for row in frame.collect()] == expected
    more = lb.Table(path).to_arrow().slice(0, 1)
    spark.createDataFrame([row.asDict() for row in frame.limit(1).collect()], frame.schema).write.format("delta").mode(
        "append"
    ).save(path)
    assert lb.Table(path).append(more).table.scan().count() == 5
    assert read_elsewhere(path) == [5, 5]


@pytest.mark.spark
def test_spark_reads_lengths_of_changed_fields(path: str, spark: Any) -> None:
    lb.create(path, pa.schema([("id", pa.int64())]), properties={**MAPPED, "delta.enableTypeWidening": "true"})
    alter = lb.Table(path).alter
    alter.add_column("s", "struct<x:char(3),y:varchar(4),n:int>")
    alter.add_column("l", "array<struct<c:char(2),d:string>>")
    row = {"s": {"x": "a", "y": "b", "n": 1}, "l": [{"c": "c", "d": "d"}]}
    lb.write(path, pa.Table.from_pylist([{"id": 1, **row}]))
    alter.rename_column("s.x", "the x")
    alter.change_type("s.n", "bigint")
    alter.add_column("s.v", "varchar(2)", first=True)
    alter.move_column("s.y", first=True)
    alter.drop_column("l.element.d")
    row = {"s": {"y": "e", "v": "f", "the x": "g", "n": 2, "new": 3}, "l": [{"c": "h", "new": "i"}]}
    lb.write(path, pa.Table.from_pylist([{"id": 2, **row}]), schema_mode="merge")
    expected = [
        {"id": 1, "s": {"y": "b", "v": None, "the x": "a  ", "n": 1, "new": None}, "l": [{"c": "c ", "new": None}]},
        {"id": 2, "s": {"y": "e", "v": "f", "the x": "g  ", "n": 2, "new": 3}, "l": [{"c": "h ", "new": "i"}]},
    ]
    assert lb.Table(path).to_arrow().sort_by("id").to_pylist() == expected
    frame = spark.read.format("delta").load(path).orderBy("id")
    assert [found.asDict(recursive=True) for found in frame.collect()] == expected
    too_long = {"id": 3, "s": {"v": "abc"}}
    with pytest.raises(lb.ConstraintViolationError, match="column s allows at most 2 characters"):
        lb.write(path, pa.Table.from_pylist([too_long]))


def definition(path: str) -> tuple[Any, ...]:
    """Returns the schema, partitioning, properties and protocol, without what each writer chooses."""
    table = lb.Table(path)
    metadata = table._table.metadata()
    schema = json.loads(metadata["schemaString"], object_hook=without_names)
    chosen = {name: "" if name in CHOSEN else value for name, value in table.properties.items()}
    protocol = table.protocol
    features = [sorted(protocol.reader_features), sorted(protocol.writer_features)]
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    return schema, metadata["partitionColumns"], chosen, metadata.get("description"), versions, features


def without_names(node: dict[str, Any]) -> dict[str, Any]:
    names = ("delta.columnMapping.physicalName",)
    lists = ("readerFeatures", "writerFeatures")
    # Spark's SQL writes the names of features in lower case.
    spelled = {key.lower() if key.startswith("delta.feature.") else key: value for key, value in node.items()}
    found = {key: value for key, value in spelled.items() if key not in names}
    return {key: sorted(value) if key in lists and value else value for key, value in found.items()}


def history(path: str) -> list[tuple[str, Any]]:
    """Returns the operations and their parameters, without what each writer chooses."""
    found = []
    for file in sorted((Path(path) / "_delta_log").glob("*.json"))[1:]:
        info = next(line["commitInfo"] for line in map(json.loads, file.read_text().splitlines()) if "commitInfo" in line)
        # Spark passes IF EXISTS for every UNSET of a table that is named by its path.
        given = {key: value for key, value in info["operationParameters"].items() if key != "ifExists"}
        parameters = {key: parsed(value) for key, value in given.items()}
        found.append((info["operation"], parameters))
    return found


def parsed(value: Any) -> Any:
    try:
        return json.loads(value, object_hook=without_names) if isinstance(value, str) else value
    except json.JSONDecodeError:
        return value


def read_elsewhere(path: str) -> list[int]:
    """Returns the number of rows that deltalake and DuckDB read. The two know not every feature."""
    features = set(lb.Table(path).protocol.reader_features or ())
    found = duck.connect().execute(f"SELECT count(*) FROM delta_scan('file://{path}')").fetchall()[0][0]
    if features & {"typeWidening", "columnMapping"}:
        return [found, found]
    return [DeltaTable(path).to_pyarrow_table().num_rows if not features else found, found]
