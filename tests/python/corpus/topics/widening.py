"""Type widening: files with the old types under a schema with the new types, for each pair that the
format allows.
"""

from __future__ import annotations

import re

from corpus.case import Make, add_case, case

_WIDEN = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')"

# The old type with its values, and each new type with a value that only the new type can hold.
_PAIRS: dict[str, tuple[list[str], dict[str, str]]] = {
    "TINYINT": (
        ["-128", "127", "5"],
        {
            "SMALLINT": "-32768",
            "INT": "2147483647",
            "BIGINT": "9223372036854775807",
            "DOUBLE": "1.5D",
            "DECIMAL(10,0)": "9999999999",
        },
    ),
    "SMALLINT": (["-32768", "5"], {"INT": "-2147483648", "BIGINT": "4294967296", "DOUBLE": "1E300D", "DECIMAL(12,2)": "0.01"}),
    "INT": (["2147483647", "5"], {"BIGINT": "2147483648", "DOUBLE": "2147483647.5D", "DECIMAL(20,5)": "0.00001"}),
    "BIGINT": (["9223372036854775807", "5"], {"DECIMAL(20,0)": "99999999999999999999", "DECIMAL(38,10)": "0.0000000001"}),
    "FLOAT": (["CAST(0.1 AS FLOAT)", "CAST('NaN' AS FLOAT)", "5.0"], {"DOUBLE": "0.1D"}),
    "DATE": (["DATE '1500-01-01'", "DATE '2024-02-29'"], {"TIMESTAMP_NTZ": "TIMESTAMP_NTZ '2024-02-29 00:00:00.000001'"}),
    "DECIMAL(4,2)": (["99.99", "5"], {"DECIMAL(8,2)": "123456.78", "DECIMAL(10,5)": "0.00001", "DECIMAL(38,20)": "1"}),
    "DECIMAL(12,3)": (["999999999.999", "5"], {"DECIMAL(18,3)": "123456789012345", "DECIMAL(30,10)": "0.0000000001"}),
}


def _add_pairs(old: str, values: list[str], news: dict[str, str]) -> None:
    """Adds one table per old type, with a column for each new type, also in a struct and in an
    array.
    """
    names = [f"c{i}" for i in range(len(news))]

    def insert(t: Make, row: int, cells: list[str]) -> None:
        columns = (f"{cell}, named_struct('f', {cell}), array({cell}, null)" for cell in cells)
        t.sql(f"INSERT INTO {{t}} SELECT {row}, {', '.join(columns)}")

    def make(t: Make) -> None:
        columns = ", ".join(f"{name} {old}, s_{name} STRUCT<f: {old}>, a_{name} ARRAY<{old}>" for name in names)
        t.sql(f"CREATE TABLE {{t}} (id INT, {columns}) USING delta {_WIDEN}")
        for row, value in enumerate([*values, "null"]):
            insert(t, row, [f"CAST({value} AS {old})"] * len(names))
        for name, new in zip(names, news, strict=True):
            for column in (name, f"s_{name}.f", f"a_{name}.element"):
                t.sql(f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {new}")
        insert(t, 100, [f"CAST({value} AS {new})" for new, value in news.items()])

    where = [f"c{i} = {value}" for i, value in enumerate(news.values())]
    where += [f"c0 = {values[-1]}", f"s_c0.f > {values[-1]}", f"c{len(news) - 1} <= {values[-1]}", "c0 IS NULL"]
    label = re.sub(r"\W+", "_", old.lower()).strip("_")
    add_case(f"widened_from_{label}", make, where=tuple(where), latest_only=True)


for _old, (_values, _news) in _PAIRS.items():
    _add_pairs(_old, _values, _news)


@case(where=("p = 5", "p > 127", "q = 1.5", "q IS NULL", "r >= TIMESTAMP_NTZ '2024-01-01 00:00:00'", "r = DATE '2024-01-01'"))
def widened_partition_columns(t: Make) -> None:
    """The strings of partition values were written with the old type."""
    t.sql(f"CREATE TABLE {{t}} (id INT, p TINYINT, q DECIMAL(4,1), r DATE) USING delta PARTITIONED BY (p, q, r) {_WIDEN}")
    t.sql("INSERT INTO {t} VALUES (1, 5, 1.5, DATE '2024-01-01'), (2, -128, null, null), (3, null, 99.9, DATE '1900-01-01')")
    t.sql("ALTER TABLE {t} ALTER COLUMN p TYPE BIGINT")
    t.sql("ALTER TABLE {t} ALTER COLUMN q TYPE DECIMAL(20,5)")
    t.sql("ALTER TABLE {t} ALTER COLUMN r TYPE TIMESTAMP_NTZ")
    t.sql("INSERT INTO {t} VALUES (4, 5000000000, 1.23456, TIMESTAMP_NTZ '2024-01-01 12:00:00')")
    t.checkpoint()
    t.sql("INSERT INTO {t} VALUES (5, 5, 1.5, TIMESTAMP_NTZ '2024-01-01 00:00:00')")


@case(where=("m['k'] = 5", "s.a[0].x = 7", "id > 100"))
def widened_map_keys_and_deep_fields(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id TINYINT, m MAP<STRING, SMALLINT>, k MAP<TINYINT, STRING>, s STRUCT<a: ARRAY<STRUCT<x: TINYINT>>>)"
        f" USING delta {_WIDEN}"
    )
    t.sql("INSERT INTO {t} VALUES (1, map('k', 5), map(1, 'one'), struct(array(struct(7), null)))")
    t.sql("ALTER TABLE {t} ALTER COLUMN id TYPE INT")
    t.sql("ALTER TABLE {t} ALTER COLUMN m.value TYPE INT")
    t.sql("ALTER TABLE {t} ALTER COLUMN k.key TYPE INT")
    t.sql("ALTER TABLE {t} ALTER COLUMN s.a.element.x TYPE BIGINT")
    t.sql("INSERT INTO {t} VALUES (1000, map('k', 100000), map(1000, 'thousand'), struct(array(struct(9223372036854775807))))")


