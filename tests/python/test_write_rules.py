"""The rules of writes and their errors: schemas, constraints, defaults, generated and identity
columns, modes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed as lb


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def rows(path: str) -> list[dict[str, Any]]:
    return sorted(lb.Table(path).to_arrow().to_pylist(), key=repr)


def log_of(path: str, version: int) -> list[dict[str, Any]]:
    file = Path(path) / "_delta_log" / f"{version:020}.json"
    return [json.loads(line) for line in file.read_text().splitlines()]


def data_files(path: str) -> list[Path]:
    return list(Path(path).glob("**/*.parquet"))


def with_metadata(name: str, kind: pa.DataType, **metadata: str) -> pa.Field:
    return pa.field(name, kind, metadata=metadata)


def spark_table(
    path: str, fields: list[dict[str, Any]], features: list[str], configuration: dict[str, str] | None = None
) -> None:
    """Creates a table without rows, like another writer."""
    schema = {"type": "struct", "fields": [{"nullable": True, "metadata": {}, **field} for field in fields]}
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    metadata = {
        "id": "6e1b1ed2-3bd9-4d4e-a1f7-4d1d5fbd6d84",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": configuration or {},
    }
    log = Path(path) / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n" + json.dumps({"metaData": metadata}) + "\n")


def test_plain_table_has_oldest_protocol(path: str) -> None:
    lb.write(path, pa.table({"id": [1]}), partition_by=[])
    protocol = lb.Table(path).protocol
    assert (protocol.min_reader_version, protocol.min_writer_version, protocol.writer_features) == (1, 2, ())


def test_unfit_data_is_refused_with_differences(path: str) -> None:
    lb.write(path, pa.table({"id": pa.array([1], pa.int64()), "at": pa.array([None], pa.timestamp("us", "UTC"))}))
    with pytest.raises(lb.SchemaMismatchError) as caught:
        lb.write(path, pa.table({"id": ["x"], "at": pa.array([None], pa.timestamp("us")), "new": [1]}))
    assert str(caught.value) == (
        f"file://{path}: the data does not fit into the table:\n"
        "  ~ id: long in the table, string in the data (parse the strings first)\n"
        "  ~ at: timestamp in the table, timestamp_ntz in the data (the table's values are instants: give the data's column a time zone, such as UTC)\n"
        "  + new: long is in the data, not in the table\n"
        'schema_mode="merge" adds new columns to the table, schema_mode="overwrite" replaces its schema'
    )
    assert len(data_files(path)) == 1
    assert lb.Table(path).version == 0


def test_columns_match_by_name_in_any_order(path: str) -> None:
    lb.write(path, pa.table({"Id": [1], "Name": ["a"]}))
    lb.write(path, pa.table({"NAME": ["b"], "ID": [2]}))
    assert rows(path) == [{"Id": 1, "Name": "a"}, {"Id": 2, "Name": "b"}]


def test_columns_that_the_data_lacks_are_null(path: str) -> None:
    lb.write(path, pa.table({"id": [1], "name": ["a"]}))
    lb.write(path, pa.table({"id": [2]}))
    assert rows(path) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


def test_numbers_are_narrowed_without_loss(path: str) -> None:
    schema = pa.schema([("b", pa.int8()), ("f", pa.float32()), ("d", pa.decimal128(5, 2))])
    lb.create(path, schema)
    lb.write(path, pa.table({"b": [127], "f": [0.5], "d": [Decimal("1.2300")]}))
    assert rows(path) == [{"b": 127, "f": 0.5, "d": Decimal("1.23")}]
    with pytest.raises(lb.SchemaMismatchError, match="column b: 128 does not fit into its type byte"):
        lb.write(path, pa.table({"b": [128]}))
    with pytest.raises(lb.SchemaMismatchError, match=r"column f: 0.1 has more digits .* on_lossy"):
        lb.write(path, pa.table({"f": [0.1]}))
    with pytest.raises(lb.SchemaMismatchError, match=r"column d: 1.235 has more digits"):
        lb.write(path, pa.table({"d": [Decimal("1.235")]}))
    lb.write(path, pa.table({"f": [0.1]}), on_lossy="truncate")
    assert lb.Table(path).count() == 2


def test_nanoseconds_are_refused_or_let_go(path: str) -> None:
    fine = pa.table({"t": pa.array([1_000], pa.timestamp("ns", "UTC"))})
    finer = pa.table({"t": pa.array([1_001], pa.timestamp("ns", "UTC"))})
    lb.write(path, fine)
    with pytest.raises(lb.SchemaMismatchError, match="has more digits"):
        lb.write(path, finer)
    lb.write(path, finer, on_lossy="truncate")
    expected = {"t": datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=timezone.utc)}
    assert rows(path) == [expected, expected]


def test_constraint_refuses_null(path: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.float64())])
    lb.create(path, schema, constraints={"positive": "v > 0 AND id < 100"})
    lb.write(path, pa.table({"id": [1], "v": [0.5]}))
    with pytest.raises(lb.ConstraintViolationError, match=r"CHECK constraint positive \(v > 0 AND id < 100\).*v = -1.0"):
        lb.write(path, pa.table({"id": [2, 3], "v": [1.0, -1.0]}))
    with pytest.raises(lb.ConstraintViolationError, match="v = NULL"):
        lb.write(path, pa.table({"id": [2], "v": pa.array([None], pa.float64())}))
    with pytest.raises(lb.ConstraintViolationError, match="column id must not be null"):
        lb.write(path, pa.table({"id": pa.array([None], pa.int64()), "v": [1.0]}))
    with pytest.raises(lb.SchemaMismatchError, match="- id: long may not be null and is not in the data"):
        lb.write(path, pa.table({"v": [1.0]}))
    assert len(data_files(path)) == 1
    assert rows(path) == [{"id": 1, "v": 0.5}]
    assert lb.Table(path).protocol.min_writer_version == 3


def test_nulls_inside_structs_and_lists_are_checked(path: str) -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    schema = pa.schema([("s", inner), ("l", pa.list_(pa.field("element", pa.int64(), nullable=False)))])
    lb.create(path, schema)
    loose = pa.struct([("x", pa.int64())])
    lb.write(path, pa.table({"s": pa.array([{"x": 1}, None], loose), "l": pa.array([[1], None])}))
    with pytest.raises(lb.ConstraintViolationError, match=r"column s\.x must not be null"):
        lb.write(path, pa.table({"s": pa.array([{"x": None}], loose)}))
    with pytest.raises(lb.ConstraintViolationError, match=r"column l\.element must not be null"):
        lb.write(path, pa.table({"l": pa.array([[1, None]])}))
    assert lb.Table(path).count() == 2


def test_generated_columns_are_computed_or_checked(path: str) -> None:
    fields = [
        {"name": "at", "type": "timestamp"},
        {"name": "day", "type": "date", "metadata": {"delta.generationExpression": "CAST(at AS DATE)"}},
        {"name": "twice", "type": "integer", "metadata": {"delta.generationExpression": "year(at) * 2"}},
    ]
    spark_table(path, fields, ["generatedColumns"])
    moment = datetime(2024, 5, 6, 7, tzinfo=timezone.utc)
    lb.write(path, pa.table({"at": pa.array([moment, None], pa.timestamp("us", "UTC"))}))
    found = rows(path)
    assert {(row["day"] and row["day"].isoformat(), row["twice"]) for row in found} == {("2024-05-06", 4048), (None, None)}
    with pytest.raises(lb.ConstraintViolationError, match="column twice is generated as"):
        lb.write(path, pa.table({"at": pa.array([moment], pa.timestamp("us", "UTC")), "twice": pa.array([1], pa.int32())}))


def test_defaults_fill_missing_columns_only(path: str) -> None:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "v", "type": "string", "metadata": {"CURRENT_DEFAULT": "concat('a', 'b')"}},
    ]
    spark_table(path, fields, ["allowColumnDefaults"])
    lb.write(path, pa.table({"id": [1]}))
    lb.write(path, pa.table({"id": [2], "v": pa.array([None], pa.string())}))
    assert rows(path) == [{"id": 1, "v": "ab"}, {"id": 2, "v": None}]


def test_identity_columns_continue_their_numbers(path: str) -> None:
    identity = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": False}
    fields = [{"name": "id", "type": "long", "metadata": identity}, {"name": "v", "type": "string"}]
    spark_table(path, fields, ["identityColumns"])
    lb.write(path, pa.table({"v": ["a", "b"]}))
    lb.write(path, pa.table({"v": ["c"]}))
    assert rows(path) == [{"id": 10, "v": "a"}, {"id": 15, "v": "b"}, {"id": 20, "v": "c"}]
    with pytest.raises(lb.InvalidInputError, match="column id is an identity column that is always generated"):
        lb.write(path, pa.table({"id": [1], "v": ["d"]}))
    last = log_of(path, 2)
    assert last[0]["commitInfo"]["tags"] == {"delta.identity.schemaUpdate": "true"}
    schema = json.loads(next(line["metaData"] for line in last if "metaData" in line)["schemaString"])
    assert schema["fields"][0]["metadata"]["delta.identity.highWaterMark"] == 20


def test_invariants_and_lengths_hold(path: str) -> None:
    invariant = json.dumps({"expression": {"expression": "v > 3"}})
    fields = [
        {"name": "v", "type": "integer", "metadata": {"delta.invariants": invariant}},
        {"name": "c", "type": "string", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}},
    ]
    spark_table(path, fields, ["invariants"])
    lb.write(path, pa.table({"v": pa.array([4], pa.int32()), "c": ["äöü"]}))
    with pytest.raises(lb.ConstraintViolationError, match="the invariant of column v"):
        lb.write(path, pa.table({"v": pa.array([3], pa.int32())}))
    with pytest.raises(lb.ConstraintViolationError, match="column c allows at most 3 characters"):
        lb.write(path, pa.table({"v": pa.array([4], pa.int32()), "c": ["abcd"]}))
    assert rows(path) == [{"v": 4, "c": "äöü"}]


def test_append_only_tables_are_appended_to_only(path: str) -> None:
    lb.write(path, pa.table({"id": [1]}), properties={"delta.appendOnly": True})
    lb.write(path, pa.table({"id": [2]}))
    with pytest.raises(lb.InvalidInputError, match="append-only"):
        lb.write(path, pa.table({"id": [3]}), mode="overwrite")
    assert rows(path) == [{"id": 1}, {"id": 2}]
    assert len(data_files(path)) == 2


def test_modes_meet_a_table_that_is_there(path: str) -> None:
    lb.write(path, pa.table({"id": [1]}), mode="error")
    exists = f"^file://{re.escape(path)}: a table exists already"
    with pytest.raises(lb.TableExistsError, match=exists) as caught:
        lb.write(path, pa.table({"id": [2]}), mode="error")
    assert isinstance(caught.value, FileExistsError)
    result = lb.write(path, pa.table({"id": [2]}), mode="ignore")
    assert (result.committed, result.version) == (False, 0)
    with pytest.raises(lb.TableExistsError, match=exists):
        lb.create(path, pa.schema([("id", pa.int64())]))
    assert lb.create(path, pa.schema([("id", pa.int64())]), mode="ignore").version == 0
    replaced = lb.create(path, pa.schema([("x", pa.string())]), mode="replace")
    assert (replaced.version, replaced.schema.names, replaced.count()) == (1, ["x"], 0)
    assert lb.Table(path, version=0).count() == 1


def test_write_with_txn_is_done_once(path: str) -> None:
    data = pa.table({"id": [1]})
    assert lb.write(path, data, txn=("job", 1)).committed
    assert not lb.write(path, data, txn=("job", 1)).committed
    assert lb.write(path, data, txn=("job", 2)).committed
    assert not lb.write(path, data, txn=("job", 0)).committed
    assert lb.write(path, data, txn=("other", 0)).committed
    assert lb.Table(path).count() == 3
    assert len(data_files(path)) == 3


def test_overwrite_rows_must_meet_where(path: str) -> None:
    lb.write(path, pa.table({"id": [1, 2]}))
    with pytest.raises(lb.ConstraintViolationError, match=r"the predicate of the overwrite \(id >= 2\)"):
        lb.write(path, pa.table({"id": [1]}), mode="overwrite", where="id >= 2")
    assert rows(path) == [{"id": 1}, {"id": 2}]
    assert len(data_files(path)) == 1


def test_replace_where_leaves_files_without_matches_alone(path: str) -> None:
    lb.write(path, pa.table({"id": [1, 2]}))
    lb.write(path, pa.table({"id": [10, 11]}))
    lb.write(path, pa.table({"id": [20, 21]}))
    result = lb.write(path, pa.table({"id": [12]}), mode="overwrite", where="id BETWEEN 10 AND 20")
    assert (result.metrics.removed_files, result.metrics.copied_rows) == (2, 1)
    assert sorted(row["id"] for row in rows(path)) == [1, 2, 12, 21]
    info = log_of(path, 3)[0]["commitInfo"]
    assert info["operationParameters"] == {"mode": "Overwrite", "partitionBy": "[]", "predicate": "id BETWEEN 10 AND 20"}
    assert info["operationMetrics"]["numCopiedRows"] == "1"
    assert info["isBlindAppend"] is False


def test_the_history_says_what_was_done(path: str) -> None:
    lb.write(path, pa.table({"id": [1, 2], "p": ["a", "b"]}), partition_by="p", user_metadata="first")
    entry = lb.Table(path).history()[0]
    assert (entry.operation, entry.user_metadata, entry.is_blind_append, entry.isolation_level) == (
        "WRITE",
        "first",
        True,
        "Serializable",
    )
    assert entry.parameters == {"mode": "Append", "partitionBy": '["p"]'}
    assert {name: entry.metrics[name] for name in ("numFiles", "numOutputRows")} == {"numFiles": "2", "numOutputRows": "2"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partition_by": ["nope"]}, "partition column nope is not in the schema"),
        ({"partition_by": ["id", "v"]}, "all columns are partition columns"),
        ({"partition_by": ["id"], "cluster_by": ["v"]}, "cannot be both partitioned and clustered"),
        ({"properties": {"delta.enableDeletionVector": "true"}}, "did you mean delta.enableDeletionVectors"),
        ({"properties": {"delta.checkpointInterval": "no"}}, "must be a whole number above 0"),
        ({"properties": {"delta.enableIcebergCompatV2": True}}, "set delta.columnMapping.mode"),
        ({"mode": "upsert"}, "it must be one of append, overwrite, error, ignore"),
        ({"compression": "brotli"}, "it must be none, snappy, zstd"),
        ({"where": "id = 1"}, 'where needs mode="overwrite"'),
        ({"bloom_columns": ["nope"]}, "there is no column nope"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(path: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(lb.InvalidInputError, match=message):
        lb.write(path, pa.table({"id": [1], "v": ["a"]}), **given)
    assert not data_files(path)


@pytest.mark.parametrize(
    ("cluster_by", "message"),
    [
        ("nope", "cluster_by: there is no column nope; there are: id, l"),
        (["id", "ID"], "ID is given twice"),
        ("l", "cluster_by: column l: rows cannot be ordered by values of its type"),
        ("l.element", "cluster_by: column l.element: rows cannot be ordered by values inside arrays and maps"),
    ],
)
def test_columns_that_cannot_cluster_rows_are_refused(path: str, cluster_by: Any, message: str) -> None:
    with pytest.raises(lb.InvalidInputError, match=message):
        lb.write(path, pa.table({"id": [1], "l": [[1]]}), cluster_by=cluster_by)
    assert not data_files(path)


def test_cluster_by_names_columns_as_sql(path: str) -> None:
    """A dot between backticks is part of a name."""
    data = pa.table({"a.b": [1], "c": pa.array([{"d.e": 2}])})
    lb.write(path, data, cluster_by=["`a.b`", "c.`d.e`"])
    domain = next(action["domainMetadata"] for action in log_of(path, 0) if "domainMetadata" in action)
    assert json.loads(domain["configuration"])["clusteringColumns"] == [["a.b"], ["c", "d.e"]]


def test_columns_without_type_or_name_are_refused(path: str) -> None:
    with pytest.raises(lb.SchemaMismatchError, match="column v contains only nulls"):
        lb.write(path, pa.table({"v": pa.nulls(1)}))
    with pytest.raises(lb.InvalidInputError, match="column names must not contain blanks"):
        lb.write(path, pa.table({"a b": [1]}))
    with pytest.raises(lb.SchemaMismatchError, match="more than once"):
        lb.write(path, pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "A"]))


def test_unknown_writer_feature_is_refused_by_name(path: str) -> None:
    spark_table(path, [{"name": "id", "type": "long"}], ["appendOnly", "flyingCarpets", "collations"])
    assert lb.Table(path).count() == 0
    with pytest.raises(lb.UnsupportedFeatureError) as caught:
        lb.write(path, pa.table({"id": [1]}))
    assert caught.value.features == ["flyingCarpets", "collations"]
    assert not data_files(path)


def test_a_table_keeps_its_partitioning_and_properties(path: str) -> None:
    lb.write(path, pa.table({"id": [1], "p": ["a"]}), partition_by="p", properties={"team": "blue"})
    lb.write(path, pa.table({"id": [1], "p": ["a"]}), partition_by="P", properties={"team": "blue"})
    with pytest.raises(lb.InvalidInputError, match="the table is partitioned by"):
        lb.write(path, pa.table({"id": [1], "p": ["a"]}), partition_by="id")
    with pytest.raises(lb.InvalidInputError, match='the property team is "blue", not "red"'):
        lb.write(path, pa.table({"id": [1], "p": ["a"]}), properties={"team": "red"})
    assert lb.Table(path).version == 1


def configuration(path: str) -> dict[str, str]:
    """Returns the configuration of the newest metadata in the log."""
    actions = [action for version in range(lb.Table(path).version + 1) for action in log_of(path, version)]
    newest: dict[str, str] = [action["metaData"] for action in actions if "metaData" in action][-1]["configuration"]
    return newest


def test_new_row_tracking_names_id_columns(path: str) -> None:
    lb.write(path, {"id": [1]})
    lb.write(path, {"id": [2]}, mode="overwrite", schema_mode="overwrite", properties={"delta.enableRowTracking": True})
    kept = configuration(path)
    names = {kept[f"delta.rowTracking.materialized{what}ColumnName"] for what in ("RowId", "RowCommitVersion")}
    assert len(names) == 2
    # The names stay unchanged, because files that are written later may have these columns.
    lb.write(path, {"id": [3]}, mode="overwrite", schema_mode="overwrite")
    assert configuration(path) == kept


def test_iceberg_compatibility_is_refused_if_unreadable(path: str) -> None:
    lb.write(path, {"id": [1]})
    with pytest.raises(lb.InvalidInputError, match=r"set delta\.columnMapping\.mode to name or id as well"):
        lb.write(path, {"id": [2]}, mode="overwrite", schema_mode="overwrite", properties={"delta.enableIcebergCompatV2": True})
    assert lb.Table(path).version == 0


def test_overwrite_that_enables_iceberg_compatibility_gives_nested_ids(path: str) -> None:
    mapped = {"delta.columnMapping.mode": "name"}
    lists = pa.table({"l": pa.array([[1]], pa.list_(pa.int64())), "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))})
    lb.write(path, lists, properties=mapped)
    compatible = {"delta.enableIcebergCompatV2": True}
    lb.write(path, lists, mode="overwrite", schema_mode="overwrite", properties=compatible)
    fields = json.loads(lb.Table(path).schema_json)["fields"]
    names = [field["metadata"]["delta.columnMapping.physicalName"] for field in fields]
    nested = [field["metadata"]["delta.columnMapping.nested.ids"] for field in fields]
    assert [set(ids) for ids in nested] == [{f"{names[0]}.element"}, {f"{names[1]}.key", f"{names[1]}.value"}]
    assert sorted(number for ids in nested for number in ids.values()) == [3, 4, 5]


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_iceberg_compatible_table_keeps_its_partition_columns(path: str, version: str) -> None:
    properties = {"delta.columnMapping.mode": "name", f"delta.enableIcebergCompat{version}": "true"}
    lb.write(path, {"p": [1], "q": [2], "v": [3]}, partition_by="p", properties=properties)
    refused = pytest.raises(lb.InvalidInputError, match=r'partitioned by \["p"\] and cannot be partitioned by \["q"\]')
    with refused:
        lb.write(path, {"p": [1], "q": [2], "v": [3]}, mode="overwrite", schema_mode="overwrite", partition_by="q")
    with refused:
        lb.create(
            path, pa.schema([("q", pa.int64()), ("v", pa.int64())]), mode="replace", partition_by="q", properties=properties
        )
    assert lb.Table(path).version == 0


def test_replaced_table_is_read_by_time(path: str) -> None:
    with_times = {"delta.enableInCommitTimestamps": True}
    lb.write(path, {"id": [1]})
    lb.write(path, {"id": [2]}, mode="overwrite", schema_mode="overwrite", properties=with_times)
    schema = pa.schema([("other", pa.string())])
    lb.create(path, schema, mode="replace", properties=with_times)
    assert configuration(path)["delta.inCommitTimestampEnablementVersion"] == "1"
    times = {entry.version: entry.timestamp for entry in lb.Table(path).history()}
    assert lb.Table(path, timestamp=times[0]).to_arrow().to_pydict() == {"id": [1]}
    assert lb.Table(path, timestamp=times[1]).to_arrow().to_pydict() == {"id": [2]}
    assert lb.Table(path, timestamp=times[2]).to_arrow().to_pydict() == {"other": []}


def test_write_of_nested_slices_keeps_rows(path: str) -> None:
    inner = pa.struct([("y", pa.int64()), ("list", pa.list_(pa.struct([("z", pa.int64())])))])
    outer = pa.struct([("in", inner), ("map", pa.map_(pa.string(), inner))])
    values: list[Any] = [{"y": number, "list": [{"z": number}] * (number % 3)} for number in range(10)]
    values[6] = None
    nested = pa.array([{"in": value, "map": [("k", value)]} for value in values], outer)
    table = pa.table({"id": range(10), "st": nested})
    for first, count in ((5, 5), (3, 4), (0, 2), (9, 1)):
        lb.write(path, table.slice(first, count), mode="overwrite")
        found = sorted(lb.Table(path).to_arrow().to_pylist(), key=lambda row: row["id"])
        assert [row["id"] for row in found] == list(range(first, first + count))
        assert [row["st"]["in"] for row in found] == values[first : first + count]
        assert [row["st"]["map"] for row in found] == [[("k", value)] for value in values[first : first + count]]


def test_failing_data_commits_nothing(path: str) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": [1]})
        raise ValueError("the source broke off")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    with pytest.raises(lb.InvalidInputError, match="the source broke off"):
        lb.write(path, reader)
    assert not Path(path, "_delta_log").exists()
    # A reader that was read to its end has no rows, and lakebed accepts it.
    assert lb.write(path, reader).metrics.output_rows == 0


def test_frames_of_all_kinds_go_in(path: str) -> None:
    lb.write(path, pd.DataFrame({"id": [1], "name": ["a"]}, index=[7]))
    lb.write(path, pd.DataFrame({"name": ["b"]}, index=pd.Index([2], name="id")))
    lb.write(path, pl.DataFrame({"id": [3], "name": ["c"]}))
    lb.write(path, {"id": [4], "name": ["d"]})
    lb.write(path, [{"id": 5, "name": "e"}])
    lb.write(path, pa.record_batch({"id": [6], "name": ["f"]}))
    lb.write(path, lb.Table(path).scan(where="id = 1"))
    assert [row["id"] for row in rows(path)] == [1, 1, 2, 3, 4, 5, 6]
    with pytest.raises(lb.InvalidInputError, match="a lazy frame has no rows yet"):
        lb.write(path, pl.LazyFrame({"id": [3]}))
    with pytest.raises(lb.InvalidInputError, match="not Arrow data"):
        lb.write(path, 7)


@pytest.mark.parametrize("partition_by", [None, "part"])
def test_distinct_columns_have_no_dictionary(path: str, partition_by: str | None) -> None:
    numbers = range(20_000)
    columns = {
        "different": pa.array([number * 7_919 % 1_000_003 for number in numbers], pa.int64()),
        "few": pa.array([number % 100 for number in numbers], pa.int64()),
        "different_texts": [f"text {number * 7_919 % 1_000_003}" for number in numbers],
        "few_texts": [f"text {number % 100}" for number in numbers],
        "part": [number % 2 for number in numbers],
    }
    lb.write(path, pa.table(columns), partition_by=partition_by)
    files = data_files(path)
    assert len(files) == (2 if partition_by else 1)
    for file in files:
        group = pq.read_metadata(file).row_group(0)
        chunks = {chunk.path_in_schema: chunk for chunk in map(group.column, range(group.num_columns))}
        with_dictionary = {name: chunk.has_dictionary_page for name, chunk in chunks.items() if name != "part"}
        assert with_dictionary == {"different": False, "few": True, "different_texts": False, "few_texts": True}
    expected = pa.table(columns).sort_by("different").to_pylist()
    assert lb.Table(path).to_arrow().sort_by("different").to_pylist() == expected


def test_a_reader_that_fails_leaves_nothing(path: str) -> None:
    lb.write(path, pa.table({"id": [0]}))

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": list(range(100_000))})
        raise RuntimeError("the source broke")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    with pytest.raises(lb.InvalidInputError, match=r"the data could not be read.*the source broke"):
        lb.write(path, reader)
    assert rows(path) == [{"id": 0}]
    assert len(data_files(path)) == 1
    assert lb.Table(path).version == 0


def test_overwrite_may_read_its_own_table(path: str) -> None:
    table = lb.write(path, pa.table({"id": list(range(10))})).table
    table.overwrite(table.scan(where="id % 2 = 0"))
    assert [row["id"] for row in rows(path)] == [0, 2, 4, 6, 8]


def test_append_by_old_handle_extends_newest(path: str) -> None:
    first = lb.write(path, pa.table({"id": [1]})).table
    first.append(pa.table({"id": [2]}))
    first.append(pa.table({"id": [3]}))
    assert (first.version, first.count(), lb.Table(path).count()) == (0, 1, 3)


def test_dynamic_overwrite_ignores_partition_spelling(path: str) -> None:
    def at(hour: int) -> pa.Table:
        moment = datetime(2024, 1, 1, hour, tzinfo=timezone.utc)
        return pa.table({"id": [hour], "at": pa.array([moment], pa.timestamp("us", "UTC"))})

    lb.write(path, at(0), partition_by="at")
    lb.write(path, at(1))
    # Version 0 gets the spelling of a writer that stores timestamps without a zone.
    commit = Path(path) / "_delta_log" / f"{0:020}.json"
    commit.write_text(commit.read_text().replace("2024-01-01T00:00:00.000000Z", "2024-01-01 00:00:00"))
    again = at(0).set_column(0, "id", pa.array([100]))
    result = lb.write(path, again, mode="overwrite", partitions="dynamic")
    assert result.metrics.removed_files == 1
    assert sorted(row["id"] for row in rows(path)) == [1, 100]


def test_equal_partition_strings_share_files(path: str) -> None:
    """Null and the empty string are equal, and so are NaN values of any bits."""
    nans = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000] * 2, np.uint64).view(np.float64)
    data = pa.table({"id": range(6), "text": ["", None, "a", None, "", "a"], "number": nans})
    for partition_by, texts, files in (("text", [None, None, "a", None, None, "a"], 2), ("number", data["text"].to_pylist(), 1)):
        result = lb.write(f"{path}/{partition_by}", data, partition_by=partition_by)
        found = result.table.to_arrow().sort_by("id")
        assert (found["id"].to_pylist(), found["text"].to_pylist()) == (list(range(6)), texts)
        assert (result.metrics.added_files, len(data_files(f"{path}/{partition_by}"))) == (files, files)


_MANY = """
import os, sys
import numpy as np
import pyarrow as pa
import lakebed as lb

