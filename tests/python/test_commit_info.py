"""Entries of the caller in ``commitInfo``, and several applications in one commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed as lb

OWN = {"ticket": 4711, "nested": {"flag": True, "items": [1, None, 0.5]}, "userName": "Ada", "none": None}
ROWS = pa.table({"id": [1, 2, 3]})
MORE = pa.table({"id": [3, 4]})


def upserted(path: Path) -> None:
    lb.Table(path).upsert(MORE, "id", commit_info=OWN)


def transacted(path: Path) -> None:
    with lb.Table(path).transaction(commit_info=OWN) as tx:
        tx.append(MORE)
        tx.delete("id = 1")


def repaired(path: Path) -> None:
    next(path.glob("*.parquet")).unlink()
    lb.repair(path, dry_run=False, drop_missing_files=True, commit_info=OWN)


def converted(path: Path) -> None:
    path.joinpath("files").mkdir()
    pq.write_table(ROWS, path / "files" / "a.parquet")
    lb.convert(path / "files", commit_info=OWN)


#: The verbs that commit, and the folder of the table that they write.
VERBS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "append": (lambda path: lb.Table(path).append(MORE, commit_info=OWN), ""),
    "overwrite": (lambda path: lb.Table(path).overwrite(MORE, commit_info=OWN), ""),
    "write": (lambda path: lb.write(path, MORE, commit_info=OWN), ""),
    "create": (lambda path: lb.create(path / "new", ROWS.schema, commit_info=OWN), "new"),
    "delete": (lambda path: lb.Table(path).delete("id = 1", commit_info=OWN), ""),
    "update": (lambda path: lb.Table(path).update({"id": "id + 1"}, commit_info=OWN), ""),
    "upsert": (upserted, ""),
    "transaction": (transacted, ""),
    "alter": (lambda path: lb.Table(path).alter(commit_info=OWN).add_column("b", "int"), ""),
    "optimize": (lambda path: lb.Table(path).append(MORE).table.optimize(commit_info=OWN), ""),
    "restore": (lambda path: lb.Table(path).append(MORE).table.restore(version=0, commit_info=OWN), ""),
    "clone": (lambda path: lb.Table(path).clone(path.parent / f"{path.name}-copy", commit_info=OWN), "-copy"),
    "convert": (converted, "files"),
    "repair": (repaired, ""),
    "erase": (lambda path: lb.Table(path).erase("id = 1", commit_info=OWN), ""),
    "vacuum that keeps versions": (
        lambda path: (
            lb.Table(path)
            .overwrite(MORE)
            .table.vacuum(0, enforce_retention=False, keep_versions=[0], log_commits=False, commit_info=OWN)
        ),
        "",
    ),
    "vacuum": (
        lambda path: lb.Table(path).overwrite(MORE).table.vacuum(0, enforce_retention=False, commit_info=OWN),
        "",
    ),
}


def newest_info(path: Path) -> dict[str, Any]:
    """Returns the ``commitInfo`` of the newest commit, as the file has it."""
    lines = max((path / "_delta_log").glob("*.json")).read_text().splitlines()
    (found,) = [json.loads(line)["commitInfo"] for line in lines if '"commitInfo"' in line]
    return dict(found)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_records_own_entries(verb: str, tmp_path: Path) -> None:
    lb.write(tmp_path, ROWS)
    change, place = VERBS[verb]
    change(tmp_path)
    written = tmp_path.parent / f"{tmp_path.name}-copy" if place == "-copy" else tmp_path / place
    info = newest_info(written)
    assert {name: info[name] for name in OWN} == OWN
    entry = lb.Table(written).history(limit=1)[0]
    assert (entry.commit_info, entry.user_metadata) == (info, None)


def test_text_and_entries_are_both_kept(tmp_path: Path) -> None:
    lb.write(tmp_path, ROWS, user_metadata="why", commit_info={"operationParameters": {"mode": "own", "job": 7}})
    info = newest_info(tmp_path)
    assert (info["userMetadata"], info["operation"]) == ("why", "WRITE")
    assert info["operationParameters"] == {"mode": "Append", "partitionBy": "[]", "job": "7"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"timestamp": 5}, "commit_info: timestamp: lakebed records this entry itself: choose another name"),
        ({"TXNID": "a"}, "commit_info: TXNID: lakebed records this entry itself: choose another name"),
        (
            {"userMetadata": "a"},
            "commit_info: userMetadata: this entry has an option of its own: pass it as user_metadata",
        ),
        ({"job": "nightly"}, "commit_info: job: other readers expect an object with string values here"),
        ({"": 1}, 'commit_info: "": the name of an entry is empty'),
        ({"a": 2**63}, "commit_info: 'a': 9223372036854775808 does not fit in 64 bits: pass it as a string"),
        ({"a": [float("nan")]}, "commit_info: 'a': nan is no value of JSON"),
    ],
)
def test_entry_without_sense_is_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    table = lb.write(tmp_path, ROWS).table
    with pytest.raises(lb.InvalidInputError) as caught:
        table.append(MORE, commit_info=given)
    assert str(caught.value) == message
    assert len(list((tmp_path / "_delta_log").glob("*.json"))) == 1


@pytest.mark.parametrize("given", ["a", [("a", 1)], {1: "a"}, {"a": object()}, {"a": {1: 2}}, {"a": b"x"}, {"a": {1}}])
def test_entry_of_wrong_type_is_refused(given: Any, tmp_path: Path) -> None:
    table = lb.write(tmp_path, ROWS).table
    with pytest.raises(TypeError, match=r"^commit_info"):
        table.append(MORE, commit_info=given)


def test_operation_of_transaction_takes_no_entries(tmp_path: Path) -> None:
    table = lb.write(tmp_path, ROWS).table
    with table.transaction() as tx, pytest.raises(TypeError, match="unexpected keyword argument 'commit_info'"):
        tx.append(MORE, commit_info=OWN)  # type: ignore[call-arg]


@pytest.mark.spark
def test_spark_reads_tables_with_own_entries(spark: Any, tmp_path: Path) -> None:
    own = {**OWN, "job": {"jobId": "5"}, "notebook": {"notebookId": "6"}, "clusterId": "c", "operationParameters": {"x": 1}}
    properties = {"delta.enableInCommitTimestamps": True, "delta.checkpointInterval": 2}
    for _ in range(4):
        lb.write(tmp_path, ROWS, commit_info=own, properties=properties)
    assert spark.read.format("delta").load(str(tmp_path)).count() == 12
    history = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}`").collect()
    found = [
        (row.userName, row.job.jobId, row.notebook.notebookId, row.clusterId, row.operationParameters["x"]) for row in history
    ]
    assert found == [("Ada", "5", "6", "c", "1")] * 4


# Several applications


def test_commit_records_several_applications(tmp_path: Path) -> None:
    both = [("a", 1), ("b", 7)]
    table = lb.write(tmp_path, ROWS, txn=both).table
    assert (table.transaction_version("a"), table.transaction_version("b")) == (1, 7)
    again = table.append(ROWS, txn=both)
    assert (again.committed, again.version, again.table.count()) == (False, 0, 3)
    newer = table.delete("id = 1", txn=[("a", 2), ("b", 8)])
    assert (newer.committed, newer.table.transaction_version("a"), newer.table.transaction_version("b")) == (True, 2, 8)


@pytest.mark.parametrize(("txn", "has", "lacks"), [([("a", 1), ("b", 2)], "a", "b"), ([("b", 2), ("a", 1)], "a", "b")])
def test_half_known_applications_are_refused(txn: list[tuple[str, int]], has: str, lacks: str, tmp_path: Path) -> None:
    table = lb.write(tmp_path, ROWS, txn=("a", 1)).table
    with pytest.raises(lb.InvalidInputError) as caught:
        table.append(MORE, txn=txn)
    assert str(caught.value) == (
        f"{table.uri}: txn: the table has the number of application '{has}' already, and not that of '{lacks}': a write is "
        "repeated with all of its numbers, and another write needs new numbers for all of them"
    )
    assert table.refresh().version == 0


def test_application_given_twice_is_refused(tmp_path: Path) -> None:
    table = lb.write(tmp_path, ROWS).table
    with pytest.raises(lb.InvalidInputError) as caught:
        table.append(MORE, txn=[("a", 1), ("a", 2)])
    assert str(caught.value) == "txn=[('a', 1), ('a', 2)]: application a is given twice"


def test_transaction_records_several_applications(tmp_path: Path) -> None:
    table = lb.write(tmp_path, ROWS).table
    for _ in range(2):
        with table.transaction(txn=[("a", 1), ("b", 1)]) as tx:
            tx.append(MORE)
    newest = table.refresh()
    assert (newest.version, newest.count(), newest.transaction_version("b")) == (1, 5, 1)


#: Verbs without their checkpoint.
WITHOUT_CHECKPOINT: dict[str, Callable[[Path, dict[str, bool]], Any]] = {
    "append": lambda path, upkeep: lb.Table(path).append(MORE, upkeep=upkeep),
    "write": lambda path, upkeep: lb.write(path, MORE, mode="overwrite", upkeep=upkeep),
    "create": lambda path, upkeep: lb.create(path, ROWS.schema, mode="replace", upkeep=upkeep),
    "delete": lambda path, upkeep: lb.Table(path).delete("id = 1", upkeep=upkeep),
    "alter": lambda path, upkeep: lb.Table(path).alter(upkeep=upkeep).set_description("text"),
    "restore": lambda path, upkeep: lb.Table(path).restore(version=0, upkeep=upkeep),
    "optimize": lambda path, upkeep: lb.Table(path).optimize(upkeep=upkeep),
    "vacuum": lambda path, upkeep: lb.Table(path).vacuum(0, enforce_retention=False, upkeep=upkeep),
}


def test_upkeep_leaves_out_the_checkpoint(tmp_path: Path) -> None:
    for name, verb in WITHOUT_CHECKPOINT.items():
        path = tmp_path / name
        lb.write(path, ROWS)
        lb.write(path, MORE)
        if name == "vacuum":
            lb.Table(path).overwrite(MORE)
        lb.Table(path).alter(upkeep={"checkpoint": False}).set_properties({"delta.checkpointInterval": 1})
        before = lb.Table(path).version
        verb(path, {"checkpoint": False})
        assert lb.Table(path).version > before, name
        assert not list(path.glob("_delta_log/*.checkpoint.parquet")), name
    lb.Table(path).append(MORE)
    assert list(path.glob("_delta_log/*.checkpoint.parquet"))


def test_upkeep_belongs_to_the_whole_transaction(tmp_path: Path) -> None:
    lb.write(tmp_path, ROWS, properties={"delta.checkpointInterval": 1})
    with lb.Table(tmp_path).transaction(upkeep={"checkpoint": False}) as tx:
        tx.append(MORE)
    assert not list(tmp_path.glob("_delta_log/*.checkpoint.parquet"))
