"""Conversions of Iceberg tables: the rows that pyiceberg reads, the engines that read the table, and
the tables that are refused.
"""

from __future__ import annotations

import datetime
import gzip
import json
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

import lakebed as lb
from stores.gateway import S3
from test_clone import of_kind
from writes import read

DAY = datetime.date(2024, 1, 2)
WALL = datetime.datetime(2024, 1, 2, 3, 4, 5, 678_901)
INSTANT = WALL.replace(tzinfo=datetime.timezone.utc)


class Lake:
    """A catalog of Iceberg tables in one folder."""

    def __init__(self, folder: Path) -> None:
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        self.catalog.create_namespace("n")
        self.tables = 0

    def table(self, *fields: NestedField, by: tuple[PartitionField, ...] = (), **properties: str) -> IcebergTable:
        self.tables += 1
        name = f"n.t{self.tables}"
        return self.catalog.create_table(name, Schema(*fields), partition_spec=PartitionSpec(*by), properties=properties)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    lake = Lake(tmp_path_factory.mktemp("iceberg"))
    yield lake
    lake.catalog.close()


def folder_of(table: IcebergTable) -> Path:
    return Path(table.location().removeprefix("file://"))


def identity(source: int, name: str) -> PartitionField:
    return PartitionField(source, 1000 + source, IdentityTransform(), name)


def append(table: IcebergTable, rows: list[dict[str, Any]]) -> None:
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))


def expected(table: IcebergTable) -> list[str]:
    """Returns the rows that pyiceberg reads."""
    return read.canonical(table.scan().to_arrow().to_pylist())


def convert(table: IcebergTable, **options: Any) -> lb.Table:
    """Converts a table, and checks that it has the rows that pyiceberg reads."""
    result = lb.convert(folder_of(table), **options)
    assert result.table is not None
    assert read.canonical(result.table.to_arrow().to_pylist()) == expected(table)
    assert result.metrics.rows == result.table.count() == table.scan().count()
    return result.table


def check_refused(table: IcebergTable | Path, message: str, **options: Any) -> None:
    path = table if isinstance(table, Path) else folder_of(table)
    with pytest.raises(lb.LakebedError) as caught:
        lb.convert(path, **options)
    assert message in str(caught.value)
    assert not lb.exists(path)


def metadata_file(table: IcebergTable) -> Path:
    return Path(table.metadata_location.removeprefix("file://"))


def change_metadata(table: IcebergTable, **changes: Any) -> None:
    """Changes entries of the current metadata file."""
    content = json.loads(metadata_file(table).read_text())
    metadata_file(table).write_text(json.dumps({**content, **changes}))


def every_type(lake: Lake) -> IcebergTable:
    table = lake.table(
        NestedField(1, "id", LongType(), required=True, doc="the key"),
        NestedField(2, "bool", BooleanType()),
        NestedField(3, "int", IntegerType()),
        NestedField(4, "float", FloatType()),
        NestedField(5, "double", DoubleType()),
        NestedField(6, "short decimal", DecimalType(9, 2)),
        NestedField(7, "long_decimal", DecimalType(38, 10)),
        NestedField(8, "day", DateType()),
        NestedField(9, "wall", TimestampType()),
        NestedField(10, "instant", TimestamptzType()),
        NestedField(11, "text", StringType()),
        NestedField(12, "bytes", BinaryType()),
        NestedField(13, "fixed", FixedType(2)),
        NestedField(14, "s", StructType(NestedField(15, "x", IntegerType()), NestedField(16, "y", StringType()))),
        NestedField(17, "l", ListType(18, StructType(NestedField(19, "z", LongType())), element_required=False)),
        NestedField(20, "m", MapType(21, StringType(), 22, DecimalType(9, 2), value_required=False)),
        by=(identity(11, "text"), identity(8, "day"), identity(6, "short decimal"), identity(10, "instant")),
        owner="me",
    )
    row = {
        "id": 1,
        "bool": True,
        "int": -7,
        "float": 0.5,
        "double": 1e300,
        "short decimal": Decimal("-1.50"),
        "long_decimal": Decimal("12345678901234567890.0123456789"),
        "day": DAY,
        "wall": WALL,
        "instant": INSTANT,
        "text": "é=/% +x",
        "bytes": b"\x00\xff",
        "fixed": b"ab",
        "s": {"x": 1, "y": "p"},
        "l": [{"z": 1}, None],
        "m": [("k", Decimal("1.25"))],
    }
    append(table, [row, {"id": 2}])
    append(table, [{**row, "id": 3, "day": datetime.date(1969, 12, 31), "text": "plain", "instant": None}])
    return table


