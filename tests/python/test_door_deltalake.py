"""Makes the same call with the same input in lakebed and in deltalake. Both store the same rows, or
both refuse. Known differences are listed with reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake as dl
import polars as pl
import pyarrow as pa
import pytest

import lakebed as lb
from door.values import Bag, bag

REFUSED = "refused"
Outcome = Bag | str


class Lakebed:
    """The calls of lakebed."""

    def write(self, path: str, data: Any, **given: Any) -> None:
        lb.write(path, data, **given)

    def delete(self, path: str, where: str | None) -> None:
        lb.Table(path).delete(where)

    def update(self, path: str, set: dict[str, str], where: str | None) -> None:
        lb.Table(path).update(set, where=where)

    def merge(self, path: str, data: Any, on: str, clauses: list[tuple[Any, ...]]) -> None:
        merge = lb.Table(path).merge(data, on=on)
        for kind, values, where in clauses:
            method = getattr(merge, f"when_{kind}")
            merge = method(where=where) if kind.endswith("delete") else method(values or "all", where=where)
        merge.execute()

    def constrained(self, path: str, data: Any, name: str, condition: str) -> None:
        lb.create(path, data.schema, constraints={name: condition})
        lb.write(path, data)

    def at(self, path: str, version: int) -> list[dict[str, Any]]:
        return lb.Table(path, version=version).to_arrow().to_pylist()

    def operations(self, path: str) -> list[str | None]:
        return [entry.operation for entry in lb.Table(path).history()]

    def compact(self, path: str) -> tuple[int, int]:
        done = lb.Table(path).optimize().metrics
        return done.removed_files, done.added_files

    def vacuum(self, path: str) -> int:
        return lb.Table(path).vacuum(0, enforce_retention=False).metrics.deleted_files


class Deltalake:
    """The same calls of deltalake."""

    def write(self, path: str, data: Any, **given: Any) -> None:
        words = {"where": "predicate", "schema_mode": "schema_mode", "mode": "mode", "partition_by": "partition_by"}
        words["target_file_size"] = "target_file_size"
        dl.write_deltalake(path, data, **{"mode": "append", **{words[name]: value for name, value in given.items()}})

    def delete(self, path: str, where: str | None) -> None:
        dl.DeltaTable(path).delete(where)

    def update(self, path: str, set: dict[str, str], where: str | None) -> None:
        dl.DeltaTable(path).update(set, predicate=where)

    def merge(self, path: str, data: Any, on: str, clauses: list[tuple[Any, ...]]) -> None:
        merge = dl.DeltaTable(path).merge(data, on, source_alias="source", target_alias="target")
        for kind, values, where in clauses:
            if kind.endswith("delete"):
                merge = getattr(merge, f"when_{kind}")(predicate=where)
            elif values is None:
                merge = getattr(merge, f"when_{kind}_all")(predicate=where)
            else:
                merge = getattr(merge, f"when_{kind}")(values, predicate=where)
        merge.execute()

    def constrained(self, path: str, data: Any, name: str, condition: str) -> None:
        dl.DeltaTable.create(path, data.schema).alter.add_constraint({name: condition})
        dl.write_deltalake(path, data, mode="append")

    def at(self, path: str, version: int) -> list[dict[str, Any]]:
        return read_by_deltalake(path, version)

    def operations(self, path: str) -> list[str | None]:
        return [entry.get("operation") for entry in dl.DeltaTable(path).history()]

    def compact(self, path: str) -> tuple[int, int]:
        done = dl.DeltaTable(path).optimize.compact()
        return done["numFilesRemoved"], done["numFilesAdded"]

    def vacuum(self, path: str) -> int:
        # With `full`, deltalake lists folders, like lakebed.
        return len(dl.DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True))


Door = Lakebed | Deltalake
Call = Callable[[Door, str], object]


def read_by_deltalake(path: str, version: int | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.table(dl.DeltaTable(path, version=version).to_pyarrow_table()).to_pylist()
    return found


def outcome(door: Door, call: Call, path: str) -> tuple[Outcome, object]:
    """Returns the rows after the call, or `REFUSED`, and the call's result. lakebed and deltalake
    must read the same rows from the table.
    """
    try:
        answer = call(door, path)
    except Exception:
        answer = REFUSED
    if not Path(path, "_delta_log").is_dir() or not list(Path(path, "_delta_log").glob("*.json")):
        return (REFUSED if answer == REFUSED else bag([])), answer
    found = bag(lb.Table(path).to_arrow().to_pylist())
    assert found == bag(read_by_deltalake(path)), "two readers of one table"
    return (REFUSED if answer == REFUSED else found), answer


WHEN = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("n", pa.int32()),
        ("v", pa.float64()),
        ("p", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("m", pa.decimal128(8, 2)),
    ]
)


def rows(*ids: int, **columns: Any) -> pa.Table:
    found = [{"id": id, "n": id * 10, "v": id / 4, "p": "xyz"[id % 3], "at": WHEN, "m": Decimal(id), **columns} for id in ids]
    return pa.Table.from_pylist(found, SCHEMA)


BEFORE = rows(1, 2, 3, 4)


def before(door: Door, path: str, **given: Any) -> None:
    door.write(path, BEFORE, **given)


def of(columns: dict[str, pa.Array | list[Any]]) -> pa.Table:
    return pa.table(columns)


def with_column(name: str, column: pa.Array) -> pa.Table:
    """Returns row 5 with another column."""
    data = rows(5)
    at = data.schema.get_field_index(name)
    return data.append_column(name, column) if at < 0 else data.set_column(at, name, column)


def batches(*tables: pa.Table) -> list[pa.RecordBatch]:
    return [batch for table in tables for batch in table.to_batches()]


#: The input data. It is made again for each implementation.
DATA: dict[str, Callable[[], Any]] = {
    "a table": lambda: rows(5, 6),
    "a reader": lambda: rows(5, 6).to_reader(1),
    "a batch": lambda: rows(5, 6).to_batches()[0],
    "a list of batches": lambda: [*rows(5).to_batches(), *rows(6).to_batches()],
    "a generator of batches": lambda: iter(batches(rows(5), rows(6))),
    "a pandas frame": lambda: rows(5, 6).to_pandas(),
    "a polars frame": lambda: pl.from_arrow(rows(5, 6)),
    "columns in another order": lambda: rows(5).select(list(reversed(SCHEMA.names))),
    "columns of another case": lambda: rows(5).rename_columns([name.upper() for name in SCHEMA.names]),
    "a column less": lambda: rows(5).drop_columns(["n"]),
    "a column more": lambda: with_column("new", pa.array([1])),
    "a column more, of nulls without a type": lambda: with_column("new", pa.nulls(1)),
    "a column of nulls without a type": lambda: with_column("n", pa.nulls(1)),
    "a column twice": lambda: pa.table([*rows(5).columns, rows(5)["n"]], names=[*SCHEMA.names, "n"]),
    "a column twice, by case": lambda: pa.table([*rows(5).columns, rows(5)["n"]], names=[*SCHEMA.names, "N"]),
    "no rows": lambda: rows(),
    "no columns": lambda: pa.table({}),
    "batches that drift in order": lambda: batches(rows(5), rows(6).select(list(reversed(SCHEMA.names)))),
    "batches that drift in type": lambda: batches(
        of({"id": [5], "n": pa.array([1], pa.int64())}), of({"id": [6], "n": pa.array([1.5])})
    ),
    "batches that drift to shorter values": lambda: batches(of({"id": [5]}), of({"id": pa.array([6], pa.int8())})),
    "batches that drift in width": lambda: batches(rows(5), rows(6).drop_columns(["n"])),
    "texts for numbers": lambda: with_column("n", pa.array(["1"])),
    "texts that are no numbers": lambda: with_column("n", pa.array(["one"])),
    "numbers for texts": lambda: with_column("p", pa.array([1])),
    "fractions for integers": lambda: with_column("n", pa.array([1.5])),
    "numbers that are too large": lambda: with_column("n", pa.array([2**40])),
    "numbers in a wider type": lambda: with_column("n", pa.array([7], pa.int64())),
    "numbers in a narrower type": lambda: with_column("n", pa.array([7], pa.int8())),
    "numbers without sign": lambda: with_column("id", pa.array([7], pa.uint64())),
    "truth for numbers": lambda: with_column("n", pa.array([True])),
    "integers for floats": lambda: with_column("v", pa.array([3])),
    "not a number": lambda: with_column("v", pa.array([float("nan")])),
    "a dictionary": lambda: with_column("p", pa.array(["x"]).dictionary_encode()),
    "large texts": lambda: with_column("p", pa.array(["x"], pa.large_string())),
    "views of texts": lambda: with_column("p", pa.array(["x"], pa.string_view())),
    "bytes for texts": lambda: with_column("p", pa.array([b"x"])),
    "nanoseconds that are whole microseconds": lambda: with_column("at", pa.array([WHEN], pa.timestamp("ns", "UTC"))),
    "nanoseconds": lambda: with_column("at", pa.array([1], pa.timestamp("ns", "UTC"))),
    "milliseconds": lambda: with_column("at", pa.array([WHEN], pa.timestamp("ms", "UTC"))),
    "times of another zone": lambda: with_column("at", pa.array([WHEN], pa.timestamp("us", "Asia/Tokyo"))),
    "times without a zone": lambda: with_column("at", pa.array([WHEN.replace(tzinfo=None)], pa.timestamp("us"))),
    "a date for a time": lambda: with_column("at", pa.array([date(2026, 3, 1)])),
    "a decimal with fewer digits": lambda: with_column("m", pa.array([Decimal("1.5")], pa.decimal128(4, 1))),
    "a decimal with more digits": lambda: with_column("m", pa.array([Decimal("1.555")])),
    "a decimal that is too large": lambda: with_column("m", pa.array([Decimal("1234567.00")])),
    "a null where none may be": lambda: with_column("id", pa.array([None], pa.int64())),
    "a time of day": lambda: with_column("new", pa.array([WHEN.time()])),
    "a list": lambda: with_column("new", pa.array([[1, None]])),
    "a struct": lambda: with_column("new", pa.array([{"a": 1, "b": None}], pa.struct([("a", pa.int32()), ("b", pa.string())]))),
    "an empty text": lambda: with_column("p", pa.array([""])),
    "nothing": lambda: None,
    "a number": lambda: 5,
    "an empty list": lambda: [],
}
#: The calls that write the input data.
WRITES: dict[str, Callable[[Door, str, Any], None]] = {
    "new": lambda door, path, data: door.write(path, data),
    "new, in partitions": lambda door, path, data: door.write(path, data, partition_by=["p"]),
    "append": lambda door, path, data: (before(door, path), door.write(path, data))[0],
    "append to partitions": lambda door, path, data: (before(door, path, partition_by=["p"]), door.write(path, data))[0],
    "overwrite": lambda door, path, data: (before(door, path), door.write(path, data, mode="overwrite"))[0],
    "merge the schema": lambda door, path, data: (before(door, path), door.write(path, data, schema_mode="merge"))[0],
    "replace the schema": lambda door, path, data: (
        before(door, path),
        door.write(path, data, mode="overwrite", schema_mode="overwrite"),
    )[0],
}


@dataclass(frozen=True)
class Difference:
    """A known difference: the outcome in each implementation (`rows` or `refused`), and the reason
    for lakebed's behaviour.
    """

    lakebed: str
    deltalake: str
    reason: str
    #: The keys of `WRITES` for which the difference holds. Empty means all.
    of: tuple[str, ...] = ()


EXISTING = ("append", "append to partitions", "overwrite", "merge the schema")
CAST = Difference(
    "refused",
    "rows",
    "deltalake casts what it can; lakebed refuses what Delta Spark's store assignment would have to guess",
    EXISTING,
)
OTHERS: dict[str, list[Difference]] = {
    "a generator of batches": [Difference("rows", "refused", "lakebed takes any iterable of batches")],
    "columns of another case": [
        Difference("rows", "refused", "Delta's names are the same whatever their case", (*EXISTING, "new, in partitions"))
    ],
    "a column less": [
        Difference(
            "rows",
            "refused",
            "a column that the data lacks is null, as in Delta Spark",
            ("append", "append to partitions", "overwrite"),
        )
    ],
    "a column more, of nulls without a type": [
        Difference(
            "refused",
            "rows",
            "a column of no type cannot be read by Spark",
            ("new", "new, in partitions", "merge the schema", "replace the schema"),
        )
    ],
    "a column of nulls without a type": [
        Difference(
            "refused", "rows", "a column of no type cannot be read by Spark", ("new", "new, in partitions", "replace the schema")
        )
    ],
    "no columns": [
        Difference("refused", "rows", "the column id may not be null", ("merge the schema",)),
        Difference("refused", "unreadable", "deltalake makes a table that it cannot read", ("replace the schema",)),
    ],
    "batches that drift in order": [Difference("rows", "refused", "each batch is matched to the first by name")],
    "batches that drift to shorter values": [
        Difference(
            "rows", "refused", "each batch is cast to the first where nothing is lost", ("new", "replace the schema", *EXISTING)
        )
    ],
    "texts for numbers": [CAST],
    "numbers for texts": [CAST],
    "fractions for integers": [Difference("refused", "rows", "deltalake cuts 1.5 to 1", EXISTING)],
    "truth for numbers": [CAST],
    "bytes for texts": [
        CAST,
        Difference("rows", "other rows", "deltalake does not read its own partitions of bytes back", ("new, in partitions",)),
    ],
    "a dictionary": [
        Difference(
            "rows", "refused", "deltalake has no dictionaries in partitions", ("new, in partitions", "append to partitions")
        )
    ],
    "nanoseconds": [Difference("refused", "rows", "deltalake cuts off the nanoseconds; lakebed does if on_lossy says so")],
    "a date for a time": [Difference("refused", "rows", "a date is no instant without a time zone", EXISTING)],
    "times without a zone": [Difference("refused", "rows", "a time without a zone is no instant", ("merge the schema",))],
}


def other(what: str, how: str) -> Difference | None:
    return next((one for one in OTHERS.get(what, []) if not one.of or how in one.of), None)


@pytest.mark.parametrize("what", DATA)
@pytest.mark.parametrize("how", WRITES)
def test_deltalake_and_lakebed_write_same_rows(how: str, what: str, tmp_path: Path) -> None:
    found = {}
    for door in (Lakebed(), Deltalake()):
        name = type(door).__name__.lower()
        try:
            found[name], _ = outcome(door, lambda door, path: WRITES[how](door, path, DATA[what]()), str(tmp_path / name))
        except dl.exceptions.DeltaError:
            found[name] = "unreadable"
    check(found, other(what, how))


def check(found: dict[str, Outcome], known: Difference | None) -> None:
    ours, theirs = found["lakebed"], found["deltalake"]
    if known is None:
        assert ours == theirs
        return
    assert ours != theirs, f"they agree now: {known}"
    assert (ours if isinstance(ours, str) else "rows") == known.lakebed
    assert (theirs if isinstance(theirs, str) else "other rows" if known.deltalake == "other rows" else "rows") == known.deltalake


Clauses = list[tuple[str, dict[str, str] | None, str | None]]


def merged(on: str, *clauses: tuple[str, dict[str, str] | None, str | None]) -> Call:
    def call(door: Door, path: str) -> None:
        before(door, path)
        door.merge(path, rows(3, 4, 5, 6), on, list(clauses))

    return call


def merged_with_doubles(door: Door, path: str) -> None:
    before(door, path)
    door.merge(path, rows(3, 3), "target.id = source.id", [("matched_update", None, None)])


def deleted(where: str | None, **given: Any) -> Call:
    def call(door: Door, path: str) -> None:
        before(door, path, **given)
        door.delete(path, where)

    return call


def updated(set: dict[str, str], where: str | None = None) -> Call:
    def call(door: Door, path: str) -> None:
        before(door, path, partition_by=["p"])
        door.update(path, set, where)

    return call


def replaced(where: str, *ids: int) -> Call:
    def call(door: Door, path: str) -> None:
        before(door, path)
        door.write(path, rows(*ids), mode="overwrite", where=where)

    return call


def written(**given: Any) -> Call:
    def call(door: Door, path: str) -> None:
        before(door, path)
        door.write(path, rows(5), **given)

    return call


def in_past(version: int) -> Call:
    def call(door: Door, path: str) -> object:
        before(door, path)
        door.delete(path, "id = 1")
        door.write(path, rows(5))
        return bag(door.at(path, version))

    return call


def told(door: Door, path: str) -> object:
    before(door, path)
    door.write(path, rows(5))
    door.delete(path, "id = 1")
    door.update(path, {"n": "7"}, "id = 2")
    door.merge(path, rows(3), "target.id = source.id", [("matched_update", None, None)])
    door.compact(path)
    return door.operations(path)


def compacted(door: Door, path: str) -> object:
    before(door, path, partition_by=["p"])
    for id in range(5, 11):
        door.write(path, rows(id))
    return door.compact(path)


def compacted_twice(door: Door, path: str) -> object:
    compacted(door, path)
    return door.compact(path)


def vacuumed(door: Door, path: str) -> object:
    before(door, path)
    door.write(path, rows(5))
    door.write(path, rows(6), mode="overwrite")
    return door.vacuum(path)


def on_nothing(verb: str) -> Call:
    def call(door: Door, path: str) -> None:
        match verb:
            case "delete":
                door.delete(path, "id = 1")
            case "update":
                door.update(path, {"n": "1"}, None)
            case _:
                door.merge(path, rows(1), "target.id = source.id", [("matched_update", None, None)])

    return call


BY_ID = "target.id = source.id"
#: The calls on existing rows.
CALLS: dict[str, Call] = {
    "delete some": deleted("id > 2"),
    "delete by a partition": deleted("p = 'x'", partition_by=["p"]),
    "delete by two columns": deleted("p = 'x' OR n = 20", partition_by=["p"]),
    "delete what is null": deleted("v IS NULL"),
    "delete none": deleted("id > 99"),
    "delete all": deleted(None),
    "delete by a column that is not there": deleted("nope = 1"),
    "delete by no condition": deleted("id"),
    "delete from nothing": on_nothing("delete"),
    "update some": updated({"n": "n + 1", "v": "v * 2"}, "id > 2"),
    "update all": updated({"v": "NULL"}),
    "update a partition": updated({"p": "'new'"}, "id = 1"),
    "update to another type": updated({"n": "'text'"}),
    "update to null where none may be": updated({"id": "NULL"}),
    "update a column that is not there": updated({"nope": "1"}),
    "update beyond what a column holds": updated({"n": "3000000000"}),
    "update nothing": on_nothing("update"),
    "merge: update and insert": merged(BY_ID, ("matched_update", None, None), ("not_matched_insert", None, None)),
    "merge: insert": merged(BY_ID, ("not_matched_insert", None, None)),
    "merge: insert some": merged(BY_ID, ("not_matched_insert", None, "source.id = 5")),
    "merge: delete": merged(BY_ID, ("matched_delete", None, None)),
    "merge: update some": merged(BY_ID, ("matched_update", {"n": "source.n + target.n"}, "source.id = 3")),
    "merge: two clauses": merged(
        BY_ID, ("matched_delete", None, "target.id = 3"), ("matched_update", {"v": "source.v + 1"}, None)
    ),
    "merge: those that the source lacks": merged(
        BY_ID,
        ("not_matched_by_source_update", {"p": "'gone'"}, "target.id = 1"),
        ("not_matched_by_source_delete", None, None),
    ),
    "merge: by a column that is not there": merged("target.nope = source.id", ("matched_update", None, None)),
    "merge: several of the source match a row": merged_with_doubles,
    "merge: into nothing": on_nothing("merge"),
    "overwrite where": replaced("id > 2", 3, 7),
    "overwrite where no row was": replaced("id > 6", 7),
    "overwrite where, with a row that does not meet it": replaced("id > 2", 1, 7),
    "overwrite where, by a column that is not there": replaced("nope > 2", 7),
    "overwrite": written(mode="overwrite"),
    "write where there is a table, error": written(mode="error"),
    "write where there is a table, ignore": written(mode="ignore"),
    "write in a mode that is none": written(mode="nonsense"),
    "write in a schema mode that is none": written(schema_mode="nonsense"),
    "write to other partitions": written(partition_by=["p"]),
    "write files of no bytes": written(target_file_size=0),
    "write files of less than no bytes": written(target_file_size=-1),
    "the first version": in_past(0),
    "a version between": in_past(1),
    "a version that is none": in_past(9),
    "a constraint that is met": lambda door, path: door.constrained(path, rows(1, 2), "positive", "id > 0"),
    "a constraint that is not met": lambda door, path: door.constrained(path, rows(1, 2), "large", "id > 1"),
    "a constraint of what is not there": lambda door, path: door.constrained(path, rows(1), "odd", "nope > 1"),
    "history": told,
    "compact": compacted,
    "compact twice": compacted_twice,
    "vacuum": vacuumed,
}
OTHER_CALLS: dict[str, Difference] = {
    "update a column that is not there": Difference("refused", "rows", "deltalake passes it over in silence"),
}


@pytest.mark.parametrize("name", CALLS)
def test_both_do_the_same_or_refuse_it(name: str, tmp_path: Path) -> None:
    found, answers = {}, {}
    for door in (Lakebed(), Deltalake()):
        word = type(door).__name__.lower()
        found[word], answers[word] = outcome(door, CALLS[name], str(tmp_path / word))
    check(found, OTHER_CALLS.get(name))
    if name not in OTHER_CALLS:
        assert answers["lakebed"] == answers["deltalake"]
