"""deltalake and its door ``lakebed.deltalake`` change one table in turns, by the same calls. After
each step both read the rows of a model.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import lakebed.deltalake as door

pytestmark = pytest.mark.interop

Row = dict[str, Any]
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("n", pa.int64())])
CITIES = ["Lima", "Oslo", "O'Hare", None]


class Turns:
    """A table, its rows, and the random choices of a seed."""

    def __init__(self, seed: int, path: str) -> None:
        self.random = random.Random(seed)
        self.path = path
        self.rows: list[Row] = []
        self.library: Any = door
        # The model begins with the rows of an append by either of the two.
        self.is_partitioned = self.random.random() < 0.5
        self.next_id = 0

    def new_rows(self) -> list[Row]:
        found = []
        for _ in range(self.random.randrange(1, 6)):
            found.append({"id": self.next_id, "city": self.random.choice(CITIES), "n": self.random.choice([None, 1, 2, 3])})
            self.next_id += 1
        return found

    def table(self) -> Any:
        return self.library.DeltaTable(self.path)

    def append(self) -> None:
        rows = self.new_rows()
        options = {"partition_by": "city"} if self.is_partitioned and not Path(self.path, "_delta_log").exists() else {}
        self.library.write_deltalake(self.path, pa.Table.from_pylist(rows, SCHEMA), mode="append", **options)
        self.rows += rows

    def replace_city(self) -> None:
        rows = [{**row, "city": "Oslo"} for row in self.new_rows()]
        data = pa.Table.from_pylist(rows, SCHEMA)
        self.library.write_deltalake(self.path, data, mode="overwrite", predicate="city = 'Oslo'")
        self.rows = [row for row in self.rows if row["city"] != "Oslo"] + rows

    def delete(self) -> None:
        least = self.random.randrange(self.next_id + 1)
        metrics = self.table().delete(f"id >= {least} AND city = 'O''Hare'")
        kept = [row for row in self.rows if not (row["id"] >= least and row["city"] == "O'Hare")]
        assert metrics["num_deleted_rows"] == len(self.rows) - len(kept)
        self.rows = kept

    def update(self) -> None:
        least = self.random.randrange(self.next_id + 1)
        metrics = self.table().update({"n": '"n" + 10'}, predicate=f"id < {least}")
        assert metrics["num_updated_rows"] == sum(row["id"] < least for row in self.rows)
        for row in self.rows:
            if row["id"] < least and row["n"] is not None:
                row["n"] += 10

    def merge(self) -> None:
        ids = self.random.sample(range(self.next_id + 3), k=min(4, self.next_id))
        self.next_id += 3
        source = [{"id": one, "city": "Lima", "n": 7} for one in ids]
        metrics = (
            self.table()
            .merge(pa.Table.from_pylist(source, SCHEMA), "t.id = s.id", source_alias="s", target_alias="t")
            .when_matched_delete("t.n = 1")
            .when_matched_update({"n": "s.n"})
            .when_not_matched_insert_all()
            .execute()
        )
        known = {row["id"] for row in self.rows}
        gone = {row["id"] for row in self.rows if row["id"] in ids and row["n"] == 1}
        changed = [row for row in self.rows if row["id"] in ids and row["id"] not in gone]
        for row in changed:
            row["n"] = 7
        new = [row for row in source if row["id"] not in known]
        counts = ("num_target_rows_deleted", "num_target_rows_updated", "num_target_rows_inserted")
        assert [metrics[name] for name in counts] == [len(gone), len(changed), len(new)]
        self.rows = [row for row in self.rows if row["id"] not in gone] + new

    def compact(self) -> None:
        self.table().optimize.compact()

    def z_order(self) -> None:
        self.table().optimize.z_order(["id", "n"])

    def checkpoint(self) -> None:
        self.table().create_checkpoint()

    def vacuum(self) -> None:
        full = self.random.random() < 0.5
        self.table().vacuum(0, dry_run=False, enforce_retention_duration=False, full=full)

    def check(self) -> None:
        expected = sorted(self.rows, key=lambda row: row["id"])
        found = [library.DeltaTable(self.path) for library in (door, deltalake)]
        for table in found:
            rows = pa.table(table.to_pyarrow_table()).select(["id", "city", "n"]).sort_by("id").to_pylist()
            assert rows == expected
        assert found[0].version() == found[1].version()
        assert found[0].schema().to_json() == found[1].schema().to_json()
        assert sorted(found[0].partitions(), key=str) == sorted(found[1].partitions(), key=str)
        assert [one["operation"] for one in found[0].history()] == [one["operation"] for one in found[1].history()]


STEPS = [Turns.append, Turns.append, Turns.replace_city, Turns.delete, Turns.update, Turns.merge]
UPKEEP = [Turns.compact, Turns.z_order, Turns.checkpoint, Turns.vacuum]


@pytest.mark.parametrize("seed", range(12))
def test_both_read_what_either_wrote(seed: int, tmp_path: Path) -> None:
    turns = Turns(seed, str(tmp_path))
    turns.append()
    for _ in range(15):
        turns.library = turns.random.choice([door, deltalake])
        turns.random.choice([*STEPS, *UPKEEP])(turns)
        turns.check()
