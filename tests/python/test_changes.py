"""The change data feed and columns about rows, read by lakebed alone: their rows, their form and
their versions.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed as lb

#: The timestamp of version 0. Each later version has a timestamp one minute after the version
#: before.
BEGIN = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
FEED = {"delta.enableChangeDataFeed": "true"}

Event = tuple[Any, ...]

INSERTS: list[Event] = [
    (name, fruit, "insert", 1) for name, fruit in (("jack", "apple"), ("sarah", "orange"), ("john", "pineapple"))
]
UPDATE: list[Event] = [("jack", "apple", "update_preimage", 2), ("jack", "banana", "update_postimage", 2)]
DELETE: list[Event] = [("john", "pineapple", "delete", 3)]


class Log:
    """A table that the test writes commit by commit. The test decides the content of a commit."""

    def __init__(self, path: Path, columns: Sequence[str], *, partition_by: Sequence[str] = (), properties: Any = None) -> None:
        self.path = path
        self.partition_by = list(partition_by)
        self.version = -1
        (path / "_delta_log").mkdir(parents=True)
        self.commit(
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}},
            self.metadata(columns, FEED if properties is None else properties),
        )

    def metadata(self, columns: Sequence[str], properties: dict[str, str]) -> dict[str, Any]:
        fields = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in columns]
        schema = json.dumps({"type": "struct", "fields": fields})
        return {
            "metaData": {
                "id": "one",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": self.partition_by,
                "configuration": properties,
            }
        }

    def file(self, name: str, rows: dict[str, list[str]], values: dict[str, str] | None = None) -> dict[str, Any]:
        """Writes a data file. Returns the fields of its action."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(rows), place)
        return {"path": name, "partitionValues": values or {}, "size": place.stat().st_size, "dataChange": True}

    def commit(self, *actions: dict[str, Any]) -> None:
        self.version += 1
        place = self.path / "_delta_log" / f"{self.version:020}.json"
        place.write_text("".join(json.dumps(action) + "\n" for action in actions))
        moment = (BEGIN + timedelta(minutes=self.version)).timestamp()
        os.utime(place, (moment, moment))


def added(file: dict[str, Any]) -> dict[str, Any]:
    return {"add": {**file, "modificationTime": 0}}


def removed(file: dict[str, Any]) -> dict[str, Any]:
    return {"remove": {**file, "deletionTimestamp": 0, "extendedFileMetadata": True}}


def changed(file: dict[str, Any]) -> dict[str, Any]:
    return {"cdc": {**file, "dataChange": False}}


@pytest.fixture
def fruits(tmp_path: Path) -> Log:
    """Version 1 inserts three rows, 2 gives jack a banana, 3 deletes john. Version 2 has a change
    data file, and version 3 removes a file.
    """
    log = Log(tmp_path / "fruits", ["name", "fruit"])
    one = log.file("one.parquet", {"name": ["jack", "sarah"], "fruit": ["apple", "orange"]})
    john = log.file("john.parquet", {"name": ["john"], "fruit": ["pineapple"]})
    two = log.file("two.parquet", {"name": ["jack", "sarah"], "fruit": ["banana", "orange"]})
    kinds = ["update_preimage", "update_postimage"]
    update = {"name": ["jack", "jack"], "fruit": ["apple", "banana"], "_change_type": kinds}
    log.commit(added(one), added(john))
    log.commit(removed(one), added(two), changed(log.file("_change_data/c.parquet", update)))
    log.commit(removed(john))
    return log


def events(source: Any) -> list[Event]:
    """Returns the rows without their timestamps."""
    found = pa.table(source)
    return [tuple(row.values()) for row in found.drop_columns(["_commit_timestamp"]).to_pylist()]


def test_every_range_gives_its_changes(fruits: Log) -> None:
    table = lb.Table(fruits.path)
    by_version = [[], INSERTS, UPDATE, DELETE]
    for start in range(4):
        for end in range(start, 4):
            changes = table.changes(start, end)
            assert events(changes) == list(chain.from_iterable(by_version[start : end + 1]))
            assert (changes.start_version, changes.end_version) == (start, end)
            assert set(changes.to_arrow()["_commit_timestamp"].to_pylist()) == {
                BEGIN + timedelta(minutes=version) for version in range(max(start, 1), end + 1)
            }