def batches():
    for first in range(0, 400_000, 20_000):
        numbers = np.arange(first, first + 20_000)
        yield pa.record_batch({"id": numbers, "p": numbers * 7_919 % 600, "text": (numbers % 1_000).astype(str)})

first = next(batches())
reader = pa.RecordBatchReader.from_batches(first.schema, batches())
properties = {"delta.autoOptimize.optimizeWrite": sys.argv[2] == "true"} if len(sys.argv) > 2 else {}
properties["delta.enableRowTracking"] = True
print(lb.write(sys.argv[1], reader, partition_by="p", properties=properties).metrics.added_files)
"""


@pytest.mark.parametrize(("given", "least", "most"), [([], 600, 600), (["true"], 600, 600), (["false"], 1_800, 10_000)])
def test_many_partitions_make_few_files(path: str, tmp_path: Path, given: list[str], least: int, most: int) -> None:
    """Rows that do not fit in memory spill to a temporary file, unless the table disables this."""
    spill = tmp_path / "spill"
    spill.mkdir()
    done = written_with_little_memory(path, spill, *given)
    assert done.returncode == 0, done.stderr
    assert least <= int(done.stdout) <= most
    assert len(data_files(path)) == int(done.stdout)
    assert list(spill.iterdir()) == []
    found = lb.Table(path).to_arrow(["id", "p", "text"]).sort_by("id")
    ids = np.arange(400_000)
    assert found["id"].to_numpy().tolist() == ids.tolist()
    assert found["p"].to_numpy().tolist() == (ids * 7_919 % 600).tolist()
    assert found["text"].to_pylist() == (ids % 1_000).astype(str).tolist()


def test_write_without_temporary_space_leaves_nothing(path: str, tmp_path: Path) -> None:
    done = written_with_little_memory(path, tmp_path / "missing")
    assert done.returncode == 1
    assert re.search(r"StoreError: .*temporary file in .*missing failed.*LAKEBED_SPILL_DIR", done.stderr)
    assert data_files(path) == []


def written_with_little_memory(path: str, spill: Path, *given: str) -> subprocess.CompletedProcess[str]:
    """Runs `_MANY` with a memory limit that holds a sixth of the rows."""
    limits = {"LAKEBED_MEMORY_LIMIT": str(6 << 20), "LAKEBED_SPILL_DIR": str(spill)}
    command = [sys.executable, "-W", "ignore", "-c", _MANY, path, *given]
    return subprocess.run(command, env=os.environ | limits, capture_output=True, text=True, check=False)


_ENDS_AT_WORK = """
import sys, threading, time
import numpy as np
import pyarrow as pa
import lakebed as lb