@case(where=("v = 3", "v > 30000", "v < 0", "v BETWEEN 2 AND 200"))
def widened_twice_with_deletions_and_mapping(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id INT, v TINYINT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true',"
        " 'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name')"
    )
    t.sql("INSERT INTO {t} VALUES (1, 1), (2, 3), (3, -100)")
    t.sql("ALTER TABLE {t} ALTER COLUMN v TYPE SMALLINT")
    t.sql("INSERT INTO {t} VALUES (4, 3), (5, 32000)")
    t.sql("DELETE FROM {t} WHERE id = 1")
    t.sql("ALTER TABLE {t} RENAME COLUMN v TO w")
    t.sql("ALTER TABLE {t} ALTER COLUMN w TYPE INT")
    t.sql("ALTER TABLE {t} RENAME COLUMN w TO v")
    t.sql("DELETE FROM {t} WHERE v = 32000")
    t.sql("INSERT INTO {t} VALUES (6, 100000), (7, 3)")


@case(where=("a = 5000000000", "a = 1", "b.c = 2"))
def widened_by_schema_evolution(t: Make) -> None:
    t.sql(f"CREATE TABLE {{t}} (a INT, b STRUCT<c: SMALLINT>) USING delta {_WIDEN}")
    t.sql("INSERT INTO {t} VALUES (1, struct(2))")
    t.append(t.frame("SELECT 5000000000 AS a, named_struct('c', 70000) AS b"), mergeSchema="true")


@case(where=("a = 5",))
def widening_feature_dropped(t: Make) -> None:
    """The old files were rewritten, and the type changes are no longer in the schema."""
    t.sql(f"CREATE TABLE {{t}} (a INT) USING delta {_WIDEN}")
    t.sql("INSERT INTO {t} VALUES (5)")
    t.sql("ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT")
    t.sql("INSERT INTO {t} VALUES (5000000000)")
    t.sql("ALTER TABLE {t} DROP FEATURE typeWidening")


@case(where=("a = 5",), conf={"spark.databricks.delta.tableFeatures.dev.unsupportedTableFeatures.enabled": "true"})
def widened_under_the_preview_feature(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (a SMALLINT) USING delta"
        " TBLPROPERTIES ('delta.feature.typeWidening-preview' = 'supported', 'delta.enableTypeWidening' = 'true')"
    )
    t.sql("INSERT INTO {t} VALUES (5)")
    t.sql("ALTER TABLE {t} ALTER COLUMN a TYPE INT")
    t.sql("INSERT INTO {t} VALUES (100000)")