def test_every_door_gives_the_same_rows(fruits: Log) -> None:
    changes = lb.Table(fruits.path).changes(1)
    assert changes.schema == pa.schema(
        [
            ("name", pa.string()),
            ("fruit", pa.string()),
            pa.field("_change_type", pa.string(), nullable=False),
            pa.field("_commit_version", pa.int64(), nullable=False),
            pa.field("_commit_timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
        ]
    )
    assert pa.schema(changes) == changes.schema
    expected = INSERTS + UPDATE + DELETE
    kinds = [row[2] for row in expected]
    for _ in range(2):
        assert events(changes) == events(changes.to_arrow()) == events(changes.to_reader().read_all()) == expected
    assert list(changes.to_pandas()["_change_type"]) == kinds
    assert list(changes.to_polars()["_change_type"]) == list(pl.DataFrame(changes)["_change_type"]) == kinds
    assert [row[0] for row in changes.to_duckdb().project("_change_type").fetchall()] == kinds
    assert duckdb.sql("SELECT count(*) FROM changes WHERE _change_type = 'insert'").fetchone() == (3,)
    assert repr(lb.Table(fruits.path).changes(2, 3, columns=["name"])).endswith("fruits', versions 2 to 3, columns=['name'])")


def test_columns_and_conditions(fruits: Log) -> None:
    table = lb.Table(fruits.path)
    changes = table.changes(0, columns=["fruit"], where="name = 'jack'")
    assert changes.schema.names == ["fruit", "_change_type", "_commit_version", "_commit_timestamp"]
    assert events(changes) == [row[1:] for row in INSERTS[:1] + UPDATE]
    assert events(table.changes(0, columns=[], where="fruit > 'o'")) == [row[2:] for row in INSERTS[1:] + DELETE]
    assert table.changes(3, columns=["NAME"]).schema.names[0] == "name"
    assert table.changes(3, columns="name").schema.names[0] == "name"
    with pytest.raises(lb.InvalidInputError, match="no column nme"):
        table.changes(0, columns=["nme"]).to_arrow()
    with pytest.raises(lb.PredicateError, match="nme"):
        table.changes(0, where="nme = 'jack'").to_arrow()
    with pytest.raises(lb.InvalidInputError, match=r"_metadata.row_index: the change data feed does not have it"):
        table.changes(0, columns=["_metadata.row_index"]).to_arrow()


def test_tasks_in_another_process_give_same_rows(fruits: Log) -> None:
    changes = lb.Table(fruits.path).changes(0)
    tasks = changes.tasks(target_task_size=1)
    assert len(tasks) == 4
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = [row for part in pool.map(read_events, tasks) for row in part]
    assert found == events(changes)
    assert [row for task in changes.tasks() for row in read_events(task)] == events(changes)


def read_events(task: bytes) -> list[Event]:
    return events(lb.read_task(task).read_all())


def test_forked_child_reads_parents_changes(fruits: Log) -> None:
    changes = lb.Table(fruits.path).changes(0, where="name = 'jack'")
    assert len(events(changes)) == 3
    child = os.fork()
    if child == 0:
        # The child must not run the parent's test session to its end.
        os._exit(0 if len(events(changes)) == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_changes_end_at_version_of_call(fruits: Log) -> None:
    old = lb.Table(fruits.path, version=1)
    before = old.changes(2)
    assert before.end_version == 3
    fruits.commit(added(fruits.file("four.parquet", {"name": ["eve"], "fruit": ["fig"]})))
    assert events(before) == UPDATE + DELETE
    assert events(old.changes(4)) == [("eve", "fig", "insert", 4)]


def test_moments_mean_versions(fruits: Log) -> None:
    table = lb.Table(fruits.path)

    def versions(start: float | str, end: float | None = None) -> tuple[int, int]:
        begin = start if isinstance(start, str) else BEGIN + timedelta(minutes=start)
        changes = table.changes(begin, None if end is None else BEGIN + timedelta(minutes=end))
        return changes.start_version, changes.end_version

    assert versions(-1000) == (0, 3)
    assert versions(1) == versions("2026-03-01T12:01:00Z") == versions("2026-03-01T14:01:00+02:00") == (1, 3)
    assert versions(0.5, 2.5) == (1, 2)
    assert versions(2, 2) == (2, 2)
    assert versions(3, 10_000_000) == (3, 3)
    # The timestamp is less than a millisecond after a version.
    late = BEGIN + timedelta(minutes=1, microseconds=1)
    assert table.changes(late).start_version == 2
    assert table.changes(0, late).end_version == 1
    assert (table.changes(1, BEGIN + timedelta(minutes=2)).end_version, table.changes(BEGIN, 1).end_version) == (2, 1)
    # There may be no version between two timestamps.
    assert versions(1.25, 1.75) == (2, 1)
    nothing = table.changes(BEGIN + timedelta(minutes=1, seconds=1), BEGIN + timedelta(minutes=1, seconds=1))
    assert (events(nothing), nothing.tasks(), nothing.schema) == ([], [], table.changes(1).schema)


def test_what_is_not_there_is_told(fruits: Log) -> None:
    table = lb.Table(fruits.path)
    after, before = BEGIN + timedelta(minutes=3, seconds=1), BEGIN - timedelta(seconds=1)
    for bounds, message in (
        ((4,), "versions 4 to 4: the newest version is 3"),
        ((0, 4), "versions 0 to 4: the newest version is 3"),
        ((after,), "timestamp 2026-03-01T12:03:01.000Z is after the latest commit, version 3"),
        ((0, before), "is before the earliest commit that can be read, version 0"),
    ):
        with pytest.raises(lb.VersionNotFoundError, match=message):
            table.changes(*bounds)
    for bounds, message in (
        ((2, 1), "versions 2 to 1: the end comes before the start"),
        ((after, before), "the end comes before the start"),
        ((-1,), "start=-1: it must be 0 or more"),
        ((0, -1), "end=-1: it must be 0 or more"),
    ):
        with pytest.raises(lb.InvalidInputError, match=message):
            table.changes(*bounds)
    with pytest.raises(ValueError, match="no time zone"):
        table.changes("2026-03-01T12:00:00")
    (fruits.path / "_delta_log" / f"{2:020}.json").rename(fruits.path / "_delta_log" / "gone")
    with pytest.raises(lb.VersionNotFoundError, match="the commit of version 2 no longer exists"):
        table.changes(1, 3).to_arrow()


def test_versions_that_record_no_changes_are_named(tmp_path: Path) -> None:
    log = Log(tmp_path / "t", ["name"], properties={})
    log.commit(log.metadata(["name"], FEED))
    log.commit(log.metadata(["name"], {}))
    log.commit(log.metadata(["name"], FEED))
    table = lb.Table(log.path)
    for start, end, version in ((0, 3, 0), (1, 3, 2), (1, 2, 2), (2, None, 2)):
        with pytest.raises(lb.InvalidInputError, match=f"version {version} does not record changes: delta.enableChangeDataFeed"):
            table.changes(start, end).to_arrow()
    assert table.changes(1, 1).to_arrow().num_rows == table.changes(3).to_arrow().num_rows == 0


def test_old_rows_have_columns_of_last_version(fruits: Log) -> None:
    fruits.commit(fruits.metadata(["name", "fruit", "color"], FEED))
    table = lb.Table(fruits.path)
    assert events(table.changes(2)) == [(name, fruit, None, *change) for name, fruit, *change in UPDATE + DELETE]
    assert events(table.changes(2, 3)) == UPDATE + DELETE
    fruits.commit(fruits.metadata(["name", "color"], FEED))
    with pytest.raises(lb.SchemaMismatchError, match=r"column fruit.*separately"):
        table.changes(2).to_arrow()
    assert table.changes(5).schema.names[:2] == ["name", "color"]


def test_partition_values_come_from_the_log(tmp_path: Path) -> None:
    log = Log(tmp_path / "t", ["name", "city"], partition_by=["city"])
    oslo = log.file("a.parquet", {"name": ["jack"]}, {"city": "Oslo"})
    lima = log.file("b.parquet", {"name": ["sarah"]}, {"city": "Lima"})
    moved = {"name": ["jack", "jack"], "_change_type": ["update_preimage", "update_postimage"]}
    halves = [{name: values[at : at + 1] for name, values in moved.items()} for at in range(2)]
    log.commit(added(oslo), added(lima))
    log.commit(
        removed(oslo),
        added(log.file("c.parquet", {"name": ["jack"]}, {"city": "Lima"})),
        changed(log.file("_change_data/d.parquet", halves[0], {"city": "Oslo"})),
        changed(log.file("_change_data/e.parquet", halves[1], {"city": "Lima"})),
    )
    table = lb.Table(log.path)
    expected = [("jack", "Oslo", "update_preimage", 2), ("jack", "Lima", "update_postimage", 2)]
    assert events(table.changes(2)) == expected
    assert events(table.changes(0, where="city = 'Lima'")) == [("sarah", "Lima", "insert", 1), expected[1]]


def test_what_lakebed_writes_can_be_followed(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2]}), properties=FEED).table
    table.append(pa.table({"id": [3]}))
    table.overwrite(pa.table({"id": [4]}))
    found = sorted(events(table.changes(0)), key=lambda row: (row[2], row[1], row[0]))
    assert found[:3] == [(1, "insert", 0), (2, "insert", 0), (3, "insert", 1)]
    assert found[3:] == [(1, "delete", 2), (2, "delete", 2), (3, "delete", 2), (4, "insert", 2)]


