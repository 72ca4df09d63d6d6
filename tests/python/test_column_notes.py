"""The notes on columns (comments, defaults, generation expressions, identity, lengths) are in the
metadata of Arrow fields, both when a table is read and when it is written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb

IDENTITY = {"delta.identity.start": "5", "delta.identity.step": "10", "delta.identity.allowExplicitInsert": "false"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def field(name: str, kind: pa.DataType, /, **metadata: str) -> pa.Field:
    return pa.field(name, kind, metadata=metadata)


def noted() -> pa.Schema:
    inner = pa.struct([field("x", pa.string(), comment="inside")])
    return pa.schema(
        [
            field("n", pa.int64(), **IDENTITY),
            field("id", pa.int64(), comment="who", pandas="left behind"),
            field("g", pa.int64(), **{"delta.generationExpression": "id * 2"}),
            field("d", pa.int32(), CURRENT_DEFAULT="7"),
            field("c", pa.string(), __CHAR_VARCHAR_TYPE_STRING="varchar(3)"),
            pa.field("s", inner),
        ]
    )


def notes(path: str) -> dict[str, dict[str, Any]]:
    fields = json.loads(lb.Table(path)._table.metadata()["schemaString"])["fields"]
    return {field["name"]: field["metadata"] for field in fields}


KEPT = {
    "n": {"delta.identity.start": 5, "delta.identity.step": 10, "delta.identity.allowExplicitInsert": False},
    "id": {"comment": "who"},
    "g": {"delta.generationExpression": "id * 2"},
    "d": {"CURRENT_DEFAULT": "7"},
    "c": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"},
    "s": {},
}

FEATURES = {"identityColumns", "generatedColumns", "allowColumnDefaults"}


def test_create_keeps_and_honours_field_metadata(path: str) -> None:
    table = lb.create(path, noted())
    assert notes(path) == KEPT
    assert set(table.protocol.writer_features) >= FEATURES
    table.append(pa.table({"id": [1, 2]}))
    assert [list(row.values())[:4] for row in lb.Table(path).to_arrow().to_pylist()] == [[5, 1, 2, 7], [15, 2, 4, 7]]
    with pytest.raises(lb.ConstraintViolationError, match="at most 3 characters"):
        lb.write(path, pa.table({"id": [3], "c": ["four"]}))


def test_schema_of_table_creates_equal_table(path: str, tmp_path: Path) -> None:
    mapped = lb.create(path, noted(), properties={"delta.columnMapping.mode": "name"})
    mapped.append(pa.table({"id": [1]}))
    again = str(tmp_path / "again")
    lb.create(again, lb.Table(path).schema)
    assert notes(again) == KEPT
    assert lb.Table(again).schema.equals(lb.Table(path).schema, check_metadata=True)
    written = str(tmp_path / "written")
    lb.write(written, pa.table({"id": [1]}, schema=pa.schema([noted().field("id")])))
    assert notes(written) == {"id": {"comment": "who"}}


def test_write_keeps_field_metadata(path: str) -> None:
    with_default = pa.schema([field("d", pa.int32(), CURRENT_DEFAULT="7"), ("x", pa.int64())])
    lb.write(path, pa.table({"d": pa.array([1], pa.int32()), "x": [1]}, schema=with_default))
    assert notes(path)["d"] == {"CURRENT_DEFAULT": "7"}
    commented = pa.schema([field("y", pa.int64(), comment="new")])
    lb.write(path, pa.table({"y": [1]}, schema=commented), schema_mode="merge")
    assert notes(path)["y"] == {"comment": "new"}
    with pytest.raises(lb.InvalidInputError, match="column z: a column that is added"):
        lb.write(path, pa.table({"z": [1]}, schema=pa.schema([field("z", pa.int64(), CURRENT_DEFAULT="1")])), schema_mode="merge")
    generated = pa.schema([("x", pa.int64()), field("g", pa.int64(), **{"delta.generationExpression": "x + 1"})])
    lb.write(path, pa.table({"x": [1], "g": [2]}, schema=generated), mode="overwrite", schema_mode="overwrite")
    assert notes(path)["g"] == {"delta.generationExpression": "x + 1"}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (
            field("g", pa.int64(), **{"delta.generationExpression": "nowhere + 1"}),
            "column g: delta.generationExpression: .*nowhere",
        ),
        (
            field("g", pa.int64(), **{"delta.generationExpression": "CAST(id AS STRING)"}),
            "string, but the type of the column is long",
        ),
        (field("g", pa.int64(), **{"delta.generationExpression": "g2"}), "column g2, which is a generated column"),
        (field("g", pa.int64(), CURRENT_DEFAULT="id"), "uses column id"),
        (field("g", pa.int64(), CURRENT_DEFAULT="'x'"), "column g: CURRENT_DEFAULT"),
        (field("g", pa.int64(), CURRENT_DEFAULT="1", **{"delta.generationExpression": "id"}), "come from only one of these"),
        (field("g", pa.int32(), **IDENTITY), "of type long, not integer"),
        (field("g", pa.int64(), **{**IDENTITY, "delta.identity.step": "0"}), "step is 0"),
        (field("g", pa.int64(), **{**IDENTITY, "delta.identity.start": "one"}), "whole number"),
        (field("g", pa.int64(), __CHAR_VARCHAR_TYPE_STRING="varchar(3)"), "does not give the lengths"),
        (field("g", pa.string(), __CHAR_VARCHAR_TYPE_STRING="varchar"), "does not give the lengths"),
        (field("g", pa.int64(), **{"delta.invariants": "g > 0"}), "invariant cannot be parsed"),
        (
            pa.field("g", pa.struct([field("x", pa.int64(), CURRENT_DEFAULT="1")])),
            "column g.x: CURRENT_DEFAULT is allowed only for whole columns",
        ),
    ],
)
def test_invalid_field_metadata_creates_no_table(path: str, wrong: pa.Field, match: str) -> None:
    second = field("g2", pa.int64(), **{"delta.generationExpression": "id"})
    with pytest.raises((lb.InvalidInputError, lb.SchemaMismatchError, lb.PredicateError), match=match):
        lb.create(path, pa.schema([("id", pa.int64()), wrong, second]))
    assert not Path(path).exists()


def test_invalid_constraint_creates_no_table(path: str) -> None:
    with pytest.raises(lb.PredicateError, match="CHECK constraint c"):
        lb.create(path, pa.schema([("id", pa.int64())]), constraints={"c": "nowhere > 0"})
    assert not Path(path).exists()


def test_identity_partition_column_is_refused(path: str) -> None:
    schema = pa.schema([field("n", pa.int64(), **IDENTITY), ("id", pa.int64())])
    with pytest.raises(lb.InvalidInputError, match="partition column cannot be an identity column"):
        lb.create(path, schema, partition_by=["n"])


@pytest.mark.spark
def test_delta_spark_honours_the_same_notes(path: str, spark: Any) -> None:
    lb.create(path, noted())
    spark.sql(f"INSERT INTO delta.`{path}` (id) VALUES (1), (2)")
    rows = spark.sql(f"SELECT n, id, g, d FROM delta.`{path}` ORDER BY id").collect()
    assert [tuple(row)[1:] for row in rows] == [(1, 2, 7), (2, 4, 7)]
    assert {row[0] % 10 for row in rows} == {5}
    with pytest.raises(Exception, match=r"(?i)exceed|length"):
        spark.sql(f"INSERT INTO delta.`{path}` (id, c) VALUES (3, 'four')")
    assert spark.read.format("delta").load(path).schema["id"].metadata.get("comment") == "who"


CHANGE_COLUMNS = ["_change_type", "_commit_version", "_commit_timestamp", "_Change_Type"]
FEED = {"delta.enableChangeDataFeed": True}


@pytest.mark.parametrize("name", CHANGE_COLUMNS)
def test_change_columns_are_refused_with_feed(path: str, tmp_path: Path, name: str) -> None:
    data = pa.table({"id": [1], name: ["x"]})
    match = f"column {name}: the change data feed adds a column of this name"
    with pytest.raises(lb.InvalidInputError, match=match):
        lb.create(path, data.schema, properties=FEED)
    with pytest.raises(lb.InvalidInputError, match=match):
        lb.write(path, data, properties=FEED)
    assert not Path(path).exists()
    table = lb.create(path, pa.schema([("id", pa.int64())]), properties=FEED)
    with pytest.raises(lb.InvalidInputError, match=match):
        lb.write(path, data, schema_mode="merge")
    with pytest.raises(lb.InvalidInputError, match=match):
        lb.write(path, data, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(lb.InvalidInputError, match=match):
        lb.create(path, data.schema, properties=FEED, mode="replace")
    merge = table.merge(data, on="target.id = source.id", schema_mode="merge")
    with pytest.raises(lb.InvalidInputError, match=match):
        merge.when_matched_update().when_not_matched_insert().execute()
    plain = str(tmp_path / "plain")
    lb.write(plain, data)
    with pytest.raises(lb.InvalidInputError, match=match):
        lb.write(plain, data, mode="overwrite", schema_mode="overwrite", properties=FEED)
    assert lb.Table(plain).to_arrow().num_rows == 1


def test_struct_field_may_be_named_change_type(path: str) -> None:
    inner = pa.struct([("_change_type", pa.string())])
    lb.create(path, pa.schema([("id", pa.int64()), ("s", inner)]), properties=FEED)
    lb.write(path, pa.table({"id": [1], "s": pa.array([{"_change_type": "x"}], inner)}))
    assert lb.Table(path).changes(start=1).to_arrow().num_rows == 1


def test_table_with_change_column_has_no_feed(path: str) -> None:
    lb.write(path, pa.table({"id": [1], "_change_type": ["x"]}))
    log = Path(path) / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"] = {"delta.enableChangeDataFeed": "true"}
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 4}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for checksum in log.parent.glob("*.crc"):
        checksum.unlink()
    table = lb.Table(path)
    assert table.to_arrow().to_pylist() == [{"id": 1, "_change_type": "x"}]
    with pytest.raises(lb.LakebedError, match="_change_type"):
        table.changes(start=0).to_arrow()


@pytest.mark.spark
def test_delta_spark_refuses_the_same_names(tmp_path: Path, spark: Any) -> None:
    for name in CHANGE_COLUMNS[:3]:
        with pytest.raises(Exception, match=r"(?i)cdc|change data|reserved"):
            spark.sql(
                f"CREATE TABLE delta.`{tmp_path / name}` (id BIGINT, {name} STRING) USING delta "
                "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
            )


def doubled(*names: str) -> pa.Table:
    return pa.table([pa.array([1])] * len(names), names=list(names))


@pytest.mark.parametrize(
    "data",
    [
        doubled("id", "ID"),
        doubled("id", "id"),
        doubled(""),
        doubled("a b"),
        pa.table({"s": pa.array([{}], pa.struct([]))}),
        pa.table({"l": pa.array([[{}]], pa.list_(pa.struct([])))}),
        pa.table({"s": pa.array([{"x": 1}], pa.struct([("x", pa.int64()), ("X", pa.int64())]))}),
        pa.table({"t": pa.array([1], pa.time64("us"))}),
        pa.table({"n": pa.nulls(1)}),
        pa.table({"id": pa.array([1])}).select([]),
        pa.table({"c": pa.array(["x"])}, schema=pa.schema([field("c", pa.string(), __CHAR_VARCHAR_TYPE_STRING="char(99999)")])),
    ],
    ids=["case", "same", "empty", "blank", "struct", "list", "fields", "time", "nulls", "none", "long"],
)
def test_invalid_columns_are_the_callers_mistake(path: str, tmp_path: Path, data: pa.Table) -> None:
    with pytest.raises((lb.InvalidInputError, lb.SchemaMismatchError, lb.UnsupportedFeatureError)):
        lb.create(path, data.schema)
    with pytest.raises((lb.InvalidInputError, lb.SchemaMismatchError, lb.UnsupportedFeatureError)):
        lb.write(path, data)
    assert not Path(path).exists()
    existing = str(tmp_path / "existing")
    table = lb.write(existing, pa.table({"other": [1]})).table
    for options in ({"schema_mode": "merge"}, {"schema_mode": "overwrite", "mode": "overwrite"}):
        if options == {"schema_mode": "merge"} and data.num_columns == 0:
            continue
        with pytest.raises((lb.InvalidInputError, lb.SchemaMismatchError, lb.UnsupportedFeatureError)):
            lb.write(existing, data, **options)
    merge = table.merge(data, on="target.other = 1", schema_mode="merge").when_not_matched_insert()
    if data.num_columns:
        with pytest.raises((lb.InvalidInputError, lb.SchemaMismatchError, lb.UnsupportedFeatureError)):
            merge.execute()
    assert lb.Table(existing).to_arrow().to_pylist() == [{"other": 1}]


@pytest.mark.parametrize(
    "schema",
    [
        "nonsense",
        '"long"',
        '{"type":"struct","fields":[{"name":"a","type":"hologram","nullable":true,"metadata":{}}]}',
        '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}},'
        '{"name":"A","type":"long","nullable":true,"metadata":{}}]}',
        '{"type":"struct","fields":[{"name":"s","type":{"type":"struct","fields":[]},"nullable":true,"metadata":{}}]}',
    ],
)
def test_schema_from_spark_is_the_callers(path: str, schema: str) -> None:
    from lakebed import _lakebed

    with pytest.raises((lb.InvalidInputError, lb.SchemaMismatchError, lb.UnsupportedFeatureError)):
        _lakebed.Table.plan_write({"uri": path, "mode": "append"}, schema)
