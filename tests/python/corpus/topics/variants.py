"""The variant type: every kind of value, nested, shredded, SQL null and variant null."""

from __future__ import annotations

from corpus.case import Make, case

_JSONS = [
    "null",
    "true",
    "1",
    "-128",
    "32768",
    "2147483648",
    "9223372036854775807",
    "1.25",
    "12345678901234567890123456789.5",
    "1e300",
    '"short"',
    '"' + "long " * 30 + '"',
    "[]",
    "{}",
    '[1, "a", null, [2.5, {"k": true}]]',
    '{"b": 1, "a": {"nested": [1, 2, {"x": null}]}, "": "empty key", "ü": "ö"}',
]


@case(where=("v IS NULL", "v IS NOT NULL", "id > 10"), latest_only=True)
def variants_from_json(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, v VARIANT) USING delta")
    rows = ", ".join(f"({i}, '{text}')" for i, text in enumerate(_JSONS))
    t.sql(f"INSERT INTO {{t}} SELECT id, parse_json(j) FROM VALUES {rows} AS r(id, j)")
    t.sql("INSERT INTO {t} VALUES (100, null)")


@case(latest_only=True)
def variants_of_typed_values(t: Make) -> None:
    typed = [
        "true",
        "CAST(1 AS TINYINT)",
        "CAST(-300 AS SMALLINT)",
        "70000",
        "5000000000",
        "CAST(1.5 AS FLOAT)",
        "CAST('NaN' AS DOUBLE)",
        "CAST(1.20 AS DECIMAL(5,2))",
        "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0))",
        "DATE '1500-01-01'",
        "TIMESTAMP '1969-12-31 23:59:59.999999'",
        "TIMESTAMP_NTZ '2024-01-01 00:00:00.000001'",
        "X'00FF'",
        "'text'",
        "array(1, null)",
        "to_variant_object(named_struct('d', DATE '2024-01-01', 'n', CAST(null AS INT)))",
        "to_variant_object(map('k', TIMESTAMP '2024-01-01 00:00:00'))",
    ]
    values = " UNION ALL ".join(f"SELECT {i} AS id, CAST({text} AS VARIANT) AS v" for i, text in enumerate(typed))
    t.sql("CREATE TABLE {t} (id INT, v VARIANT) USING delta")
    t.sql(f"INSERT INTO {{t}} {values}")


@case(where=("s.v IS NULL", "size(a) = 2", "s IS NULL"))
def variants_in_collections(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, s STRUCT<v: VARIANT, n: INT>, a ARRAY<VARIANT>, m MAP<STRING, VARIANT>) USING delta")
    t.sql(
        "INSERT INTO {t} SELECT 1, struct(parse_json('{\"a\": 1}'), 1), array(parse_json('1'), null),"
        " map('k', parse_json('[true]'), 'n', null)"
    )
    t.sql("INSERT INTO {t} VALUES (2, null, null, null), (3, struct(null, 3), array(), map())")


_SHREDDED = {
    "spark.sql.variant.writeShredding.enabled": "true",
    "spark.sql.variant.allowReadingShredded": "true",
    "spark.sql.variant.pushVariantIntoScan": "false",
}


def _mixed_json() -> str:
    """Objects of one shape, then rows that do not fit it: other types, missing and additional keys,
    and values that are no object.
    """
    return (
        "CASE WHEN id % 10 = 7 THEN '[1, 2]' WHEN id % 10 = 8 THEN 'null' WHEN id % 10 = 9 THEN '\"text\"'"
        ' WHEN id % 10 = 6 THEN concat(\'{"a": "\', id, \'", "z": {"q": 1.5}}\')'
        " WHEN id % 10 = 5 THEN '{}'"
        ' ELSE concat(\'{"a": \', id, \', "b": "s\', id, \'", "c": {"d": \', id / 4, \', "e": [\', id, \', null]},'
        " \"t\": ', IF(id % 2 = 0, 'true', 'null'), '}') END"
    )