def test_metadata_columns_come_where_named(tmp_path: Path) -> None:
    tracked = {"delta.enableRowTracking": "true"}
    data = pa.table({"id": [1, 2], "place": [{"city": "Lima", "zip": 1}, {"city": "Oslo", "zip": 2}]})
    table = lb.write(tmp_path / "t", data, properties=tracked).table
    table.append(data.slice(0, 1))
    table = table.refresh()
    columns = ["place.city", "_metadata.row_id", "id", "_metadata.file_path", "_metadata.row_index"]
    columns += ["_metadata.row_commit_version", "_metadata.file_size"]
    scan = table.scan(columns, row_columns=[("row_id", "again")])
    assert scan.schema.names == ["place", *columns[1:], "again"]
    sizes = {file.name: file.stat().st_size for file in (tmp_path / "t").glob("*.parquet")}
    found = scan.to_arrow().to_pylist()
    assert [(row["id"], row["_metadata.row_id"], row["_metadata.row_index"]) for row in found] == [
        (1, 0, 0),
        (2, 1, 1),
        (1, 2, 0),
    ]
    assert [row["_metadata.row_commit_version"] for row in found] == [0, 0, 1]
    assert [row["_metadata.file_size"] for row in found] == [sizes[row["_metadata.file_path"]] for row in found]
    assert all(row["again"] == row["_metadata.row_id"] and row["place"].keys() == {"city"} for row in found)
    assert [row for task in scan.tasks() for row in lb.read_task(task).read_all().to_pylist()] == found
    assert scan.to_polars().columns == scan.schema.names
    assert table.to_arrow(["_METADATA.Row_ID"], where="place.zip = 2").to_pydict() == {"_metadata.row_id": [1]}
    assert table.scan(["_metadata.file_path"], limit=2).to_arrow().num_rows == 2