def batches():
    while True:
        numbers = np.arange(20_000)
        yield pa.record_batch({"id": numbers, "p": numbers % 60})
        is_asked.set()
        time.sleep(float(sys.argv[2]))

is_asked = threading.Event()
reader = pa.RecordBatchReader.from_batches(next(batches()).schema, batches())
is_asked.clear()
threading.Thread(target=lb.write, args=(sys.argv[1], reader), kwargs={"partition_by": "p"}, daemon=True).start()
is_asked.wait()
sys.exit(3)
"""


@pytest.mark.parametrize("pause_s", ["0", "60"])
def test_process_may_end_while_rows_are_read(path: str, pause_s: str) -> None:
    """A thread that requests rows while the interpreter ends would crash it."""
    command = [sys.executable, "-W", "ignore", "-c", _ENDS_AT_WORK, path, pause_s]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 3, done.stderr
    # The thread may or may not print its error.
    assert "panicked" not in done.stderr


_WRITES_AT_EXIT = """
import atexit, concurrent.futures.thread, sys
import pyarrow as pa

def last():
    schema = pa.schema({"id": pa.int64()})
    batches = (pa.record_batch({"id": [number]}, schema) for number in range(3))
    print(lb.write(sys.argv[1], pa.RecordBatchReader.from_batches(schema, batches)).metrics.output_rows)