@case(conf=_SHREDDED, where=("id >= 15", "v IS NULL"))
def shredded_variants(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id BIGINT, v VARIANT) USING delta TBLPROPERTIES ('delta.enableVariantShredding' = 'true')")
    t.set(
        spark__sql__variant__forceShreddingSchemaForTest=(
            "a BIGINT, b STRING, c STRUCT<d: DECIMAL(10,2), e: ARRAY<BIGINT>>, t BOOLEAN, absent DATE"
        )
    )
    t.append(t.frame(f"SELECT id, IF(id = 19, null, parse_json({_mixed_json()})) AS v FROM range(20)"))
    t.set(spark__sql__variant__forceShreddingSchemaForTest="BIGINT")
    t.append(t.frame("SELECT id, parse_json(IF(id % 2 = 0, string(id), concat('{\"a\": ', id, '}'))) AS v FROM range(20, 26)"))
    t.set(spark__sql__variant__forceShreddingSchemaForTest="ARRAY<STRUCT<x: INT>>")
    t.append(t.frame('SELECT id, parse_json(\'[{"x": 1}, {"x": null, "y": 2}, 3, {}, null]\') AS v FROM range(26, 28)'))


@case(conf={**_SHREDDED, "spark.sql.variant.inferShreddingSchema": "true"}, where=("id = 3",))
def shredded_variants_with_inferred_schema(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id BIGINT, v VARIANT) USING delta TBLPROPERTIES ('delta.enableVariantShredding' = 'true')")
    t.append(t.frame(f"SELECT id, parse_json({_mixed_json()}) AS v FROM range(40)"))
    t.sql("DELETE FROM {t} WHERE id % 3 = 0")


@case(conf=_SHREDDED, latest_only=True)
def shredded_variants_of_scalar_types(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, v VARIANT) USING delta TBLPROPERTIES ('delta.enableVariantShredding' = 'true')")
    pairs = [
        ("TINYINT", "CAST(1 AS TINYINT)"),
        ("SMALLINT", "CAST(300 AS SMALLINT)"),
        ("INT", "70000"),
        ("FLOAT", "CAST(1.5 AS FLOAT)"),
        ("DOUBLE", "CAST('-0.0' AS DOUBLE)"),
        ("DECIMAL(9,3)", "CAST(1.200 AS DECIMAL(9,3))"),
        ("DECIMAL(38,10)", "CAST(-5.5 AS DECIMAL(38,10))"),
        ("DATE", "DATE '1500-01-01'"),
        ("TIMESTAMP", "TIMESTAMP '2024-01-01 00:00:00.000001'"),
        ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '1900-01-01 00:00:00'"),
        ("BINARY", "X'00FF'"),
        ("BOOLEAN", "false"),
        ("STRING", "'text'"),
    ]
    for i, (kind, value) in enumerate(pairs):
        t.set(spark__sql__variant__forceShreddingSchemaForTest=kind)
        t.append(t.frame(f"SELECT {i} AS id, ({value})::VARIANT AS v UNION ALL SELECT {i}, ('other')::VARIANT"))