def test_metadata_columns_without_meaning_are_refused(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1]})).table
    with pytest.raises(lb.InvalidInputError, match=r"_metadata.row_id: the table does not track rows"):
        table.to_arrow(["_metadata.row_id"])
    with pytest.raises(lb.InvalidInputError, match=r"_metadata.row_id: the table does not track rows"):
        table.scan(["_metadata.row_id"]).tasks()
    with pytest.raises(lb.InvalidInputError, match=r"no column _metadata.id; the metadata columns are: _metadata.file_path, "):
        table.to_arrow(["_metadata.id"])
    with pytest.raises(lb.InvalidInputError, match=r"_metadata.row_index is given twice"):
        table.to_arrow(["_metadata.row_index", "id", "_metadata.row_index"])
    with pytest.raises(lb.InvalidInputError, match=r"_metadata.row_id: the table does not track rows"):
        table.to_arrow(["id"], where="id = 1 AND _metadata.row_id = 0")
    with pytest.raises(lb.InvalidInputError, match=r"_metadata.row_commit_version: the table does not track rows"):
        table.delete("_metadata.row_commit_version = 0")
    with pytest.raises(lb.PredicateError, match="there is no field `row_ids`"):
        table.to_arrow(["id"], where="_metadata.row_ids = 0")
    assert table.to_arrow(["id"], where="_metadata.row_index = 0").to_pydict() == {"id": [1]}


def test_conditions_may_ask_for_what_rows_tell(tmp_path: Path) -> None:
    tracked = {"delta.enableRowTracking": "true"}
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2, 3], "v": [0, 0, 0]}), properties=tracked).table
    table.append(pa.table({"id": [4, 5], "v": [0, 0]}))
    table.update({"v": "1"}, where="_metadata.row_id = 1 OR _metadata.row_id = 4")
    table.optimize()
    table = table.refresh()
    rows = table.to_arrow(["id", "v", "_metadata.row_id"]).to_pylist()
    assert {(row["_metadata.row_id"], row["v"]) for row in rows} == {(0, 0), (1, 1), (2, 0), (3, 0), (4, 1)}
    for row_id in range(-1, 6):
        found = table.to_arrow(["id"], where=f"_metadata.row_id = {row_id}").column("id").to_pylist()
        assert found == [row["id"] for row in rows if row["_metadata.row_id"] == row_id]
    assert table.scan(where="_metadata.row_id >= 3").count() == 2
    assert sum(lb.read_task(task).read_all().num_rows for task in table.scan(where="_metadata.row_id < 3").tasks()) == 3
    assert table.delete("_metadata.row_id = 2").metrics.deleted_rows == 1


def test_a_column_of_that_name_keeps_it(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"_metadata": [{"row_index": 70, "other": 1}]})).table
    assert table.to_arrow(["_metadata.row_index"]).to_pylist() == [{"_metadata": {"row_index": 70}}]
    with pytest.raises(lb.InvalidInputError, match=r"no column _metadata.row_id; there are: row_index, other"):
        table.to_arrow(["_metadata.row_id"])
    rows = table.scan(["_metadata.row_index"], row_columns=[("row_index", "row")]).to_arrow()
    assert rows.to_pylist() == [{"_metadata": {"row_index": 70}, "row": 0}]
