"""Column mapping by name and by id: renamed, dropped and re-added columns, mapped partitions, names
that need mapping.
"""

from __future__ import annotations

from corpus.case import Make, case

_NAME = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
_ID = "TBLPROPERTIES ('delta.columnMapping.mode' = 'id')"


def _rename_drop_and_add_again(t: Make) -> None:
    t.sql("INSERT INTO {t} VALUES (1, 'a', 10, struct(1, 'in')), (2, 'b', 20, null)")
    t.sql("ALTER TABLE {t} RENAME COLUMN a TO renamed")
    t.sql("INSERT INTO {t} VALUES (3, 'c', 30, struct(3, 'in'))")
    t.sql("ALTER TABLE {t} DROP COLUMN b")
    t.sql("ALTER TABLE {t} RENAME COLUMN s.y TO z")
    t.sql("ALTER TABLE {t} ADD COLUMNS (b STRING, a INT)")
    t.sql("INSERT INTO {t} (id, renamed, s, b, a) VALUES (4, 'd', struct(4, 'out'), 'new b', 40)")


@case(where=("renamed = 'a'", "CAST(b AS STRING) = 'new b'", "b IS NULL", "s.z = 'in'", "a = 40", "a IS NULL AND id > 1"))
def mapped_by_name(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (id INT, a STRING, b INT, s STRUCT<x: INT, y: STRING>) USING delta {_NAME}")
    _rename_drop_and_add_again(t)


@case(where=("renamed = 'a'", "CAST(b AS STRING) = 'new b'", "b IS NULL", "s.z = 'in'", "a = 40", "a IS NULL AND id > 1"))
def mapped_by_id(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (id INT, a STRING, b INT, s STRUCT<x: INT, y: STRING>) USING delta {_ID}")
    _rename_drop_and_add_again(t)


@case(where=("id = 1", "name = 'a'", "extra IS NULL", "moved = 'p'"))
def mapping_enabled_later(t: Make) -> None:
    """The first files have plain names and no field ids. Their physical names are the old logical
    names.
    """
    t.sql("CREATE TABLE {t} (id INT, a STRING, p STRING) USING delta PARTITIONED BY (p)")
    t.sql("INSERT INTO {t} VALUES (1, 'a', 'p'), (2, null, null)")
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    t.sql("ALTER TABLE {t} RENAME COLUMN a TO name")
    t.sql("ALTER TABLE {t} RENAME COLUMN p TO moved")
    t.sql("ALTER TABLE {t} ADD COLUMN extra INT")
    t.sql("INSERT INTO {t} VALUES (3, 'c', 'q', 3)")


@case(where=("a = 'x'", "id > 1"))
def mapping_removed_again(t: Make) -> None:
    """The mode is none again, so readers must ignore the rest of the mapping in the schema."""
    t.sql(f"CREATE TABLE {{t}} (id INT, a STRING) USING delta {_NAME}")
    t.sql("INSERT INTO {t} VALUES (1, 'x'), (2, 'y')")
    t.set(spark__databricks__delta__columnMapping__allowRemoval="true")
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")
    t.sql("INSERT INTO {t} VALUES (3, 'z')")


@case(where=("`part key` = 'a b'", "`part key` IS NULL", "`日 付` >= DATE '2024-01-02'", "day2 = 1"))
def mapped_partitions_by_name(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id INT, `part key` STRING, `日 付` DATE, day INT) USING delta"
        f" PARTITIONED BY (`part key`, `日 付`, day) {_NAME}"
    )
    t.sql("INSERT INTO {t} VALUES (1, 'a b', DATE '2024-01-01', 1), (2, null, DATE '2024-01-02', 1), (3, '', null, 2)")
    t.sql("ALTER TABLE {t} RENAME COLUMN day TO day2")
    t.sql("INSERT INTO {t} VALUES (4, 'a b', DATE '2024-01-03', 3)")
    t.checkpoint()
    t.sql("DELETE FROM {t} WHERE day2 = 2")


@case(where=("p = 'x'", "q = 2", "v LIKE 'v%'"))
def mapped_partitions_by_id(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (id INT, p STRING, q INT, v STRING) USING delta PARTITIONED BY (p, q) {_ID}")
    t.sql("INSERT INTO {t} VALUES (1, 'x', 1, 'v1'), (2, 'y', 2, 'v2')")
    t.sql("UPDATE {t} SET q = 3 WHERE id = 2")


@case(
    where=(
        "` leading` = 1",
        "`a b` = 'x'",
        "`com,ma` > 1",
        "`new\nline` IS NULL",
        "`{}` IS NOT NULL",
        "`e=q` = 5",
        "`st ruct`.`in ner` = 1",
        "`dot.ted` = 6",
    )
)
def names_that_need_mapping(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (` leading` INT, `a b` STRING, `com,ma` INT, `new\nline` STRING, `{}` STRING, `e=q` INT,"
        " `tab\tbed` INT, `semi;` INT, `()` INT, `dot.ted` INT, `st ruct` STRUCT<`in ner`: INT, `do.t`: STRING>,"
        " `ar ray` ARRAY<STRUCT<`x y`: INT>>)"
        f" USING delta {_NAME}"
    )
    t.sql("INSERT INTO {t} VALUES (1, 'x', 2, null, 'br', 5, 7, 8, 9, 6, struct(1, 'd'), array(struct(1), null))")
    t.sql("INSERT INTO {t} VALUES (2, 'y', 3, 'l', null, 6, 8, 9, 10, 7, null, null)")


@case(where=("s.first = 1", "a[0].other = 2", "s.deep.moved = 'x'"))
def nested_fields_renamed(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id INT, s STRUCT<x: INT, deep: STRUCT<y: STRING>>, a ARRAY<STRUCT<x: INT, y: INT>>,"
        f" m MAP<STRING, STRUCT<x: INT>>) USING delta {_NAME}"
    )
    t.sql("INSERT INTO {t} VALUES (1, struct(1, struct('x')), array(struct(1, 2)), map('k', struct(1)))")
    t.sql("ALTER TABLE {t} RENAME COLUMN s.x TO first")
    t.sql("ALTER TABLE {t} RENAME COLUMN s.deep.y TO moved")
    t.sql("ALTER TABLE {t} RENAME COLUMN a.element.y TO other")
    t.sql("ALTER TABLE {t} RENAME COLUMN m.value.x TO inside")
    t.sql("ALTER TABLE {t} DROP COLUMN a.element.x")
    t.sql("ALTER TABLE {t} ADD COLUMN a.element.x STRING")
    t.sql("INSERT INTO {t} VALUES (2, struct(2, struct('y')), array(struct(22, 'new')), map('k', struct(2)))")


@case(where=("a = 1", "b = 1"))
def names_swapped(t: Make) -> None:
    """After the swap, each column has the name of the other one in the older files."""
    t.sql("CREATE TABLE {t} (a INT, b INT) USING delta")
    t.sql("INSERT INTO {t} VALUES (1, 2)")
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    t.sql("ALTER TABLE {t} RENAME COLUMN a TO c")
    t.sql("ALTER TABLE {t} RENAME COLUMN b TO a")
    t.sql("ALTER TABLE {t} RENAME COLUMN c TO b")
    t.sql("INSERT INTO {t} VALUES (10, 20)")


@case(where=("id = 1", "c > 'm'"))
def columns_reordered(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (id INT, b INT, c STRING) USING delta {_ID}")
    t.sql("INSERT INTO {t} VALUES (1, 2, 'three')")
    t.sql("ALTER TABLE {t} ALTER COLUMN c FIRST")
    t.sql("ALTER TABLE {t} ALTER COLUMN id AFTER b")
    t.sql("INSERT INTO {t} VALUES ('drei', 22, 11)")


@case(where=("id < 5", "renamed IS NULL"))
def mapped_with_deletion_vectors(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT, p BIGINT, v STRING) USING delta PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true')"
    )
    t.sql("INSERT INTO {t} SELECT id, id % 2, concat('v', id) FROM range(20)")
    t.sql("DELETE FROM {t} WHERE id % 5 = 0")
    t.sql("ALTER TABLE {t} RENAME COLUMN v TO renamed")
    t.sql("UPDATE {t} SET renamed = null WHERE id = 7")


@case(where=("id > 1",))
def overwritten_schema_keeps_ids_growing(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (id INT, a STRING) USING delta {_ID}")
    t.sql("INSERT INTO {t} VALUES (1, 'a')")
    frame = t.frame("SELECT 2 AS id, DATE '2024-01-01' AS a, 5 AS b")
    frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(str(t.path))