@case(conf=_SHREDDED, where=("id % 2 = 0", "v IS NULL"), latest_only=True)
def shredded_variants_of_odd_shapes(t: Make) -> None:
    """All JSON values above, with shapes that fit some of them: the empty name, unordered names,
    groups in groups, no types.
    """
    t.sql(
        "CREATE TABLE {t} (id INT, v VARIANT) USING delta"
        " TBLPROPERTIES ('delta.enableVariantShredding' = 'true', 'delta.enableDeletionVectors' = 'true')"
    )
    objects = ['{"z": 1, "": 2, "a": "x"}', '{"a": {"nested": "no list"}, "b": 2.5}', '{"b": [1, "x", null, {}], "a": null}']
    rows = ", ".join(f"({i}, '{text}')" for i, text in enumerate([*_JSONS, *objects]))
    shapes = (
        "`` STRING, `ü` STRING, z INT",
        "a STRUCT<nested: ARRAY<STRUCT<x: BIGINT>>>, b DOUBLE",
        "a VARIANT, b ARRAY<VARIANT>",
        "ARRAY<VARIANT>",
        "ARRAY<ARRAY<DOUBLE>>",
        "DECIMAL(38,9)",
        "STRING",
    )
    for shape in shapes:
        t.set(spark__sql__variant__forceShreddingSchemaForTest=shape)
        t.append(t.frame(f"SELECT CAST(id AS INT) AS id, parse_json(j) AS v FROM VALUES {rows} AS r(id, j)"))
    t.sql("DELETE FROM {t} WHERE id % 7 = 3")


@case(
    conf={**_SHREDDED, "spark.sql.variant.inferShreddingSchema": "true"},
    where=("s.inner IS NULL", "s.n > 30", "size(a) = 3", "renamed IS NULL"),
)
def shredded_variants_in_collections(t: Make) -> None:
    """The variants are at each level, under mapped names, with deleted rows."""
    t.sql(
        "CREATE TABLE {t} (id BIGINT, `v v` VARIANT, s STRUCT<w: VARIANT, n: BIGINT>, a ARRAY<VARIANT>, m MAP<STRING, VARIANT>,"
        " z ARRAY<STRUCT<q: VARIANT, r: INT>>) USING delta TBLPROPERTIES ('delta.enableVariantShredding' = 'true',"
        " 'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'id')"
    )
    rows = f"SELECT id, IF(id % 11 = 10, null, parse_json({_mixed_json()})) AS v FROM range(40)"
    columns = (
        "IF(id % 5 = 0, null, named_struct('w', v, 'n', id)) AS s, IF(id % 4 = 0, null, array(v, null, v)) AS a,"
        " map('k', v, 'n', null) AS m, array(named_struct('q', v, 'r', 1), null) AS z"
    )
    t.append(t.frame(f"SELECT id, v AS `v v`, {columns} FROM ({rows})"))
    t.sql("ALTER TABLE {t} RENAME COLUMN `v v` TO renamed")
    t.sql("ALTER TABLE {t} RENAME COLUMN s.w TO inner")
    t.sql("DELETE FROM {t} WHERE id % 6 = 1")


@case(conf=_SHREDDED, latest_only=True)
def shredded_variants_at_the_ends(t: Make) -> None:
    """The least and greatest typed values, among them days and timestamps outside of all calendars."""
    t.sql("CREATE TABLE {t} (id INT, v VARIANT) USING delta TBLPROPERTIES ('delta.enableVariantShredding' = 'true')")
    kinds = {
        "DATE": ["date_from_unix_date(2147483647)", "DATE '0001-01-01'"],
        "TIMESTAMP": ["timestamp_micros(9223372036854775807)", "timestamp_micros(-9223372036854775808)"],
        "TIMESTAMP_NTZ": ["TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"],
        "DOUBLE": ["CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"],
        "BIGINT": ["CAST(-9223372036854775808 AS BIGINT)"],
        "DECIMAL(38,0)": ["CAST('-99999999999999999999999999999999999999' AS DECIMAL(38,0))"],
        "DECIMAL(38,38)": ["CAST('0.99999999999999999999999999999999999999' AS DECIMAL(38,38))"],
        "STRING": ["''", "repeat('é', 32)", "repeat('x', 100000)"],
        "BINARY": ["X''", "CAST(repeat('x', 70000) AS BINARY)"],
    }
    for kind, values in kinds.items():
        t.set(spark__sql__variant__forceShreddingSchemaForTest=kind)
        t.append(
            t.frame(" UNION ALL ".join(f"SELECT {i} AS id, CAST({value} AS VARIANT) AS v" for i, value in enumerate(values)))
        )
