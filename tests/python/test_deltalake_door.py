"""The door ``lakebed.deltalake`` beside deltalake: the same names and arguments, and the same results
of the same calls on tables of their own.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import deltalake.exceptions
import deltalake.schema
import deltalake.table
import deltalake.transaction
import deltalake.writer
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lakebed
import lakebed.deltalake as door
import lakebed.deltalake.exceptions
import lakebed.deltalake.schema
import lakebed.deltalake.table
import lakebed.deltalake.transaction
import lakebed.deltalake.writer

pytestmark = pytest.mark.interop

CLASSES = [
    (deltalake.DeltaTable, door.DeltaTable),
    (deltalake.table.TableAlterer, door.table.TableAlterer),
    (deltalake.table.TableMerger, door.table.TableMerger),
    (deltalake.table.TableOptimizer, door.table.TableOptimizer),
    (deltalake.QueryBuilder, door.QueryBuilder),
    (deltalake.CommitProperties, door.CommitProperties),
    (deltalake.PostCommitHookProperties, door.PostCommitHookProperties),
    (deltalake.WriterProperties, door.WriterProperties),
    (deltalake.ColumnProperties, door.ColumnProperties),
    (deltalake.BloomFilterProperties, door.BloomFilterProperties),
    (deltalake.transaction.AddAction, door.transaction.AddAction),
]
FUNCTIONS = [
    (deltalake.write_deltalake, door.write_deltalake),
    (deltalake.convert_to_deltalake, door.convert_to_deltalake),
    (deltalake.transaction.create_table_with_add_actions, door.transaction.create_table_with_add_actions),
    (deltalake.enable_nanosecond_timestamps, door.enable_nanosecond_timestamps),
    (deltalake.init_tracing, door.init_tracing),
]
#: Constructors that only the libraries themselves call.
INNER = {"TableMerger.__init__"}


def parameters(function: Any) -> list[tuple[str, Any, str]]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, repr(one.default)) for one in found]


def methods(of: type) -> dict[str, Any]:
    names = [name for name in dir(of) if not name.startswith("_") or name in ("__init__", "__datafusion_table_provider__")]
    return {name: getattr(of, name) for name in names}


def test_modules_have_the_same_names() -> None:
    assert set(door.__all__) == set(deltalake.__all__)
    for name in ("exceptions", "schema", "writer"):
        theirs = getattr(deltalake, name).__all__
        assert set(theirs) <= set(getattr(door, name).__all__), name


@pytest.mark.parametrize(("theirs", "ours"), CLASSES, ids=lambda one: one.__name__)
def test_methods_take_the_same_arguments(theirs: type, ours: type) -> None:
    found = methods(ours)
    for name, method in methods(theirs).items():
        assert name in found, f"{theirs.__name__}.{name}"
        if callable(method) and f"{theirs.__name__}.{name}" not in INNER:
            assert parameters(found[name]) == parameters(method), f"{theirs.__name__}.{name}"
        else:
            assert not callable(found[name]) or f"{theirs.__name__}.{name}" in INNER, f"{theirs.__name__}.{name}"


NATIVE = [
    (deltalake.Field, door.Field),
    (deltalake.Schema, door.Schema),
    (deltalake.Transaction, door.Transaction),
    (deltalake.VariantType, door.VariantType),
    (deltalake.schema.ArrayType, door.schema.ArrayType),
    (deltalake.schema.MapType, door.schema.MapType),
    (deltalake.schema.PrimitiveType, door.schema.PrimitiveType),
    (deltalake.schema.StructType, door.schema.StructType),
    (deltalake.transaction.RemoveAction, door.transaction.RemoveAction),
]


@pytest.mark.parametrize(("theirs", "ours"), NATIVE, ids=lambda one: one.__name__)
def test_native_classes_take_the_same_arguments(theirs: Any, ours: Any) -> None:
    assert parameters(ours) == parameters(theirs)
    for name in ("from_json", "from_arrow"):
        if hasattr(theirs, name):
            assert parameters(getattr(ours, name)) == parameters(getattr(theirs, name)), name


@pytest.mark.parametrize(("theirs", "ours"), FUNCTIONS, ids=lambda one: one.__name__)
def test_functions_take_the_same_arguments(theirs: Any, ours: Any) -> None:
    assert parameters(ours) == parameters(theirs)


def test_features_have_the_same_names() -> None:
    theirs = [name for name in dir(deltalake.TableFeatures) if name[0].isupper()]
    assert sorted(one.name for one in door.TableFeatures) == theirs


def test_importing_lakebed_leaves_the_door_closed() -> None:
    code = "import sys, lakebed; print([name for name in sys.modules if name.startswith('lakebed.deltalake')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


TYPES = [
    "string",
    "long",
    "integer",
    "short",
    "byte",
    "float",
    "double",
    "boolean",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "decimal(10,2)",
    "decimal( 38 , 0 )",
]


def described(library: Any) -> list[Any]:
    """Returns what the types of a library say about themselves."""
    words = library.schema
    simple = [words.PrimitiveType(name) for name in TYPES]
    nested = [
        words.ArrayType("integer", contains_null=False),
        words.ArrayType(words.ArrayType("string")),
        words.MapType("string", words.ArrayType("long")),
        words.MapType("integer", "string", value_contains_null=False),
        words.StructType([words.Field("x", "integer"), words.Field("y", "string", nullable=False)]),
        words.VariantType(),
    ]
    notes = {"deep": {"t": [2, "x"]}}
    fields = [
        words.Field("a", "long"),
        words.Field("b", words.ArrayType("long"), nullable=False),
        words.Field("c", "string", metadata=notes),
    ]
    schema = words.Schema([*fields, *(words.Field(f"n{index}", one) for index, one in enumerate(nested))])
    rule = words.Field("r", "long", metadata={"delta.invariants": '{"expression":{"expression":"r > 1"}}'})
    found = [(repr(one), str(one), one.to_json(), one.type) for one in [*simple, *nested]]
    found += [(repr(one), str(one), one.to_json(), one.name, one.nullable, one.metadata) for one in fields]
    found += [(repr(schema), schema.to_json(), schema.invariants, words.Schema([rule]).invariants)]
    found += [
        pa.schema(schema),
        pa.schema(schema.to_arrow(as_large_types=True)),
        pa.field(fields[2]),
        pa.field(fields[1].to_arrow()),
    ]
    found += [type(one).from_json(one.to_json()) == one for one in [*simple, *nested, *fields, schema]]
    found += [schema == words.StructType(schema.fields), simple[0] == simple[1], simple[0] == "string"]
    return found


def test_types_describe_themselves_like_deltalake() -> None:
    for ours, theirs in zip(described(door), described(deltalake), strict=True):
        assert plain(ours) == plain(theirs)


def plain(found: Any) -> Any:
    """Returns a value without the mark of variants, which deltalake leaves out."""
    if isinstance(found, pa.Schema):
        return [str(one.with_metadata(None)) for one in found]
    return found


ARROW = [
    pa.int8(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
    pa.bool_(),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.binary(5),
    pa.large_binary(),
    pa.date32(),
    pa.date64(),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.decimal128(5, 2),
    pa.null(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.list_(pa.field("element", pa.int64(), nullable=False)),
    pa.large_list(pa.string()),
    pa.list_(pa.int32(), 3),
    pa.map_(pa.string(), pa.int64()),
    pa.struct([pa.field("x", pa.int64(), nullable=False)]),
]


@pytest.mark.parametrize("kind", ARROW, ids=str)
def test_arrow_types_become_the_same_types(kind: pa.DataType) -> None:
    schema = pa.schema([pa.field("a", kind, nullable=kind == pa.null(), metadata={"comment": "c"})])
    assert door.Schema.from_arrow(schema).to_json() == deltalake.Schema.from_arrow(schema).to_json()


@pytest.mark.parametrize("kind", [pa.float16(), pa.time64("us"), pa.duration("s"), pa.decimal256(50, 2)], ids=str)
def test_arrow_types_without_equal_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(TypeError) as caught:
        door.Schema.from_arrow(pa.schema([("a", kind)]))
    assert str(caught.value) == f"Invalid data type for Delta Lake: {kind}"


Script = Callable[[Any, str], Any]


def rows(table: Any) -> list[dict[str, Any]]:
    """Returns the rows in one order, each with its columns in one order."""
    found = pa.table(table.to_pyarrow_table())
    return sorted(found.select(sorted(found.column_names)).to_pylist(), key=repr)


def some_rows() -> pa.Table:
    days = ["2026-01-01", "2026-01-02", None]
    return pa.table(
        {
            "p": pa.array(["a", "b c", None] * 2),
            "id": pa.array(range(6), pa.int64()),
            "day": pa.array([None if day is None else datetime.fromisoformat(day).date() for day in days * 2], pa.date32()),
            "name": pa.array(["it's", 'say "x"', "back\\slash", "", None, "z"]),
        }
    )


def opens(library: Any, path: str) -> Any:
    library.write_deltalake(path, some_rows(), partition_by="p", configuration={"delta.enableChangeDataFeed": "true"})
    return library.DeltaTable(path)


def facts(library: Any, path: str) -> Any:
    table = opens(library, path)
    meta = table.metadata()
    uris = sorted(uri[: uri.index("/part-")].removeprefix(path) for uri in table.file_uris())
    actions = pa.table(table.get_add_actions(flatten=True)).select(["num_records", "partition.p"])
    return [
        table.version(),
        table.schema().to_json(),
        (meta.name, meta.description, meta.partition_columns, meta.configuration),
        table.table_uri,
        uris,
        sorted(table.partitions(), key=str),
        table.count(),
        library.DeltaTable.is_deltatable(path),
        library.DeltaTable.is_deltatable(f"{path}/none"),
        sorted(actions.to_pylist(), key=str),
        table.transaction_version("app"),
    ]


FILTERS: list[Any] = [
    [("p", "=", "a")],
    [("p", "!=", "a")],
    [("p", "=", "")],
    [("p", "!=", "")],
    [("p", "in", ["a", "b c"])],
    [("p", "not in", ["a"])],
    [[("p", "=", "a")], [("p", "=", "b c")]],
    "p = 'a'",
    "\"p\" = 'b c'",
    "p IS NULL",
    None,
]


def partitions_of_filters(library: Any, path: str) -> Any:
    table = opens(library, path)
    return [sorted(table.partitions(file_pruning_predicate=one), key=str) for one in FILTERS]


ROW_FILTERS: list[Any] = [
    [("id", ">", 3)],
    [("id", "=", 3)],
    [("id", "!=", 3)],
    [("name", "=", "z")],
    [("name", "not in", ["z"])],
    [("id", "in", [1, 2])],
    [[("id", "<", 1)], [("p", "=", "b c"), ("id", ">=", 3)]],
    [("day", ">", datetime(2026, 1, 1).date())],
    pc.field("id") == 4,
    pc.field("name").is_null(),
]


def typed_partitions(library: Any, path: str) -> Any:
    typed = {
        "flag": pa.array([True, None]),
        "day": pa.array([datetime(2026, 1, 2).date(), None]),
        "at": pa.array([datetime(2026, 1, 2, 3, 4, 5), None], pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "half": pa.array([0.5, None]),
    }
    library.write_deltalake(path, pa.table({**typed, "id": [1, 2]}), partition_by=list(typed))
    table = library.DeltaTable(path)
    filters = [[("flag", "=", True)], [("day", ">=", datetime(2026, 1, 1).date())], [("price", "=", "1.50")], [("half", "<", 1)]]
    found = [len(table.file_uris(file_pruning_predicate=one)) for one in filters]
    actions = pa.table(table.get_add_actions(flatten=True)).select([f"partition.{name}" for name in typed])
    # deltalake writes the microseconds of a timestamp, also if there are none.
    texts = [{name: str(value).removesuffix(".000000") for name, value in sorted(one.items())} for one in table.partitions()]
    return [found, sorted(texts, key=str), str(actions.schema), sorted(actions.to_pylist(), key=str)]


def rows_of_filters(library: Any, path: str) -> Any:
    table = opens(library, path)
    found = [table.to_pyarrow_table(filters=one, columns=["id", "name"]) for one in ROW_FILTERS]
    return [(one.column_names, sorted(one.to_pylist(), key=repr)) for one in found]


PREDICATES = [
    "name = 'it''s'",
    "name = 'say \"x\"'",
    "name = 'back\\slash'",
    '"name" = \'z\' AND "p" IS NULL',
    "`name` = 'z'",
    "name = '' -- 'a comment'",
    "id = int'3' OR day = DATE '2026-01-02'",
    "id % 2 == 0",
    "name is null",
    "day >= '2026-01-02'",
]


def rows_of_predicates(library: Any, path: str) -> Any:
    table = opens(library, path)
    return [sorted(pa.table(table.scan(["id"], one).read_all())["id"].to_pylist()) for one in PREDICATES]


def deletes(library: Any, path: str) -> Any:
    table = opens(library, path)
    found = [table.delete("\"name\" = 'z'"), table.delete("p = 'a'"), table.delete("id = 99")]
    # deltalake counts change data files as added files.
    return [without(without(found, "time_ms"), "added_files"), table.version(), rows(table)]


def updates(library: Any, path: str) -> Any:
    table = opens(library, path)
    found = [
        table.update({"name": "upper(p)"}, predicate="id < 2"),
        table.update(new_values={"name": "its", "id": 77}, predicate="id = 5"),
        table.update(new_values={"day": "2026-02-03"}, predicate="id = 1"),
    ]
    return [without(without(found, "time_ms"), "added_files"), table.version(), rows(table)]


def lenient(library: Any, path: str) -> Any:
    table = opens(library, path)
    table.update({"id": "name"}, predicate="id = 3", error_on_type_mismatch=False)
    source = pa.table({"id": [1, 2], "text": ["77", "no number"]})
    merge = table.merge(source, "t.id = s.id", "s", "t", error_on_type_mismatch=False)
    merge.when_matched_update({"t.id": "s.text"}).execute()
    return rows(table)


def merges(library: Any, path: str) -> Any:
    table = opens(library, path)
    source = pa.table({"id": [1, 2, 40], "name": ["one", "two", "forty"], "p": ["b c", None, "new"]})
    found = (
        table.merge(source, "t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update_all("s.id = 1", except_cols=["p"])
        .when_matched_delete("s.id = 2")
        .when_not_matched_insert_all(except_cols=["name"])
        .when_not_matched_by_source_update({"name": "'gone'"}, "t.id = 3")
        .when_not_matched_by_source_delete("t.id = 4")
        .execute()
    )
    counts = {name: found[name] for name in found if "rows" in name and "copied" not in name and "output" not in name}
    return [counts, list(found), table.version(), rows(table)]


def merges_with_unknown_column(library: Any, path: str) -> Any:
    table = opens(library, path)
    source = pa.table({"id": [1, 60], "extra": [True, False]})
    table.merge(
        source, "target.id = source.id", "source", "target"
    ).when_matched_update_all().when_not_matched_insert_all().execute()
    return [table.schema().to_json(), rows(table)]


def fields(table: Any) -> list[dict[str, Any]]:
    """Returns the columns. deltalake moves partition columns behind the others when a schema grows."""
    return sorted(json.loads(table.schema().to_json())["fields"], key=str)


def merges_schema(library: Any, path: str) -> Any:
    table = opens(library, path)
    source = pa.table({"id": [1, 60], "p": ["b c", "b c"], "extra": [True, False], "day": [None, None], "name": ["m", "n"]})
    source = source.set_column(3, "day", pa.array([None, None], pa.date32()))
    merge = table.merge(source, "target.id = source.id", "source", "target", merge_schema=True)
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    return [fields(table), rows(table)]


def writes(library: Any, path: str) -> Any:
    table = opens(library, path)
    library.write_deltalake(table, some_rows().slice(0, 1), mode="append")
    library.write_deltalake(path, some_rows().slice(0, 1), mode="ignore")
    library.write_deltalake(table, some_rows(), mode="ignore")
    versions = [table.version()]
    library.write_deltalake(table, some_rows().slice(1, 1), mode="overwrite", predicate="p = 'b c'", partition_by=["p"])
    versions.append(table.version())
    wide = some_rows().slice(2, 2).append_column("more", pa.array([1, 2]))
    library.write_deltalake(path, wide, mode="append", schema_mode="merge")
    table.update_incremental()
    found = [versions, table.version(), fields(table), rows(table)]
    library.write_deltalake(table, pa.table({"other": [1]}), mode="overwrite", schema_mode="overwrite", partition_by=[])
    return [*found, rows(table), table.metadata().partition_columns]


def creates(library: Any, path: str) -> Any:
    fields = [library.Field("id", "long", nullable=False, metadata={"comment": "key"}), library.Field("p", "string")]
    given = {"name": "n", "description": "d", "configuration": {"delta.appendOnly": "true"}}
    table = library.DeltaTable.create(path, library.Schema(fields), partition_by=["p"], **given)
    again = library.DeltaTable.create(path, library.Schema(fields), mode="ignore")
    meta = table.metadata()
    found = [table.version(), again.version(), table.schema().to_json(), meta.name, meta.description, meta.configuration]
    table = library.DeltaTable.create(path, library.Schema(fields[:1]), mode="overwrite")
    return [*found, table.version(), table.schema().to_json(), table.metadata().partition_columns]


def moves(library: Any, path: str) -> Any:
    table = opens(library, path)
    for _ in range(2):
        library.write_deltalake(path, some_rows(), mode="append")
    found = [table.version()]
    for target in [
        1,
        0,
        datetime(2100, 1, 1),
        "2100-01-01T00:00:00Z",
        "2000-01-01T00:00:00+02:00",
        datetime(2000, 1, 1, tzinfo=timezone.utc),
    ]:
        table.load_as_version(target)
        found.append(table.version())
    table.update_incremental()
    return [*found, table.version(), library.DeltaTable(path, version=1).version(), [one["version"] for one in table.history(2)]]


def changes(library: Any, path: str) -> Any:
    # deltalake cannot read its own changes in partitions whose names have blanks.
    feed = {"delta.enableChangeDataFeed": "true"}
    library.write_deltalake(path, some_rows(), configuration=feed)
    table = library.DeltaTable(path)
    table.update({"name": "'new'"}, predicate="id = 1")
    table.delete("id = 2")
    narrow = ["id", "_change_type", "_commit_version"]
    found = [pa.table(table.load_cdf(0).read_all()), pa.table(table.load_cdf(1, 1, columns=narrow).read_all())]
    times = [str(one.schema.field("_commit_timestamp").type) for one in found if "_commit_timestamp" in one.column_names]
    early = pa.table(table.load_cdf(starting_version=50, allow_out_of_range=True).read_all()).num_rows
    return [times, early, [(sorted(one.column_names), sorted(one.select(narrow).to_pylist(), key=str)) for one in found]]


def vacuums(library: Any, path: str) -> Any:
    table = opens(library, path)
    table.delete("p = 'a'")
    paths = table.vacuum(0, enforce_retention_duration=False)
    version = table.version()
    kept = len([one for one in Path(path).rglob("*.parquet") if "_change_data" not in str(one)])
    deleted = table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    left = len([one for one in Path(path).rglob("*.parquet") if "_change_data" not in str(one)])
    return [len(paths), version, kept, len(deleted), left]


def optimizes(library: Any, path: str) -> Any:
    table = opens(library, path)
    for _ in range(2):
        library.write_deltalake(path, some_rows(), mode="append")
    table.update_incremental()
    one = table.optimize.compact(partition_filters=[("p", "=", "a")])
    two = table.optimize.z_order(["id"], partition_filters=[("p", "=", "b c")])
    keys = ["numFilesAdded", "numFilesRemoved", "partitionsOptimized", "plannerStrategy", "preserveInsertionOrder"]
    return [[[found[key] for key in keys] for found in (one, two)], table.version(), rows(table)]


def restores(library: Any, path: str) -> Any:
    library.write_deltalake(path, some_rows())
    table = library.DeltaTable(path)
    table.delete("id = 1")
    library.write_deltalake(table, some_rows(), mode="append")
    found = [table.restore(1), table.version(), rows(table), table.restore(0), table.version(), rows(table)]
    return [*found, table.restore("2000-01-01T00:00:00Z"), rows(table)]


def repairs(library: Any, path: str) -> Any:
    for _ in range(2):
        library.write_deltalake(path, some_rows(), mode="append")
    table = library.DeltaTable(path)
    Path(table.file_uris()[0]).unlink()
    planned, version = table.repair(dry_run=True), table.version()
    done = table.repair()
    assert planned["files_removed"] == done["files_removed"]
    return [planned["dry_run"], version, done["dry_run"], len(done["files_removed"]), table.version(), rows(table)]


def converts(library: Any, path: str) -> Any:
    import pyarrow.parquet as pq

    pq.write_to_dataset(some_rows().drop_columns(["p"]).append_column("k", pa.array(["a", "b"] * 3)), path, partition_cols=["k"])
    by = library.Schema([library.Field("k", "string")])
    library.convert_to_deltalake(path, partition_by=by, partition_strategy="hive", configuration={"delta.appendOnly": "false"})
    library.convert_to_deltalake(path, mode="ignore")
    table = library.DeltaTable(path)
    meta = table.metadata()
    return [table.version(), fields(table), meta.partition_columns, meta.configuration, rows(table)]


def alters(library: Any, path: str) -> Any:
    table = opens(library, path)
    table.alter.add_columns(
        [library.Field("x", "integer"), library.Field("s", library.schema.StructType([library.Field("a", "long")]))]
    )
    table.alter.add_columns(library.Field("s", library.schema.StructType([library.Field("b", "string")])))
    table.alter.add_constraint({"positive": "id >= 0"})
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 3 days"})
    table.alter.set_table_name("n")
    table.alter.set_table_description("d")
    table.alter.set_column_metadata("id", {"comment": "the key"})
    meta = table.metadata()
    found = [table.version(), fields(table), meta.name, meta.description, sorted(meta.configuration.items()), rows(table)]
    table.alter.drop_constraint("positive")
    table.alter.drop_constraint("none", raise_if_not_exists=False)
    return [*found, sorted(table.metadata().configuration.items())]


def without(found: list[dict[str, Any]], what: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if what not in key} for one in found]


SCRIPTS: list[Script] = [
    alters,
    changes,
    converts,
    creates,
    deletes,
    facts,
    lenient,
    merges,
    merges_schema,
    merges_with_unknown_column,
    moves,
    optimizes,
    partitions_of_filters,
    repairs,
    restores,
    rows_of_filters,
    rows_of_predicates,
    typed_partitions,
    updates,
    vacuums,
    writes,
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda one: one.__name__)
def test_same_calls_have_same_results(script: Script, tmp_path: Path) -> None:
    found = []
    for index, library in enumerate((door, deltalake)):
        path = tmp_path / str(index) / "table"
        path.mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found.append(script(library, str(path)))
    ours, theirs = found
    assert str(ours).replace(f"{tmp_path}/0", "") == str(theirs).replace(f"{tmp_path}/1", "")


FAILURES: dict[str, tuple[Script, str]] = {
    "no table": (lambda library, path: library.DeltaTable(f"{path}/none"), "TableNotFoundError"),
    "no version": (lambda library, path: library.DeltaTable(path, version=99), "DeltaError"),
    "no zone": (lambda library, path: library.DeltaTable(path).load_as_version("2026-01-01T00:00:00"), "ValueError"),
    "exists": (lambda library, path: library.write_deltalake(path, some_rows()), "DeltaError"),
    "create again": (lambda library, path: library.DeltaTable.create(path, some_rows().schema), "DeltaError"),
    "create append": (lambda library, path: library.DeltaTable.create(path, some_rows().schema, mode="append"), "DeltaError"),
    "short retention": (lambda library, path: library.DeltaTable(path).vacuum(1), "DeltaError"),
    "negative retention": (lambda library, path: library.DeltaTable(path).vacuum(-1), "ValueError"),
    "unknown column": (lambda library, path: library.DeltaTable(path).delete("nope = 1"), "DeltaError"),
    "no update": (lambda library, path: library.DeltaTable(path).update(), "ValueError"),
    "two updates": (lambda library, path: library.DeltaTable(path).update({"id": "1"}, {"id": 1}), "ValueError"),
    "other columns": (
        lambda library, path: library.write_deltalake(path, pa.table({"z": [1]}), mode="append"),
        "SchemaMismatchError",
    ),
    "unknown mode": (lambda library, path: library.write_deltalake(path, some_rows(), mode="nope"), "DeltaError"),
    "bad operator": (
        lambda library, path: library.DeltaTable(path).file_uris(file_pruning_predicate=[("p", "~", "a")]),
        "DeltaError",
    ),
    "bad filter": (
        lambda library, path: library.DeltaTable(path).file_uris(file_pruning_predicate=[("p", "=", "a"), []]),
        "ValueError",
    ),
    "not JSON": (
        lambda library, path: library.write_deltalake(
            path, some_rows(), mode="append", commit_properties=library.CommitProperties({"a": object()})
        ),
        "ValueError",
    ),
    "unknown scan": (lambda library, path: library.DeltaTable(path).scan(["nope"]), "DeltaError"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_same_failures_raise_same_exceptions(what: str, tmp_path: Path) -> None:
    script, name = FAILURES[what]
    for library in (door, deltalake):
        path = str(tmp_path / library.__name__)
        opens(library, path)
        kind = getattr(library.exceptions, name, None) or getattr(__import__("builtins"), name)
        with pytest.raises(kind):
            script(library, path)
        assert library.DeltaTable(path).version() == 0


NASTY = [
    "'",
    "''",
    "\\",
    "\\'",
    '"',
    '""',
    "`",
    "--",
    "a -- b",
    "/*",
    "*/",
    "a\nb",
    "\\n",
    "a'--b",
    "int'5'",
    "x'41'",
    "é",
    "",
    " ",
    "%",
]


def test_strings_in_predicates_are_taken_literally(tmp_path: Path) -> None:
    door.write_deltalake(tmp_path, pa.table({"text": NASTY}))
    table = door.DeltaTable(tmp_path)
    for text in NASTY:
        quoted = text.replace("'", "''")
        found = table.scan(predicate=f'"text" = \'{quoted}\' -- a comment \'with "quotes"').read_all()
        assert found["text"].to_pylist() == [text]
        found = table.scan(predicate=f"/* '\" */ text IN ('{quoted}', 'other')").read_all()
        assert found["text"].to_pylist() == [text]


def test_values_of_python_are_set_literally(tmp_path: Path) -> None:
    door.write_deltalake(tmp_path, pa.table({"text": ["x"], "n": [1], "f": [0.5], "ok": [True], "l": [[1]]}))
    table = door.DeltaTable(tmp_path)
    for text in NASTY:
        table.update(new_values={"text": text, "n": len(text), "f": -1e300, "ok": False, "l": [1, 2]})
        assert rows(table) == [{"f": -1e300, "l": [1, 2], "n": len(text), "ok": False, "text": text}]


def test_quoted_names_may_contain_quotes(tmp_path: Path) -> None:
    names = ['we"ird', "back`tick", "it's", "a.b"]
    door.write_deltalake(tmp_path, pa.table({name: [1, 2] for name in names}))
    table = door.DeltaTable(tmp_path)
    for name in names:
        quoted = name.replace('"', '""')
        assert table.scan(predicate=f'"{quoted}" = 2').read_all().num_rows == 1
        assert table.to_pyarrow_table(filters=[(name, ">", 1)]).num_rows == 1


def test_errors_are_also_those_of_lakebed(tmp_path: Path) -> None:
    with pytest.raises(lakebed.TableNotFoundError) as caught:
        door.DeltaTable(tmp_path / "none")
    assert isinstance(caught.value, door.exceptions.TableNotFoundError)
    assert isinstance(caught.value, FileNotFoundError)
    assert str(caught.value) == f"file://{tmp_path}/none: there is no Delta table here (no commits in _delta_log)"


def test_errors_while_reading_are_translated(tmp_path: Path) -> None:
    table = opens(door, str(tmp_path))
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    reader = table.scan(predicate="id > 0")
    with pytest.raises(door.exceptions.DeltaError):
        reader.read_all()


def test_warnings_name_the_caller(tmp_path: Path) -> None:
    table = opens(door, str(tmp_path))
    calls: list[Callable[[], Any]] = [
        lambda: door.DeltaTable(tmp_path, without_files=True),
        lambda: table.file_uris([("p", "=", "a")]),
        lambda: table.delete("id = 99", None, None),
        lambda: table.optimize.compact(max_spill_size=5),
        lambda: table.delete("id = 99", commit_properties=door.CommitProperties(max_commit_retries=5)),
        lambda: table.to_pyarrow_table(partitions=[("p", "=", "a")]),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [Path(one.filename).name for one in caught] == [Path(__file__).name]


def test_conflict_keeps_its_facts() -> None:
    with pytest.raises(door.exceptions.CommitFailedError) as caught, door.exceptions.translated():
        raise lakebed.CommitConflictError("m", kind="ConcurrentAppend", winner_version=3, retryable=True)
    found = caught.value
    assert isinstance(found, lakebed.CommitConflictError)
    assert (str(found), found.kind, found.winner_version, found.retryable) == ("m", "ConcurrentAppend", 3, True)
    copy = pickle.loads(pickle.dumps(found))
    assert (type(copy), str(copy)) == (type(found), "m")


def test_every_error_of_lakebed_is_translated() -> None:
    for name in lakebed.errors.__all__:
        theirs = getattr(lakebed.errors, name)
        if theirs is lakebed.LakebedError:
            continue
        with pytest.raises(door.exceptions.DeltaError) as caught, door.exceptions.translated():
            raise theirs("m")
        assert isinstance(caught.value, theirs), name


def test_custom_metadata_comes_back_in_history(tmp_path: Path) -> None:
    commit = door.CommitProperties(custom_metadata={"load": "nightly", "run": 7, "userMetadata": "text"})
    door.write_deltalake(tmp_path, some_rows(), commit_properties=commit)
    entry = door.DeltaTable(tmp_path).history(1)[0]
    assert (entry["load"], entry["run"], entry["userMetadata"]) == ("nightly", 7, "text")
    assert lakebed.Table(tmp_path).history(1)[0].user_metadata == "text"
    theirs = deltalake.DeltaTable(tmp_path).history(1)[0]
    assert (theirs["load"], theirs["run"], theirs["userMetadata"]) == ("nightly", 7, "text")


def test_application_transaction_is_not_repeated(tmp_path: Path) -> None:
    commit = door.CommitProperties(app_transactions=[door.Transaction("app", 5)])
    for _ in range(2):
        door.write_deltalake(tmp_path, some_rows(), mode="append", commit_properties=commit)
    table = door.DeltaTable(tmp_path)
    assert (table.version(), table.transaction_version("app")) == (0, 5)


REFUSED: dict[str, tuple[Callable[[door.DeltaTable], Any], str]] = {
    "lenient merge of the schema": (
        lambda table: table.merge(some_rows(), "target.id = source.id", merge_schema=True, error_on_type_mismatch=False),
        "merge with merge_schema=True: error_on_type_mismatch=False: the type of a new column is not known before the merge: "
        "add the column first, or leave one of the two out",
    ),
    "codec": (
        lambda table: table.delete("id = 1", writer_properties=door.WriterProperties(compression="BROTLI")),
        "delete: compression BROTLI(1): lakebed writes SNAPPY, ZSTD, GZIP with levels to 9, LZ4 and UNCOMPRESSED",
    ),
    "default Bloom filter": (
        lambda table: table.delete(
            "id = 1",
            writer_properties=door.WriterProperties(
                default_column_properties=door.ColumnProperties(bloom_filter_properties=door.BloomFilterProperties(True))
            ),
        ),
        "delete: default_column_properties: name the columns with Bloom filters in column_properties instead",
    ),
    "filesystem": (
        lambda table: table.to_pyarrow_table(filesystem="x"),
        "to_pyarrow_table: filesystem='x': lakebed reads by storage_options",
    ),
    "actions": (
        lambda table: table.create_write_transaction([], "append", table.schema()),
        "create_write_transaction: lakebed commits only files that it wrote itself: use write_deltalake",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_option_without_equal_is_refused(what: str, tmp_path: Path) -> None:
    call, message = REFUSED[what]
    table = opens(door, str(tmp_path))
    with pytest.raises(door.exceptions.UnsupportedFeatureError) as caught:
        call(table)
    assert str(caught.value) == message
    assert door.DeltaTable(tmp_path).version() == 0


def test_option_without_meaning_warns(tmp_path: Path) -> None:
    table = opens(door, str(tmp_path))
    with pytest.warns(door.unsupported.IgnoredOptionWarning) as caught:
        table.optimize.compact(max_spill_size=5)
    assert [str(one.message) for one in caught] == [
        "compact: max_spill_size has no effect: lakebed.set_memory_limit and LAKEBED_MEMORY_LIMIT limit the whole process"
    ]


def test_deletion_vectors_are_those_of_deltalake(tmp_path: Path) -> None:
    root = tmp_path / "a b"
    rows = pa.table({"p": ["x y", "z%"] * 5, "id": range(10)})
    table = lakebed.write(root, rows, partition_by="p", properties={"delta.enableDeletionVectors": "true"}).table
    table = table.append(pa.table({"p": ["x y"] * 3, "id": [10, 11, 12]})).table
    table.delete("id IN (0, 3, 4)")
    ours, theirs = (pa.table(one.DeltaTable(root).deletion_vectors().read_all()) for one in (door, deltalake))
    assert ours.schema == theirs.schema
    assert sorted(map(str, ours.to_pylist())) == sorted(map(str, theirs.to_pylist()))
    assert sorted(map(sum, ours["selection_vector"].to_pylist())) == [3, 4]


def test_layout_of_files_warns(tmp_path: Path) -> None:
    column = door.ColumnProperties(encoding="PLAIN", bloom_filter_properties=door.BloomFilterProperties(True, fpp=0.1))
    properties = door.WriterProperties(data_page_size_limit=5, column_properties={"id": column})
    with pytest.warns(door.unsupported.IgnoredOptionWarning) as caught:
        door.write_deltalake(tmp_path, some_rows(), writer_properties=properties)
    why = "has no effect: lakebed decides on the layout of Parquet files by itself"
    assert [str(one.message) for one in caught] == [
        f"write_deltalake: data_page_size_limit {why}",
        f"write_deltalake: column id: encoding {why}",
        f"write_deltalake: column id: fpp {why}",
    ]
    assert {one.filename for one in caught} == {__file__}
    assert door.DeltaTable(tmp_path).count() == some_rows().num_rows


def test_hooks_decide_on_checkpoint_and_cleanup(tmp_path: Path) -> None:
    """Version 4 is due for a checkpoint, and all versions before it have expired by then."""
    properties = {"delta.checkpointInterval": "2", "delta.logRetentionDuration": "interval 0 days"}
    cases: dict[str, tuple[Any, int, bool]] = {
        "default": (None, 2, False),
        "no_checkpoint": (door.PostCommitHookProperties(create_checkpoint=False), 1, True),
        "no_cleanup": (door.PostCommitHookProperties(cleanup_expired_logs=False), 2, True),
    }
    for name, (hooks, checkpoints, is_kept) in cases.items():
        root, log = tmp_path / name, tmp_path / name / "_delta_log"
        door.write_deltalake(root, some_rows(), configuration=properties)
        for _ in range(3):
            door.write_deltalake(root, some_rows(), mode="append")
        for number, file in enumerate(sorted(log.iterdir())):
            os.utime(file, (number, number))
        door.write_deltalake(root, some_rows(), mode="append", post_commithook_properties=hooks)
        found = (len(list(log.glob("*.checkpoint.parquet"))), (log / f"{0:020}.json").exists())
        assert found == (checkpoints, is_kept), name


def test_writer_properties_reach_the_files(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    properties = door.WriterProperties(compression="ZSTD", compression_level=4, max_row_group_size=2)
    door.write_deltalake(tmp_path, some_rows(), writer_properties=properties)
    files = [pq.ParquetFile(uri).metadata for uri in door.DeltaTable(tmp_path).file_uris()]
    assert [(one.num_row_groups, one.row_group(0).column(0).compression) for one in files] == [(3, "ZSTD")]


def test_writer_properties_reach_rewritten_files(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    properties = door.WriterProperties(compression="ZSTD", compression_level=4)
    changes: list[Callable[[door.DeltaTable], Any]] = [
        lambda table: table.delete("id = 1", writer_properties=properties),
        lambda table: table.update({"name": "'x'"}, predicate="id = 2", writer_properties=properties),
        lambda table: table.optimize.z_order(["id"], writer_properties=properties),
    ]
    table = opens(door, str(tmp_path))
    for change in changes:
        before = set(table.file_uris())
        change(table)
        added = set(table.file_uris()) - before
        assert {pq.ParquetFile(unquote(uri)).metadata.row_group(0).column(0).compression for uri in added} == {"ZSTD"}


def test_several_application_transactions_are_recorded(tmp_path: Path) -> None:
    both = [door.Transaction("a", 1), door.Transaction("b", 2)]
    table = opens(door, str(tmp_path))
    table.delete("id = 1", commit_properties=door.CommitProperties(app_transactions=both))
    assert (table.transaction_version("a"), table.transaction_version("b")) == (1, 2)


def test_metadata_of_fields_is_kept(tmp_path: Path) -> None:
    inner = door.schema.StructType([door.Field("x", "long", metadata={"unit": "m"})])
    fields = [
        door.Field("id", "long", metadata={"owner": "sales", "rank": 7, "comment": "who"}),
        door.Field("inner", door.schema.ArrayType(inner, True)),
    ]
    table = door.DeltaTable.create(tmp_path, door.Schema(fields))
    table.alter.add_columns(door.Field("day", "date", metadata={"source": "crm"}))
    table.alter.set_column_metadata("day", {"comment": "when", "rank": 1})
    expected = {"owner": "sales", "rank": 7, "comment": "who"}, {"source": "crm", "comment": "when", "rank": 1}
    for package in (door, deltalake):
        found = {field.name: field for field in package.DeltaTable(tmp_path).schema().fields}
        assert (found["id"].metadata, found["day"].metadata) == expected, package.__name__
        assert found["inner"].type.element_type.fields[0].metadata == {"unit": "m"}
    with pytest.raises(door.exceptions.DeltaError, match=r'column day: metadata: "delta.identity.start": Delta has a meaning'):
        table.alter.set_column_metadata("day", {"delta.identity.start": "1"})


def test_name_and_description_are_kept(tmp_path: Path) -> None:
    words = {"name": "trips", "description": "all of them"}
    door.write_deltalake(tmp_path, some_rows(), **words)
    door.write_deltalake(tmp_path, some_rows(), mode="append", **words)
    table = door.DeltaTable(tmp_path)
    door.write_deltalake(table, some_rows(), mode="overwrite", schema_mode="overwrite", **words)
    assert (table.metadata().name, table.metadata().description) == ("trips", "all of them")
    for mode in ("append", "overwrite"):
        with pytest.raises(
            door.exceptions.DeltaError, match=r"^(file:\S+: )?name=.other.: the name of the table is .trips.: .*use alter"
        ):
            door.write_deltalake(table, some_rows(), mode=mode, name="other")
    assert table.version() == 2


def test_predicate_and_schema_mode_add_columns(tmp_path: Path) -> None:
    door.write_deltalake(tmp_path, pa.table({"id": [1, 2], "a": ["x", "y"]}))
    more = pa.table({"id": [2], "a": ["z"], "b": [5]})
    for mode in ("merge", "overwrite"):
        table = door.DeltaTable(tmp_path)
        door.write_deltalake(table, more, mode="overwrite", predicate="id = 2", schema_mode=mode)
        assert sorted(map(str, table.to_pyarrow_table().to_pylist())) == [
            "{'id': 1, 'a': 'x', 'b': None}",
            "{'id': 2, 'a': 'z', 'b': 5}",
        ]
    with pytest.raises(door.exceptions.DeltaError, match=r'schema_mode="overwrite" replaces all rows'):
        door.write_deltalake(table, more.select(["id"]), mode="overwrite", predicate="id = 2", schema_mode="overwrite")


def test_add_actions_have_the_bounds_of_deltalake(tmp_path: Path) -> None:
    nested = pa.table({"p": ["a", "b"], "id": [1, 2], "inner": [{"x": 1.5}, {"x": None}], "name": ["u", None]})
    door.write_deltalake(tmp_path, nested, partition_by="p")
    for flatten in (False, True):
        ours = door.DeltaTable(tmp_path).get_add_actions(flatten=flatten)
        theirs = pa.table(deltalake.DeltaTable(tmp_path).get_add_actions(flatten=flatten))
        ours, theirs = ours.sort_by("path"), theirs.sort_by("path")
        for name in ours.column_names:
            assert ours[name].to_pylist() == theirs[name].to_pylist(), name


def test_table_can_be_pickled(tmp_path: Path) -> None:
    table = opens(door, str(tmp_path))
    copy = pickle.loads(pickle.dumps(table))
    assert (copy.version(), rows(copy)) == (0, rows(table))


def test_script_of_deltalake_runs_after_exchange(tmp_path: Path) -> None:
    script = """
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import TableNotFoundError
import pandas as pd

try:
    DeltaTable(path)
except TableNotFoundError:
    write_deltalake(path, pd.DataFrame({"id": [1, 2], "name": ["a", "b"]}))
table = DeltaTable(path)
table.merge(pd.DataFrame({"id": [2, 3], "name": ["B", "C"]}), "t.id = s.id", "s", "t").when_matched_update_all().when_not_matched_insert_all().execute()
rows = table.to_pandas().sort_values("id").to_dict("records")
"""
    names: dict[str, Any] = {"path": str(tmp_path / "t")}
    exec(script.replace("from deltalake", "from lakebed.deltalake"), names)
    assert names["rows"] == [{"id": 1, "name": "a"}, {"id": 2, "name": "B"}, {"id": 3, "name": "C"}]
