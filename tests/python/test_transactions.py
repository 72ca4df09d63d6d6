"""Transactions with several operations: one version or none, and other engines that read it."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import duck
import lakebed as lb

VECTORS = {"delta.enableDeletionVectors": True}
FEED = {"delta.enableChangeDataFeed": True}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def rows_of(values: dict[int, int]) -> pa.Table:
    return pa.table({"id": pa.array(list(values), pa.int64()), "v": pa.array(list(values.values()), pa.int64())})


def made(path: str, **options: Any) -> lb.Table:
    return lb.write(path, rows_of(dict.fromkeys(range(1, 11), 0)), **options).table


def values(rows: pa.Table) -> dict[int, int]:
    found = dict(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True))
    assert len(found) == rows.num_rows
    return found


def data_files(path: str) -> set[str]:
    return {str(file) for file in Path(path).rglob("*") if file.is_file() and "_delta_log" not in file.parts}


@pytest.mark.parametrize("properties", [{}, VECTORS])
def test_operations_become_one_version(path: str, properties: dict[str, Any]) -> None:
    table = made(path, properties=properties)
    with table.transaction(user_metadata="mine", txn=("job", 1)) as tx:
        assert tx.append(rows_of({11: 1, 12: 1})).metrics.output_rows == 2
        assert tx.delete("id IN (1, 11)").metrics.deleted_rows == 2
        assert tx.update({"v": "v + 5"}, where="id = 12").metrics.updated_rows == 1
        assert tx.upsert(rows_of({2: 7, 13: 7}), keys="id").metrics.inserted_rows == 1
        merge = tx.merge(rows_of({3: 0}), on="target.id = source.id").when_matched_delete()
        assert merge.execute().metrics.deleted_rows == 1
        tx.overwrite(rows_of({4: 9}), where="id = 4")
        tx.write(rows_of({14: 0}), mode="append")
        assert tx.count() == 11
        assert tx.to_arrow(where="id = 12")["v"].to_pylist() == [6]
        assert table.refresh().version == 0
    expected = {**dict.fromkeys(range(5, 11), 0), 2: 7, 4: 9, 12: 6, 13: 7, 14: 0}
    assert values(tx.result.table.to_arrow()) == expected
    assert (tx.result.version, tx.result.committed, tx.result.conflicts) == (1, True, 0)
    names = [operation.name for operation in tx.result.operations]
    assert names == ["WRITE", "DELETE", "UPDATE", "MERGE", "MERGE", "WRITE", "WRITE"]
    assert tx.result.operations[1].metrics["numDeletedRows"] == 2
    newest = tx.result.table.history(1)[0]
    assert (newest.operation, newest.user_metadata) == ("TRANSACTION", "mine")
    assert tx.result.table.transaction_version("job") == 1


def test_definition_changes_with_rows(path: str) -> None:
    table = made(path)
    with table.transaction() as tx:
        tx.alter.cluster_by("id")
        tx.append(pa.table({"id": [11], "v": [1], "more": ["x"]}), schema_mode="merge")
        assert tx.schema.names == ["id", "v", "more"]
        tx.update({"more": "'y'"}, where="id < 3")
    assert tx.result.version == 1
    assert tx.result.table.detail().clustering_columns == ("id",)
    assert sorted(filter(None, tx.result.table.to_arrow()["more"].to_pylist())) == ["x", "y", "y"]


def test_exception_commits_nothing_and_deletes_files(path: str) -> None:
    table = made(path, properties=VECTORS)
    before = data_files(path)
    tx = table.transaction()

    def fail() -> None:
        with tx:
            tx.append(rows_of({11: 1}))
            tx.update({"v": "1"}, where="id < 4")
            assert data_files(path) > before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (data_files(path), table.refresh().version) == (before, 0)
    with pytest.raises(lb.InvalidInputError, match="the transaction has no result: it was not committed"):
        _ = tx.result


def test_failed_operation_leaves_the_others(path: str) -> None:
    with made(path).transaction() as tx:
        tx.append(rows_of({11: 1}))
        with pytest.raises(lb.PredicateError):
            tx.delete("nothing = 1")
        with pytest.raises(lb.SchemaMismatchError):
            tx.append(pa.table({"other": [1]}))
        tx.delete("id = 1")
    assert set(values(tx.result.table.to_arrow())) == set(range(2, 12))


def test_conflict_names_the_winner(path: str) -> None:
    table = made(path)
    before = data_files(path)

    def lose() -> None:
        with table.transaction() as tx:
            tx.update({"v": "1"}, where="id = 1")
            table.delete("id = 2")

    with pytest.raises(lb.CommitConflictError) as caught:
        lose()
    assert (caught.value.winner_version, caught.value.retryable) == (1, True)
    assert table.refresh().version == 1
    assert len(data_files(path) - before) == 1, "only the file of the delete is left"


def test_read_in_transaction_conflicts_with_change(path: str) -> None:
    table = made(path, properties=VECTORS)

    def lose() -> None:
        with table.transaction() as tx:
            tx.append(rows_of({100: tx.count()}))
            table.delete("id = 2")

    with pytest.raises(lb.CommitConflictError) as caught:
        lose()
    assert caught.value.kind == "ConcurrentDeleteRead"
    with table.transaction() as tx:
        tx.append(rows_of({100: 1}))
        table.delete("id = 3")
    assert tx.result.conflicts == 1


def test_known_transaction_does_nothing(path: str) -> None:
    table = made(path)
    for is_known in (False, True, True):
        with table.transaction(txn=("job", 4)) as tx:
            assert tx.known == is_known
            tx.append(rows_of({11: 1}))
            tx.delete("id = 1")
            tx.update({"v": "3"}, where="id = 2")
            tx.upsert(rows_of({12: 1}), keys=["id"])
            tx.merge(rows_of({13: 1}), on="target.id = source.id").when_not_matched_insert().execute()
            tx.alter.cluster_by("id")
            assert tx.count("id = 11") == 1
        assert (tx.result.committed, tx.result.version) == (not is_known, 1)
    assert table.refresh().version == 1


def test_empty_transaction_commits_only_its_identifier(path: str) -> None:
    table = made(path)
    with table.transaction() as tx:
        pass
    assert (tx.result.version, tx.result.committed, tx.result.operations) == (0, False, ())
    with table.transaction(txn=("job", 0)) as tx:
        pass
    assert (tx.result.version, tx.result.committed, tx.result.table.transaction_version("job")) == (1, True, 0)


def test_wrong_uses_are_refused(path: str) -> None:
    table = made(path)

    def check(call: Any, message: str) -> None:
        with pytest.raises(lb.InvalidInputError) as caught:
            call()
        assert str(caught.value) == message

    tx = table.transaction()
    check(lambda: tx.append(rows_of({1: 1})), 'begin the transaction first: "with table.transaction() as tx:"')
    with tx:
        for verb in ("optimize", "vacuum", "checkpoint", "history", "changes", "transaction", "refresh"):
            check(partial(getattr, tx, verb), f"{verb}: it cannot be part of a transaction: use the table, before or after it")
        check(tx.__enter__, "the transaction has begun already: begin another one with table.transaction()")
        check(
            lambda: pickle.dumps(tx),
            "a transaction cannot be pickled or copied: pickle the table, and begin the transaction there",
        )
        pending = tx.append(rows_of({11: 1})).table
        check(
            lambda: pickle.dumps(pending),
            "a transaction and what it has not committed yet cannot be pickled: pickle the table after the commit",
        )
        with pytest.raises(lb.InvalidInputError, match="OPTIMIZE cannot be part of a transaction"):
            pending.optimize()
        with pytest.raises(AttributeError):
            _ = tx.nothing
        with pytest.raises(TypeError):
            tx.append(rows_of({12: 1}), txn=("a", 1))  # type: ignore[call-arg]
    check(lambda: tx.append(rows_of({1: 1})), "the transaction has ended: begin another one with table.transaction()")
    check(tx.__enter__, "the transaction has begun already: begin another one with table.transaction()")
    check(pending.to_arrow, "the transaction has ended (the table is in version 1): begin another one, or use the table")
    check(lambda: copy.copy(tx), "a transaction cannot be pickled or copied: pickle the table, and begin the transaction there")
    with pytest.raises(TypeError):
        table.transaction(retries=False)  # type: ignore[call-arg]


def _in_child(tx: Any, told: Any) -> None:
    try:
        tx.append(rows_of({50: 1}))
        told.put("appended")
    except lb.InvalidInputError as error:
        told.put(str(error))


def test_forked_child_cannot_use_transaction(path: str) -> None:
    forking = multiprocessing.get_context("fork")
    with made(path).transaction() as tx:
        tx.append(rows_of({11: 1}))
        told: Any = forking.Queue()
        child = forking.Process(target=_in_child, args=(tx, told))
        child.start()
        message = told.get(timeout=60)
        child.join()
        assert message == (
            "the transaction was begun by another process, from which this process was forked later, and only that process "
            "can use it: begin another one in this process"
        )
    assert (tx.result.version, tx.result.table.count()) == (1, 11)


@pytest.mark.parametrize("mapping", ["none", "name"])
@pytest.mark.parametrize("vectors", [True, False])
def test_net_changes_of_nested_rows(path: str, mapping: str, vectors: bool) -> None:
    """Rows are matched by their values: of every kind, also NaN, nulls, and partitions without a value."""
    rows = pa.table(
        {
            "id": [1, 2, 3, 4],
            "s": [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 3, "b": None}],
            "l": [[1, 2], [], None, [None]],
            "m": pa.array([[("k", 1)], [], None, [("z", None)]], pa.map_(pa.string(), pa.int64())),
            "f": [math.nan, -0.0, 0.0, None],
            "b": [b"a", b"", None, b"\xff"],
            "p": ["", None, "a/b", "é"],
        }
    )
    properties = {
        **FEED,
        "delta.enableDeletionVectors": vectors,
        "delta.columnMapping.mode": mapping,
        "delta.enableInCommitTimestamps": True,
    }
    table = lb.write(path, rows, partition_by="p", properties=properties).table
    with table.transaction() as tx:
        tx.append(rows.set_column(0, "id", pa.array([11, 12, 13, 14])))
        tx.update({"f": "f"}, where="id > 1")
        tx.update({"p": "''"}, where="id IN (3, 13)")
        tx.delete("id IN (3, 4, 13)")
        tx.update({"b": "CAST('q' AS BINARY)"}, where="id = 12")
    found = tx.result.table.changes(1).to_arrow().to_pylist()
    inserted = [("insert", key) for key in (11, 12, 14)]
    expected = [("delete", 3), ("delete", 4), *inserted, ("update_postimage", 2), ("update_preimage", 2)]
    assert sorted((row["_change_type"], row["id"]) for row in found) == expected
    deleted = next(row for row in found if row["id"] == 3)
    assert (deleted["p"], deleted["s"], deleted["l"], deleted["f"]) == ("a/b", {"a": None, "b": "y"}, None, 0.0)


def test_transactions_write_checkpoints(path: str) -> None:
    table = lb.write(path, pa.table({"id": [0]}), properties={"delta.checkpointInterval": 2}).table
    for number in range(6):
        with table.transaction() as tx:
            tx.append(pa.table({"id": [2 * number + 1]}))
            tx.append(pa.table({"id": [2 * number + 2]}))
            tx.delete(f"id = {number}")
    assert sorted(lb.Table(path).to_arrow()["id"].to_pylist()) == list(range(6, 13))
    found = sorted(int(file.name[:20]) for file in Path(path, "_delta_log").glob("*.checkpoint.parquet"))
    assert found == [2, 4, 6]


# Other engines


class Model:
    """The rows by id, and the expected feed of the commit."""

    def __init__(self, rows: dict[int, int]) -> None:
        self.rows = dict(rows)
        self.first: dict[int, int | None] = dict(rows)
        self.updated: set[int] = set()
        self.deleted: list[tuple[str, int, int]] = []

    def insert(self, rows: dict[int, int]) -> None:
        for key, value in rows.items():
            self.rows[key], self.first[key] = value, None

    def delete(self, keys: set[int]) -> None:
        for key in keys & set(self.rows):
            first = self.first.pop(key)
            if first is not None:
                self.deleted.append(("delete", key, first))
            self.updated.discard(key)
            del self.rows[key]

    def update(self, rows: dict[int, int]) -> None:
        self.rows.update(rows)
        self.updated |= set(rows)

    def changes(self) -> list[tuple[str, int, int]]:
        found = list(self.deleted)
        for key, value in self.rows.items():
            first = self.first[key]
            if first is None:
                found.append(("insert", key, value))
            elif key in self.updated:
                found += [("update_preimage", key, first), ("update_postimage", key, value)]
        return sorted(found)


def _do(tx: lb.Transaction, model: Model, chance: random.Random, fresh: int) -> None:
    first = chance.randint(1, 10)
    span = set(range(first, first + chance.randint(1, 4)))
    where = f"id >= {min(span)} AND id <= {max(span)}"
    match chance.randrange(5):
        case 0:
            new = {fresh: 1, fresh + 1: 2}
            tx.append(rows_of(new))
            model.insert(new)
        case 1:
            tx.delete(where)
            model.delete(span)
        case 2:
            tx.update({"v": "v + 1"}, where=where)
            model.update({key: model.rows[key] + 1 for key in span & set(model.rows)})
        case 3:
            source = {**dict.fromkeys(span, 8), fresh: 9}
            tx.upsert(rows_of(source), keys="id")
            model.update({key: value for key, value in source.items() if key in model.rows})
            model.insert({key: value for key, value in source.items() if key not in model.rows})
        case _:
            tx.overwrite(rows_of({first: 5}), where=where)
            model.delete(span)
            model.insert({first: 5})


def _row_ids(table: lb.Table) -> dict[int, tuple[int, int]]:
    found = table.scan(columns=["id", "_metadata.row_id", "_metadata.row_commit_version"]).to_arrow()
    return {
        key: (row_id, version) for key, row_id, version in zip(*(column.to_pylist() for column in found.columns), strict=True)
    }


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("partitioned", [True, False])
@pytest.mark.parametrize("rival", [True, False])
def test_random_transactions_keep_row_ids(tmp_path: Path, vectors: bool, partitioned: bool, rival: bool) -> None:
    """A rival appends rows, so the transaction is put on top of row ids that it did not know."""
    for seed in range(8):
        path, chance = str(tmp_path / f"{seed}"), random.Random(seed)
        properties = {**FEED, "delta.enableDeletionVectors": vectors, "delta.enableRowTracking": True}
        table = made(path, properties=properties, partition_by="v" if partitioned else None)
        before, model = _row_ids(table), Model(dict.fromkeys(range(1, 11), 0))
        with table.transaction() as tx:
            for number in range(chance.randint(1, 6)):
                _do(tx, model, chance, 100 + 10 * number)
            if rival:
                table.append(rows_of({1000: 3, 1001: 3}))
        case, version = f"seed {seed}", 2 if rival else 1
        assert tx.result.version == version, case
        rivals = {1000: 3, 1001: 3} if rival else {}
        assert values(tx.result.table.to_arrow()) == {**model.rows, **rivals}, case
        own = tx.result.table.changes(version).to_arrow()
        own_rows = sorted(zip(own["_change_type"].to_pylist(), own["id"].to_pylist(), own["v"].to_pylist(), strict=True))
        assert own_rows == model.changes(), case
        found = _row_ids(tx.result.table)
        assert len({row_id for row_id, _ in found.values()}) == len(found), case
        for key in model.rows:
            if model.first[key] is not None:
                made_by = version if key in model.updated else 0
                assert found[key] == (before[key][0], made_by), f"{case}: the row {key}"
            else:
                assert found[key][1] == version, f"{case}: the new row {key}"
                assert found[key][0] not in {row_id for row_id, _ in before.values()}, f"{case}: the new row {key}"
        assert lb.Table(path).to_arrow().num_rows == len(found), case
        names = {file for file in data_files(path) if not file.endswith(".crc")}
        log = "".join(entry.read_text() for entry in Path(path, "_delta_log").glob("*.json"))
        assert [file for file in names if file.endswith(".parquet") and Path(file).name not in log] == [], case


@pytest.mark.spark
@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("partitioned", [True, False])
def test_engines_read_random_transactions(spark: Any, tmp_path: Path, vectors: bool, partitioned: bool) -> None:
    for seed in range(4):
        path, chance = str(tmp_path / f"{seed}"), random.Random(seed)
        properties = {**FEED, "delta.enableDeletionVectors": vectors, "delta.enableRowTracking": seed % 2 == 0}
        table = made(path, properties=properties, partition_by="v" if partitioned else None)
        model = Model(dict.fromkeys(range(1, 11), 0))
        with table.transaction() as tx:
            for number in range(chance.randint(2, 5)):
                _do(tx, model, chance, 100 + 10 * number)
        case = f"seed {seed}: {[operation.name for operation in tx.result.operations]}"
        newest = tx.result.table
        assert values(newest.to_arrow()) == model.rows, case
        found = {row["id"]: row["v"] for row in spark.read.format("delta").load(path).collect()}
        assert found == model.rows, case
        assert values(DeltaTable(path).to_pyarrow_table() if not vectors else newest.to_arrow()) == model.rows, case
        with duck.connect() as connection:
            scanned = connection.execute(f"SELECT id, v FROM delta_scan('{path}')").fetchall()
        assert {row[0]: row[1] for row in scanned} == model.rows, case
        own = newest.changes(1).to_arrow()
        own_rows = sorted(zip(own["_change_type"].to_pylist(), own["id"].to_pylist(), own["v"].to_pylist(), strict=True))
        assert own_rows == model.changes(), case
        reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
        theirs = sorted((row["_change_type"], row["id"], row["v"]) for row in reader.load(path).collect())
        assert theirs == model.changes(), case
        history = spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").collect()[0]
        assert (history["operation"], history["version"]) == ("TRANSACTION", 1), case
        appends = [operation.parameters.get("mode") == "Append" for operation in tx.result.operations]
        assert history["isBlindAppend"] is all(appends), case
        # Delta Spark goes on with the table, also with its row ids.
        spark.sql(f"UPDATE delta.`{path}` SET v = v + 1 WHERE id > 0")
        assert values(newest.refresh().to_arrow()) == {key: value + 1 for key, value in model.rows.items()}, case
        if seed % 2 == 0:
            ids = newest.refresh().scan(columns=["_metadata.row_id"]).to_arrow()["_metadata.row_id"].to_pylist()
            assert len(set(ids)) == len(model.rows), case
