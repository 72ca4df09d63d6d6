"""Nested structs, arrays and maps, with nulls at each level."""

from __future__ import annotations

from corpus.case import Make, case


@case(
    where=(
        "s.a = 1",
        "s.inner.c IS NULL",
        "s IS NULL",
        "s.inner IS NOT NULL AND s.inner.c > 'y'",
        "s.a IS NULL AND s IS NOT NULL",
        "s.inner.c LIKE 'd%'",
    )
)
def structs(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, s STRUCT<a: INT, b: STRING, inner: STRUCT<c: STRING, d: DATE>>) USING delta")
    t.sql(
        "INSERT INTO {t} VALUES (1, struct(1, 'x', struct('y', DATE '2020-01-01'))), (2, null),"
        " (3, struct(null, null, null)), (4, struct(4, null, struct(null, null)))"
    )
    t.sql("INSERT INTO {t} VALUES (5, struct(50, 'xx', struct('z', DATE '1960-01-01')))")
    t.sql("INSERT INTO {t} VALUES (6, null), (7, null)")
    t.sql("UPDATE {t} SET s.inner.c = 'deep' WHERE id IN (3, 5)")


@case(
    where=(
        "size(a) > 0 AND a[0] = 1",
        "size(a) = 0",
        "array_contains(s, 'x')",
        "a IS NULL",
        "size(aa) > 1 AND aa[0][1] = 2",
        "cardinality(s) > 1",
    )
)
def arrays(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, a ARRAY<INT>, s ARRAY<STRING>, aa ARRAY<ARRAY<INT>>) USING delta")
    t.sql(
        "INSERT INTO {t} VALUES (1, array(1, 2, null), array('x', null, ''), array(array(1, 2), null, array())),"
        " (2, array(9), array(), null), (3, null, null, array())"
    )
    t.sql("INSERT INTO {t} VALUES (4, array(4), array('long ' || repeat('y', 50)), array(array(null, 4)))")


@case(where=("m['a'] = 1", "m IS NULL", "size(m) = 2", "k[2] = 'b'", "map_contains_key(m, 'b')"))
def maps(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, m MAP<STRING, INT>, k MAP<INT, STRING>, st MAP<STRUCT<x: INT>, DOUBLE>) USING delta")
    t.sql(
        "INSERT INTO {t} VALUES (1, map('a', 1, 'b', null), map(2, 'b', 1, null), map(struct(1), 0.5D)),"
        " (2, map(), null, map(struct(CAST(null AS INT)), null)), (3, null, map(), null)"
    )
    t.sql("INSERT INTO {t} VALUES (4, map('', -1), map(-2147483648, ''), map(struct(3), CAST('NaN' AS DOUBLE)))")


@case(
    where=(
        "size(orders) > 0 AND orders[0].items['k'] IS NOT NULL AND orders[0].items['k'][0].price > 1",
        "size(orders) > 1",
        "orders IS NULL",
        "deep.l1.l2.l3.l4 = 'bottom'",
    )
)
def all_in_all(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id INT,"
        " orders ARRAY<STRUCT<at: TIMESTAMP, items: MAP<STRING, ARRAY<STRUCT<price: DECIMAL(12,2), tags: ARRAY<STRING>>>>>>,"
        " deep STRUCT<l1: STRUCT<l2: STRUCT<l3: STRUCT<l4: STRING, n: ARRAY<STRUCT<v: BINARY>>>>>>) USING delta"
    )
    item = "named_struct('price', CAST(1.25 AS DECIMAL(12,2)), 'tags', array('a', null))"
    t.sql(
        "INSERT INTO {t} SELECT 1, array(struct(TIMESTAMP '2024-01-01 00:00:00', map('k', array("
        f"{item}, null), 'e', array(), 'n', null)), null), struct(struct(struct(struct('bottom', array(struct(X'00'), null)))))"
    )
    t.sql("INSERT INTO {t} VALUES (2, null, null), (3, array(), struct(null)), (4, array(null), struct(struct(null)))")
    t.sql("INSERT INTO {t} VALUES (5, array(struct(null, null)), struct(struct(struct(struct(null, array())))))")


@case(where=("s.x > 1", "s.y.z = 'a'"))
def not_null_inside(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT NOT NULL, s STRUCT<x: INT NOT NULL, y: STRUCT<z: STRING NOT NULL> NOT NULL> NOT NULL,"
        " o STRUCT<x: INT>) USING delta"
    )
    t.sql("INSERT INTO {t} VALUES (1, struct(1, struct('a')), null), (2, struct(2, struct('b')), struct(3))")


@case(where=("s.n IS NULL", "s.n IS NOT NULL", "s IS NULL"))
def void_inside_a_struct(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, s STRUCT<a: INT, n: VOID>) USING delta")
    t.sql("INSERT INTO {t} SELECT 1, named_struct('a', 1, 'n', null)")
    t.sql("INSERT INTO {t} SELECT 2, CAST(null AS STRUCT<a: INT, n: VOID>)")


@case(where=("s.c = 'a  '", "s.c = 'a'", "a[0] IS NULL"))
def chars_in_collections(t: Make) -> None:
    """Spark pads CHAR values at each level when it reads them."""
    t.sql("CREATE TABLE {t} (s STRUCT<c: CHAR(3), v: VARCHAR(3)>, a ARRAY<CHAR(2)>, m MAP<CHAR(2), VARCHAR(2)>) USING delta")
    t.sql("INSERT INTO {t} VALUES (struct('a', 'a'), array('x', null), map('k', 'v')), (null, array('yy'), null)")


@case(latest_only=True, where=("s.f1 = 7", "size(a) = 100", "element_at(m, 'k99') = 99"))
def long_collections(t: Make) -> None:
    """Lists span several pages and row groups, and some rows span them as well."""
    t.set(parquet__block__size="20000", parquet__page__size="2000")
    t.append(
        t.frame(
            "SELECT id, sequence(1, CAST(id % 150 AS INT)) AS a, named_struct('f1', id % 50, 'f2', repeat('x', id % 40)) AS s,"
            " map_from_entries(transform(sequence(0, CAST(id % 120 AS INT)), i -> struct(concat('k', i), i))) AS m,"
            " IF(id % 7 = 0, null, transform(sequence(0, CAST(id % 5 AS INT)), i -> array(i, null))) AS aa"
            " FROM range(600)"
        )
    )
