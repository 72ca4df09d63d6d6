"""Schemas that changed: files without some columns, nested additions, nullability, void columns
that got a type, overwrites.
"""

from __future__ import annotations

from corpus.case import Make, case


@case(where=("b IS NULL", "b = 2", "c = 'x'", "NOT (b = 2)", "b <=> NULL", "c > 'a' OR a = 1"))
def columns_added(t: Make) -> None:
    t.append(t.frame("SELECT 1 AS a"))
    t.append(t.frame("SELECT 2 AS a, 2 AS b"), mergeSchema="true")
    t.sql("ALTER TABLE {t} ADD COLUMNS (c STRING AFTER a, d STRUCT<x: INT, y: STRING>, e ARRAY<STRUCT<z: INT>>)")
    t.sql("INSERT INTO {t} VALUES (3, 'x', 3, struct(1, 'y'), array(struct(1)))")


@case(where=("s.y IS NULL", "s.y = 2", "s.deep.q = 'q'", "a[0].k IS NULL AND a IS NOT NULL", "s IS NULL", "s.x = 1"))
def nested_fields_added(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, s STRUCT<x: INT>, a ARRAY<STRUCT<j: INT>>, m MAP<STRING, STRUCT<u: INT>>) USING delta")
    t.sql("INSERT INTO {t} VALUES (1, struct(1), array(struct(1), null), map('k', struct(1))), (2, null, null, null)")
    t.sql("ALTER TABLE {t} ADD COLUMNS (s.y INT, s.deep STRUCT<q: STRING>, a.element.k STRING, m.value.v DOUBLE)")
    t.sql("INSERT INTO {t} VALUES (3, struct(3, 2, struct('q')), array(struct(3, 'k')), map('k', struct(3, 0.5)))")
    t.sql("ALTER TABLE {t} ADD COLUMNS (s.deep.first INT FIRST)")


@case(where=("id IS NULL", "id = 2"))
def not_null_dropped(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT NOT NULL, v STRING) USING delta")
    t.sql("INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    t.sql("ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL")
    t.sql("INSERT INTO {t} VALUES (null, 'c')")


@case(where=("v IS NULL", "v = 5"))
def void_became_an_integer(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, v VOID) USING delta")
    t.sql("INSERT INTO {t} (id) VALUES (1)")
    t.append(t.frame("SELECT 2 AS id, 5 AS v"), mergeSchema="true")


@case(where=("CAST(a AS STRING) = '17'", "b IS NULL"))
def schema_overwritten(t: Make) -> None:
    t.append(t.frame("SELECT 1 AS a, 2 AS b, 3 AS c"))
    for query in ("SELECT '17' AS a, DATE '2024-01-01' AS b", "SELECT '17' AS a, CAST(null AS DATE) AS b"):
        frame = t.frame(query)
        frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(str(t.path))


@case(where=("A = 1", "nAmE = 'x'", "`S`.`INNER` = 1"))
def names_in_other_cases(t: Make) -> None:
    """Readers find names in any case. The schema keeps its case."""
    t.append(t.frame("SELECT 1 AS a, 'x' AS Name, named_struct('Inner', 1) AS s"))
    t.append(t.frame("SELECT 2 AS A, 'y' AS NAME, named_struct('INNER', 2) AS S"))


@case(where=("id = 1",))
def comments_and_reordered(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id INT COMMENT 'the key', v STRING) USING delta COMMENT 'a table'"
        " TBLPROPERTIES ('own.key' = 'own value')"
    )
    t.sql("INSERT INTO {t} VALUES (1, 'a')")
    t.sql("ALTER TABLE {t} ALTER COLUMN v FIRST")
    t.sql("ALTER TABLE {t} ALTER COLUMN v COMMENT 'text \"quoted\" \\\\ ü'")
    t.sql("INSERT INTO {t} VALUES ('b', 2)")


@case(where=("c = 'x'",))
def replaced_by_create_or_replace(t: Make) -> None:
    t.sql(f"CREATE TABLE replaced (a INT, b STRING) USING delta PARTITIONED BY (b) COMMENT 'old' LOCATION '{t.path}'")
    t.sql("INSERT INTO {t} VALUES (1, 'x')")
    t.sql(f"CREATE OR REPLACE TABLE replaced (c STRING) USING delta LOCATION '{t.path}'")
    t.sql("INSERT INTO {t} VALUES ('x')")


@case(where=("b = 2", "c.e IS NULL"))
def evolved_by_merge(t: Make) -> None:
    t.set(spark__databricks__delta__schema__autoMerge__enabled="true")
    t.append(t.frame("SELECT 1 AS a, named_struct('d', 1) AS c"))
    t.sql(
        "MERGE INTO {t} t USING (SELECT id AS a, 2 AS b, named_struct('d', 2, 'e', 3) AS c FROM range(1, 3)) s ON t.a = s.a"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


@case(where=("s.late IS NULL", "s.late = 'new'", "s IS NULL", "size(s.m) = 1"))
def fields_added_beside_maps(t: Make) -> None:
    """The struct of the first files has only maps and lists. A reader must determine from one of
    them whether the struct is null.
    """
    t.sql(
        "CREATE TABLE {t} (id INT, s STRUCT<m: MAP<STRING, STRUCT<x: INT, l: ARRAY<INT>>>>, l STRUCT<a: ARRAY<INT>>) USING delta"
    )
    t.sql("INSERT INTO {t} VALUES (1, struct(map('k', struct(1, array(1)))), struct(array(1))), (2, null, null)")
    t.sql("INSERT INTO {t} VALUES (3, struct(null), struct(null)), (4, struct(map('k', null)), struct(array()))")
    t.sql("ALTER TABLE {t} ADD COLUMNS (s.late STRING, l.late INT, s.m.value.late DATE)")
    t.sql("INSERT INTO {t} VALUES (5, struct(map('k', struct(5, null, null)), 'new'), struct(null, 5))")