atexit.register(last)
import lakebed as lb
"""


def test_write_at_exit_works(path: str) -> None:
    done = subprocess.run([sys.executable, "-c", _WRITES_AT_EXIT, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_nan_columns_have_no_file_bounds(path: str) -> None:
    """Spark orders NaN above all numbers. It would skip row groups by bounds that leave NaN out."""
    nan = float("nan")
    single = pa.array([1.0, nan], pa.float32())
    data = {"a": [1.0, nan], "b": single, "c": [1.0, 2.0], "d": [{"e": nan, "f": 1}, {"e": 1.0, "f": 2}], "g": [[nan], [1.0]]}
    lb.write(path, pa.table(data))
    (file,) = data_files(path)
    group = pq.read_metadata(file).row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    found = {column.path_in_schema: column.statistics.has_min_max for column in columns}
    assert found == {"a": False, "b": False, "c": True, "d.e": False, "d.f": True, "g.list.element": False}
    assert [column.statistics.null_count for column in columns] == [0] * 6
    assert [column.has_column_index for column in columns] == list(found.values())


def _void_in_struct() -> list[dict[str, Any]]:
    inner = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in (("a", "long"), ("v", "void"))]
    return [{"name": "id", "type": "long"}, {"name": "s", "type": {"type": "struct", "fields": inner}}]


def test_void_struct_field_has_no_column(path: str) -> None:
    spark_table(path, _void_in_struct(), [])
    lb.write(path, pa.table({"id": [1, 2], "s": [{"a": 1, "v": None}, {"a": 2, "v": None}]}))
    lb.write(path, pa.table({"id": [3], "s": [{"a": 3}]}))
    assert rows(path) == [{"id": number, "s": {"a": number, "v": None}} for number in (1, 2, 3)]
    for file in data_files(path):
        assert pq.read_schema(file).field("s").type == pa.struct([("a", pa.int64())])


@pytest.mark.spark
def test_delta_spark_reads_beside_void_field(path: str, spark: Any) -> None:
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta AS SELECT 1L id, named_struct('a', 1L, 'v', null) s")
    lb.write(path, pa.table({"id": [2], "s": [{"a": 2, "v": None}]}))
    lb.Table(path).update({"id": "id + 10"}, where="id = 1")
    found = spark.read.format("delta").load(path).collect()
    assert sorted((row.id, row.s.a, row.s.v) for row in found) == [(2, 2, None), (11, 1, None)]


def test_metadata_with_unlisted_feature_is_refused(path: str) -> None:
    spark_table(path, [{"name": "id", "type": "long"}], [], {"delta.appendOnly": "true"})
    for use in (lambda: lb.Table(path), lambda: lb.write(path, pa.table({"id": [1]}))):
        with pytest.raises(lb.CorruptTableError, match="features that the protocol does not list: appendOnly"):
            use()
