"""Files outside of the table: shallow clones and actions with absolute paths. Also tables that were
converted from Parquet.
"""

from __future__ import annotations

from corpus.case import Make, case


@case(outside=True, where=("id = 3", "p = 'a b'"))
def shallow_clone(t: Make) -> None:
    """The deletion vectors of the source become absolute (`p`). The deletion vectors of the clone
    are relative (`u`).
    """
    source = t.name(t.home / "the source")
    t.sql(
        f"CREATE TABLE {source} (id BIGINT, p STRING) USING delta PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    t.sql(f"INSERT INTO {source} SELECT id, IF(id % 2 = 0, 'a b', 'c%d') FROM range(10)")
    t.sql(f"DELETE FROM {source} WHERE id IN (2, 5)")
    t.sql(f"CREATE TABLE {{t}} SHALLOW CLONE {source}")
    t.sql("INSERT INTO {t} VALUES (100, 'a b')")
    t.sql("DELETE FROM {t} WHERE id IN (0, 100)")
    t.checkpoint()


@case(outside=True, where=("id = 3",))
def shallow_clone_of_a_version_with_mapping(t: Make) -> None:
    source = t.name(t.home / "source")
    t.sql(f"CREATE TABLE {source} (id BIGINT, v STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    t.sql(f"INSERT INTO {source} SELECT id, 'v' FROM range(5)")
    t.sql(f"ALTER TABLE {source} RENAME COLUMN v TO w")
    t.sql(f"DELETE FROM {source}")
    t.sql(f"CREATE TABLE {{t}} SHALLOW CLONE {source} VERSION AS OF 2")
    t.sql("UPDATE {t} SET w = 'updated' WHERE id = 3")


@case(where=("id = 3", "p = 'x y'"))
def absolute_paths_below_the_root(t: Make) -> None:
    """The absolute URIs and the absolute path all lead to files inside the table."""
    t.append(t.frame("SELECT id, IF(id % 3 = 0, 'x y', IF(id % 3 = 1, 'z', 'w')) AS p FROM range(6)"), partitionBy="p")
    actions = t.commit_actions(0)
    for i, add in enumerate(action["add"] for action in actions if "add" in action):
        add["path"] = (f"file://{t.path}/", f"{t.path}/", f"file:{t.path}/")[i] + add["path"]
    t.put_commit(0, actions)
    t.append(t.frame("SELECT 100L AS id, 'x y' AS p"))


@case(where=("id = 3", "p = 1", "p IS NULL"))
def converted_from_parquet(t: Make) -> None:
    t.frame("SELECT id, IF(id = 5, null, id % 2) AS p FROM range(6)").write.partitionBy("p").parquet(str(t.path))
    t.sql(f"CONVERT TO DELTA parquet.`{t.path}` PARTITIONED BY (p BIGINT)")
    t.sql("INSERT INTO {t} VALUES (100, 1)")


@case(where=("id = 3", "extra IS NULL"))
def converted_without_statistics(t: Make) -> None:
    t.frame("SELECT id FROM range(6)").write.parquet(str(t.path))
    t.frame("SELECT id, 'e' AS extra FROM range(6, 8)").write.mode("append").parquet(str(t.path))
    t.set(spark__sql__parquet__mergeSchema="true")
    t.sql(f"CONVERT TO DELTA parquet.`{t.path}` NO STATISTICS")