def test_convert_keeps_rows_of_every_type(lake: Lake) -> None:
    table = every_type(lake)
    path = folder_of(table)
    before = sorted(file for file in path.rglob("*") if file.is_file())
    plan = lb.convert(path, dry_run=True)
    assert (plan.version, plan.committed, plan.source_format, plan.metrics.rows) == (None, False, "iceberg", 3)
    assert sorted(file for file in path.rglob("*") if file.is_file()) == before
    result = lb.convert(path, user_metadata="why")
    assert result.partition_columns == ("text", "day", "short decimal", "instant")
    assert result.files == plan.files == tuple(sorted(str(f.relative_to(path)) for f in before if f.suffix == ".parquet"))
    converted = result.table
    assert converted is not None
    assert read.canonical(converted.to_arrow().to_pylist()) == expected(table)
    assert (
        converted.count("text = 'é=/% +x'")
        == converted.count("day = DATE '1969-12-31'")
        == converted.count("`int` = -7 AND id > 1")
        == 1
    )
    assert converted.count("`short decimal` = -1.50") == 2
    [entry] = converted.history()
    assert (entry.operation, entry.metrics, entry.user_metadata) == ("CONVERT", {"numConvertedFiles": "3"}, "why")
    assert entry.parameters == {
        "numFiles": "3",
        "partitionedBy": '["text","day","short decimal","instant"]',
        "collectStats": "true",
        "sourceFormat": "iceberg",
    }
    assert converted.properties["owner"] == "me"
    [meta] = of_kind(path, 0, "metaData")
    [first, *_] = json.loads(meta["schemaString"])["fields"]
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
    assert first == {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": "the key", **mapped}}
    # The table goes on as any other.
    more = converted.append(converted.to_arrow().slice(0, 1)).table
    assert more.count() == 4
    assert more.delete("id = 3").table.optimize().table.count() == 3


def test_evolved_schema_reads_old_files(lake: Lake) -> None:
    table = lake.table(
        NestedField(1, "i", IntegerType()),
        NestedField(2, "f", FloatType()),
        NestedField(3, "d", DecimalType(5, 2)),
        NestedField(4, "gone", StringType()),
        NestedField(5, "renamed", StringType()),
        NestedField(6, "s", StructType(NestedField(7, "a", IntegerType()), NestedField(8, "b", StringType()))),
        NestedField(9, "l", ListType(10, IntegerType(), element_required=False)),
    )
    old = {"i": 1, "f": 0.1, "d": Decimal("1.25"), "gone": "old", "renamed": "r", "s": {"a": 1, "b": "b"}, "l": [1]}
    append(table, [old, {}])
    with table.update_schema() as update:
        update.update_column("i", LongType())
        update.update_column("f", DoubleType())
        update.update_column("d", DecimalType(20, 2))
        update.delete_column("gone")
        update.rename_column("renamed", "name")
        update.rename_column("s.a", "c")
        update.update_column("l.element", LongType())
        update.move_first("l")
    # The names go to other columns.
    with table.update_schema() as update:
        update.add_column("renamed", LongType())
        update.add_column(("s", "a"), StringType())
        update.move_after("name", "i")
    new = {
        "i": 2**40,
        "f": 0.1,
        "d": Decimal("123456789.25"),
        "name": "n",
        "renamed": 7,
        "s": {"c": 2, "b": "B", "a": "A"},
        "l": [2**40],
    }
    append(table, [new])
    converted = convert(table)
    assert converted.schema.names == ["l", "i", "name", "f", "d", "s", "renamed"]
    assert converted.properties["delta.enableTypeWidening"] == "true"
    assert (
        converted.count("i = 1")
        == converted.count("name = 'r'")
        == converted.count("s.c = 1")
        == converted.count("renamed = 7")
        == 1
    )


def test_new_column_never_reads_a_dropped_one(lake: Lake) -> None:
    table = lake.table(NestedField(1, "id", LongType()), NestedField(2, "secret", StringType()))
    append(table, [{"id": 1, "secret": "x"}])
    with table.update_schema() as update:
        update.delete_column("secret")
    converted = convert(table)
    more = converted.append(pa.table({"id": [2], "secret": ["new"]}), schema_mode="merge").table
    assert sorted(more.to_arrow().to_pylist(), key=lambda row: int(row["id"])) == [
        {"id": 1, "secret": None},
        {"id": 2, "secret": "new"},
    ]


@pytest.mark.interop
def test_columns_that_take_each_others_names(lake: Lake) -> None:
    table = lake.table(NestedField(1, "a", LongType()), NestedField(2, "b", LongType()), NestedField(3, "c", StringType()))
    append(table, [{"a": 1, "b": 2, "c": "x"}])
    for old, new in (("a", "old"), ("b", "a"), ("old", "b"), ("c", "d")):
        with table.update_schema() as update:
            update.rename_column(old, new)
    with table.update_schema() as update:
        update.add_column("c", LongType())
    result = lb.convert(copy_of(table))
    converted = result.table
    assert converted is not None
    rows = [{"b": 1, "a": 2, "d": "x", "c": None}]
    assert (result.found_by_id, converted.to_arrow().to_pylist()) == ((), rows)
    assert converted.count("b = 1 AND a = 2 AND d = 'x'") == 1
    # DuckDB finds columns by their physical names.
    assert read.with_duckdb(converted.uri) == rows
    append(table, [{"a": 4, "b": 3, "d": "y", "c": 5}])
    assert lb.convert(folder_of(table), dry_run=True).found_by_id == ("b", "a", "d", "c")
    converted = convert(table)
    found = read.with_duckdb(converted.uri)
    for name in ("a", "b", "c", "d"):
        values = {row[name] for row in converted.to_arrow().to_pylist()}
        assert {row[name] for row in found} <= values | {None}


def test_current_snapshot_is_converted(lake: Lake) -> None:
    table = lake.table(NestedField(1, "id", LongType()))
    append(table, [{"id": 1}, {"id": 2}])
    append(table, [{"id": 3}])
    first = table.snapshots()[0].snapshot_id
    table.delete("id = 1")
    for _ in range(2):
        converted = lb.convert(copy_of(table)).table
        assert converted is not None
        assert read.canonical(converted.to_arrow().to_pylist()) == expected(table)
        table.manage_snapshots().rollback_to_snapshot(first).commit()
    assert expected(table) == read.canonical([{"id": 1}, {"id": 2}])


def copy_of(table: IcebergTable) -> Path:
    """Copies a table to another folder."""
    source = folder_of(table)
    copy = source.with_name(f"{source.name} copy {len(list(source.parent.iterdir()))}")
    shutil.copytree(source, copy)
    return copy


def test_table_without_snapshot_is_empty(lake: Lake) -> None:
    table = lake.table(NestedField(1, "id", LongType()), NestedField(2, "p", StringType()), by=(identity(2, "p"),))
    converted = convert(table)
    assert (converted.schema, converted.partition_columns) == (pa.schema([("id", pa.int64()), ("p", pa.string())]), ("p",))
    assert converted.append(pa.table({"id": [1], "p": ["x"]})).table.count() == 1


def test_first_format_version_and_gzip(lake: Lake) -> None:
    fields = (NestedField(1, "id", LongType()), NestedField(2, "p", IntegerType()))
    table = lake.table(*fields, by=(identity(2, "p"),), **{"format-version": "1"})
    append(table, [{"id": 1, "p": 1}, {"id": 2, "p": None}])
    plain = metadata_file(table)
    packed = plain.with_name("v3.gz.metadata.json")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for file in plain.parent.glob("0*.metadata.json"):
        file.unlink()
    (packed.parent / "version-hint.text").write_text("2")
    assert convert(table).partition_columns == ("p",)


def test_transforms_leave_no_partition_columns(lake: Lake) -> None:
    fields = (NestedField(1, "id", LongType()), NestedField(2, "at", TimestamptzType()), NestedField(3, "p", StringType()))
    by = (
        PartitionField(1, 1000, BucketTransform(4), "id_bucket"),
        PartitionField(2, 1001, DayTransform(), "at_day"),
        PartitionField(3, 1002, IdentityTransform(), "p"),
    )
    table = lake.table(*fields, by=by)
    append(table, [{"id": 1, "at": INSTANT, "p": "x"}, {"id": 2, "at": None, "p": None}])
    converted = convert(table)
    assert converted.partition_columns == ("p",)
    assert converted.count("at >= TIMESTAMP '2024-01-02 00:00:00Z'") == 1


def test_partition_columns_are_those_of_all_files(lake: Lake) -> None:
    fields = (NestedField(1, "id", LongType()), NestedField(2, "a", StringType()), NestedField(3, "b", IntegerType()))
    table = lake.table(*fields, by=(identity(2, "a"), identity(3, "b")))
    append(table, [{"id": 1, "a": "x", "b": 1}])
    with table.update_spec() as update:
        update.remove_field("b")
    append(table, [{"id": 2, "a": "y", "b": 2}])
    converted = convert(table)
    assert converted.partition_columns == ("a",)
    assert converted.count("b = 2 AND a = 'y'") == 1
    with pytest.raises(lb.TableExistsError):
        lb.convert(folder_of(table))


def test_metadata_file_can_be_chosen(lake: Lake) -> None:
    table = lake.table(NestedField(1, "id", LongType()))
    append(table, [{"id": 1}])
    first = metadata_file(table)
    append(table, [{"id": 2}])
    lost = first.with_name(metadata_file(table).name[:5] + "-00000000-0000-0000-0000-000000000000.metadata.json")
    lost.write_text(first.read_text())
    check_refused(table, "each of these files may be the current metadata of the Iceberg table: ")
    check_refused(table, "does not lie in the folder", iceberg_metadata="/elsewhere/metadata/v1.metadata.json")
    check_refused(table, "none.metadata.json", iceberg_metadata="metadata/none.metadata.json")
    with pytest.raises(TypeError, match="iceberg_metadata"):
        lb.convert(folder_of(table), iceberg_metadata=3)  # type: ignore[arg-type]
    assert lb.convert(folder_of(table), iceberg_metadata=f"metadata/{first.name}", dry_run=True).metrics.rows == 1
    assert lb.convert(folder_of(table), iceberg_metadata=table.metadata_location).metrics.rows == 2


def test_types_that_delta_lacks_are_refused(lake: Lake) -> None:
    for field, message in [
        (NestedField(1, "t", TimeType()), "column t: its type in Iceberg is time, and Delta has no such type"),
        (NestedField(1, "u", UUIDType()), "column u: its type in Iceberg is uuid, and Delta has no such type"),
        (
            NestedField(1, "l", ListType(2, StructType(NestedField(3, "t", TimeType())))),
            "column l.element.t: its type in Iceberg is time",
        ),
    ]:
        check_refused(lake.table(field), message)
    cased = lake.table(NestedField(1, "a", LongType()), NestedField(2, "A", LongType()))
    check_refused(cased, "column A appears more than once (names that differ only in case are the same)")


def add_entry(table: IcebergTable, **changes: Any) -> None:
    """Adds a file to the current snapshot, beside the files that it has."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    file = {
        "content": DataFileContent.DATA,
        "file_path": f"{table.location()}/data/other.parquet",
        "file_format": FileFormat.PARQUET,
        "partition": Record(),
        "record_count": 1,
        "file_size_in_bytes": 100,
        **changes,
    }
    path = f"{table.location()}/metadata/other-m0.avro"
    spec, schema = table.spec(), table.schema()
    with write_manifest(2, spec, schema, table.io.new_output(path), snapshot.snapshot_id, "deflate") as writer:
        entry = ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED, snapshot_id=snapshot.snapshot_id, data_file=DataFile.from_args(**file)
        )
        writer.add_entry(entry)
    manifests = [*snapshot.manifests(table.io), writer.to_manifest_file()]
    listed = f"{table.location()}/metadata/other-list.avro"
    output = table.io.new_output(listed)
    with write_manifest_list(2, output, snapshot.snapshot_id, None, 9, "deflate") as list_writer:
        list_writer.add_manifests(manifests)
    content = json.loads(metadata_file(table).read_text())
    for one in content["snapshots"]:
        one["manifest-list"] = listed
    change_metadata(table, snapshots=content["snapshots"])


def test_files_that_would_change_rows_are_refused(lake: Lake) -> None:
    def check(message: str, **changes: Any) -> None:
        table = lake.table(NestedField(1, "id", LongType()))
        append(table, [{"id": 1}])
        add_entry(table, **changes)
        check_refused(table, message)

    deleted = "the Iceberg table has deleted rows in {}, and they would come back"
    check(deleted.format("a position delete file"), content=DataFileContent.POSITION_DELETES)
    check(deleted.format("an equality delete file"), content=DataFileContent.EQUALITY_DELETES)
    check(deleted.format("a deletion vector"), content=DataFileContent.POSITION_DELETES, file_format=FileFormat.PUFFIN)
    check("is in the format ORC", file_format=FileFormat.ORC)
    check("is encrypted", key_metadata=b"k")
    check("other.parquet", record_count=1)
    check("lies outside of the table's folder", file_path="file:///elsewhere/a.parquet")


def test_damage_is_found_before_the_commit(lake: Lake) -> None:
    table = lake.table(NestedField(1, "id", LongType()), NestedField(2, "p", StringType()), by=(identity(2, "p"),))
    append(table, [{"id": 1, "p": "x"}])
    [manifest] = folder_of(table).glob("metadata/*-m0.avro")
    [data] = folder_of(table).glob("data/*/*.parquet")
    for damaged in (manifest, data):
        content = damaged.read_bytes()
        damaged.write_bytes(content[:-1])
        check_refused(table, f"it has {len(content) - 1} bytes, and the ")
        damaged.write_bytes(content)
    append(table, [{"id": 2, "p": ""}])
    check_refused(table, "p: the partition of this file is an empty string, which Delta cannot tell from null")
    table.delete("p = ''")
    check_refused(table, "leave out partition_schema", partition_schema={"p": "string"})
    check_refused(table, "cannot be name: the columns of an Iceberg table", properties={"delta.columnMapping.mode": "name"})
    check_refused(table, "leave out delta.enableIcebergCompat", properties={"delta.enableIcebergCompatV2": True})
    convert(table)


def test_metadata_that_cannot_be_read_is_refused(lake: Lake) -> None:
    table = lake.table(NestedField(1, "id", LongType()))
    append(table, [{"id": 1}])
    content = metadata_file(table).read_text()
    for changes, message in [
        ({"format-version": 4}, "the format version of this Iceberg table is 4, and lakebed reads versions 1 to 3"),
        ({"current-schema-id": 9}, "the current schema is missing"),
        ({"current-snapshot-id": 9}, "the current snapshot 9 is missing"),
        ({"location": None}, "this Iceberg metadata cannot be read: "),
    ]:
        change_metadata(table, **changes)
        check_refused(table, message)
        metadata_file(table).write_text(content)
    change_metadata(table, **{"format-version": 3})
    assert lb.convert(folder_of(table), dry_run=True).metrics.rows == 1
    [schema] = json.loads(content)["schemas"]
    schema["fields"][0]["initial-default"] = 7
    change_metadata(table, schemas=[schema])
    check_refused(table, "column id: rows that were written before this column have a default (initial-default)")
    metadata_file(table).write_text("{")
    check_refused(table, "this Iceberg metadata cannot be read: ")


def test_files_without_columns_are_refused(lake: Lake, tmp_path: Path) -> None:
    table = lake.table(NestedField(1, "id", LongType()))
    path = folder_of(table) / "data" / "added.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"id": [1]}), path)
    table.add_files([f"file://{path}"])
    check_refused(table, "added.parquet: column id of this file has no field id")
    table = lake.table(NestedField(1, "id", LongType()))
    append(table, [{"id": 1}])
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.add_column("needed", LongType(), required=True)
    check_refused(table, "this file lacks the column needed, which must not be null: make the column optional with Iceberg")
    inner = tmp_path / "outer" / "inner" / "metadata"
    inner.mkdir(parents=True)
    (inner / "v1.metadata.json").write_text("{}")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "outer" / "a.parquet")
    check_refused(tmp_path / "outer", "this is the metadata of an Iceberg table inside of the folder")


def test_moved_table_is_converted_on_s3(lake: Lake, s3: S3) -> None:
    table = lake.table(NestedField(1, "id", LongType()), NestedField(2, "p", StringType()), by=(identity(2, "p"),))
    append(table, [{"id": 1, "p": "é=/%"}, {"id": 2, "p": None}])
    shutil.copytree(folder_of(table), s3.folder / "moved")
    converted = lb.convert(s3.uri("moved"), storage_options=s3.options).table
    assert converted is not None
    assert read.canonical(converted.to_arrow().to_pylist()) == expected(table)


@pytest.mark.interop
def test_duckdb_reads_converted_tables(lake: Lake) -> None:
    table = every_type(lake)
    with table.update_schema() as update:
        update.rename_column("s.x", "renamed")
        update.rename_column("text", "name")
    converted = convert(table)
    assert read.canonical(read.with_duckdb(converted.uri)) == expected(table)


@pytest.mark.spark
def test_delta_spark_reads_converted_tables(spark: Any, lake: Lake) -> None:
    table = every_type(lake)
    with table.update_schema() as update:
        update.rename_column("s.x", "renamed")
        update.rename_column("text", "name")
        update.update_column("int", LongType())
        update.delete_column("bytes")
    append(table, [{"id": 9, "int": 2**40, "s": {"renamed": 3, "y": "q"}}])
    path = str(folder_of(table))
    convert(table)
    assert read.canonical(read.with_spark(spark, path)) == expected(table)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN bytes BINARY")
    found = lb.Table(path)
    assert (found.count(), found.to_arrow()["bytes"].null_count) == (3, 3)
