"""Deletion vectors: in files and inline, several per file, over row groups, with partitions,
updates, merges and checkpoints.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from corpus.case import Make, case

_DVS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"


@case(where=("id = 3", "id BETWEEN 2 AND 6", "v IS NULL", "id IN (0, 4, 9)"))
def rows_deleted_step_by_step(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (id BIGINT, v STRING) USING delta {_DVS}")
    t.sql("INSERT INTO {t} SELECT id, IF(id % 4 = 0, null, concat('v', id)) FROM range(10)")
    t.sql("DELETE FROM {t} WHERE id = 4")
    t.sql("DELETE FROM {t} WHERE id IN (0, 9)")
    t.sql("DELETE FROM {t} WHERE id % 2 = 1")
    t.sql("DELETE FROM {t} WHERE id >= 0")


@case(where=("id > 40", "p = 1 AND id % 2 = 0", "v = 'new'"))
def updates_and_merges(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (id BIGINT, p BIGINT, v STRING) USING delta PARTITIONED BY (p) {_DVS}")
    t.sql("INSERT INTO {t} SELECT id, id % 3, 'old' FROM range(30)")
    t.sql("UPDATE {t} SET v = 'new' WHERE id % 7 = 0")
    t.sql(
        "MERGE INTO {t} t USING (SELECT id * 5 AS id FROM range(10)) s ON t.id = s.id WHEN MATCHED AND s.id > 20 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT (id, p, v) VALUES (s.id, 1, 'inserted')"
    )
    t.sql("DELETE FROM {t} WHERE p = 2")
    t.sql("DELETE FROM {t} WHERE id = 3")


@case(
    latest_only=True,
    where=("id = 12345", "id BETWEEN 100 AND 220", "v = 'v77'", "id % 1000 = 7", "id > 39990 OR id < 3", "big IS NULL"),
)
def positions_over_many_row_groups(t: Make) -> None:
    """Row groups and pages are small, so that a reader skips some. The skipped rows must not shift
    the deleted positions.
    """
    t.set(parquet__block__size="40000", parquet__page__size="4000", parquet__page__row__count__limit="500")
    t.sql(f"CREATE TABLE {{t}} (id BIGINT, v STRING, big BIGINT) USING delta {_DVS}")
    t.append(t.frame("SELECT id, concat('v', id % 100) AS v, IF(id % 10 = 0, null, id * id) AS big FROM range(40000)"))
    t.sql("DELETE FROM {t} WHERE id % 1000 IN (0, 7, 8) OR id BETWEEN 20000 AND 26000")
    t.sql("DELETE FROM {t} WHERE id BETWEEN 100 AND 200 AND id % 2 = 0")


@case(latest_only=True, where=("id = 70000", "id % 20000 = 1"))
def runs_and_full_containers(t: Make) -> None:
    """There are more than 65,536 deleted positions, so bitmaps have several containers: arrays,
    bits and runs.
    """
    t.sql(f"CREATE TABLE {{t}} (id INT) USING delta {_DVS}")
    t.append(t.frame("SELECT CAST(id AS INT) AS id FROM range(140000)"))
    t.sql("DELETE FROM {t} WHERE id < 66000 OR (id > 70000 AND id < 131000 AND id % 2 = 0) OR id % 9973 = 0")
    t.sql("DELETE FROM {t} WHERE id % 50 <> 1")


@case(where=("id = 1", "id > 3", "v = 'b'"))
def inline(t: Make) -> None:
    """Spark writes vectors into files. Here the same bytes are in the log as Z85."""
    t.sql(f"CREATE TABLE {{t}} (id BIGINT, v STRING) USING delta {_DVS}")
    t.sql("INSERT INTO {t} SELECT id, IF(id % 2 = 0, 'a', 'b') FROM range(8)")
    t.sql("DELETE FROM {t} WHERE id IN (1, 4)")
    actions = t.commit_actions(2)
    for action in actions:
        vector = action.get("add", {}).get("deletionVector")
        if vector:
            data = _bytes_of(t.path, vector)
            padded = data + bytes(-len(data) % 4)
            action["add"]["deletionVector"] = {
                "storageType": "i",
                "pathOrInlineDv": _z85(padded),
                "sizeInBytes": len(data),
                "cardinality": vector["cardinality"],
            }
    t.put_commit(2, actions)
    for file in t.path.glob("deletion_vector_*"):
        file.unlink()
    t.sql("INSERT INTO {t} VALUES (100, 'c')")


def _bytes_of(root: Path, vector: dict[str, object]) -> bytes:
    """Returns the serialised bitmap of a descriptor of type `u`."""
    name = uuid.UUID(bytes=_un_z85(str(vector["pathOrInlineDv"])[-20:]))
    content = (root / f"deletion_vector_{name}.bin").read_bytes()
    start = int(str(vector["offset"])) + 4
    return content[start : start + int(str(vector["sizeInBytes"]))]


_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _z85(data: bytes) -> str:
    text = ""
    for i in range(0, len(data), 4):
        number = int.from_bytes(data[i : i + 4], "big")
        text += "".join(_Z85[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def _un_z85(text: str) -> bytes:
    data = b""
    for i in range(0, len(text), 5):
        number = 0
        for character in text[i : i + 5]:
            number = number * 85 + _Z85.index(character)
        data += number.to_bytes(4, "big")
    return data


@case(where=("id = 5", "part = 3"))
def several_vectors_in_one_file(t: Make) -> None:
    """One statement changes many files. Their vectors are in one file at different offsets."""
    t.sql(f"CREATE TABLE {{t}} (id BIGINT, part BIGINT) USING delta PARTITIONED BY (part) {_DVS}")
    t.sql("INSERT INTO {t} SELECT id, id % 5 FROM range(50)")
    t.sql("DELETE FROM {t} WHERE id % 7 = 0")
    t.checkpoint()
    t.sql("DELETE FROM {t} WHERE id % 7 = 1")
    t.sql("INSERT INTO {t} VALUES (1000, 3)")


@case(where=("id < 4",))
def vectors_below_a_random_prefix(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true',"
        " 'delta.randomizeFilePrefixes' = 'true')"
    )
    t.sql("INSERT INTO {t} SELECT id FROM range(10)")
    t.sql("DELETE FROM {t} WHERE id % 3 = 0")


@case(where=("id % 2 = 0", "id > 15"))
def restored_purged_and_switched_off(t: Make) -> None:
    """Vectors stay valid after the property is switched off. PURGE removes them, and RESTORE
    restores them.
    """
    t.sql(f"CREATE TABLE {{t}} (id BIGINT) USING delta {_DVS}")
    t.sql("INSERT INTO {t} SELECT id FROM range(20)")
    t.sql("DELETE FROM {t} WHERE id < 5")
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    t.sql("REORG TABLE {t} APPLY (PURGE)")
    t.sql("RESTORE TABLE {t} TO VERSION AS OF 2")


@case(where=("id = 1", "id IS NULL"))
def statistics_are_not_tight(t: Make) -> None:
    """After deletions, min and max are only bounds, and null counts are exact only if no row or
    every row is null.
    """
    t.sql(f"CREATE TABLE {{t}} (id INT, v INT) USING delta {_DVS}")
    t.sql("INSERT INTO {t} VALUES (1, null), (2, null), (3, 5), (null, 6)")
    t.sql("DELETE FROM {t} WHERE v = 5")
    t.sql("DELETE FROM {t} WHERE id = 1")
