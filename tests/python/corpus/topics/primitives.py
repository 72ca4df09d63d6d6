"""Every primitive type with its least and greatest values, nulls and odd values, in several files,
so that statistics matter.
"""

from __future__ import annotations

from corpus.case import Make, add_case, case


@case(
    where=(
        "l > 9007199254740992",
        "d38 = CAST('1.000000000000000001' AS DECIMAL(38,18))",
        "b <=> NULL",
        "CAST(i AS BIGINT) + 1 > 5",
        "y = 1.0 OR s IN (2, 32767)",
        "dt > '2000-01-01'",
        "ts >= '2024-02-29'",
        "CAST(ts AS DATE) = DATE '2024-02-29'",
        "year(dt) = 2024 AND t LIKE '%ex%'",
        "d10 BETWEEN 3 AND 4",
        "length(t) = 0",
        "coalesce(i, 7) = 7",
    )
)
def primitives_together(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (b BOOLEAN, y TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, d10 DECIMAL(10,2),"
        " d38 DECIMAL(38,18), t STRING, x BINARY, dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ) USING delta"
    )
    t.sql(
        "INSERT INTO {t} VALUES (true, 1, 2, 3, 4, 1.5, 2.5, 3.25, 1.000000000000000001, 'text', X'00FF',"
        " DATE '2024-02-29', TIMESTAMP '2024-02-29 12:34:56.789012', TIMESTAMP_NTZ '2024-02-29 12:34:56.789012'),"
        " (false, -1, -2, -3, -4, -1.5, -2.5, -3.25, -1, '', X'', DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59.999999',"
        " TIMESTAMP_NTZ '1969-12-31 23:59:59.999999')"
    )
    t.sql("INSERT INTO {t} VALUES (null, null, null, null, null, null, null, null, null, null, null, null, null, null)")
    t.sql(
        "INSERT INTO {t} VALUES (true, 127, 32767, 2147483647, 9223372036854775807, 3.4028235E38, 1.7976931348623157E308,"
        " 99999999.99, 99999999999999999999.999999999999999999, 'zzz', X'FFFF', DATE '9999-12-31',"
        " TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'),"
        " (false, -128, -32768, -2147483648, -9223372036854775808, -3.4028235E38, -1.7976931348623157E308, -99999999.99,"
        " -99999999999999999999.999999999999999999, 'aaa', X'0000', DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00',"
        " TIMESTAMP_NTZ '0001-01-01 00:00:00')"
    )


# The type, the values of each commit with one value per row, and additional predicates.
_ONE_COLUMN: dict[str, tuple[str, list[list[str]], tuple[str, ...]]] = {
    "booleans": ("BOOLEAN", [["true", "true"], ["false"], ["null"], ["true", "false", "null"]], ("c = 'true'",)),
    "bytes": ("TINYINT", [["-128", "-1"], ["0", "1", "127"], ["null"]], ("c > 126", "c < 1000", "c >= -128.5")),
    "shorts": ("SMALLINT", [["-32768", "-1"], ["0", "255", "32767"], ["null", "7"]], ("c > 40000", "c = 255L")),
    "integers": ("INT", [["-2147483648", "-1"], ["0", "2147483647"], ["null"]], ("c > 2147483648", "c = '0'", "c < 0.5")),
    "longs": (
        "BIGINT",
        [
            ["9007199254740993", "9007199254740994"],
            ["-9223372036854775808", "-9007199254740993"],
            ["9223372036854775807", "9223372036854775806"],
            ["0", "null"],
        ],
        ("c = 9007199254740993", "c > 9007199254740993", "c = 9223372036854775806", "c <= -9223372036854775807"),
    ),
    "floats": (
        "FLOAT",
        [
            ["1.5", "-2.25", "CAST('1.4E-45' AS FLOAT)"],
            ["CAST('NaN' AS FLOAT)", "CAST('NaN' AS FLOAT)"],
            ["CAST('NaN' AS FLOAT)", "0.1", "null"],
            ["CAST('Infinity' AS FLOAT)", "CAST('-Infinity' AS FLOAT)", "CAST('3.4028235E38' AS FLOAT)"],
            ["CAST('-0.0' AS FLOAT)"],
            ["CAST('0.0' AS FLOAT)"],
        ],
        (
            "c = CAST('NaN' AS FLOAT)",
            "c > CAST('Infinity' AS FLOAT)",
            "c = 0",
            "c < 0",
            "c >= CAST('0.0' AS FLOAT)",
            "c = CAST('0.1' AS FLOAT)",
            "c = 0.1",
            "isnan(c)",
            "NOT (c > 1)",
            "c != CAST('NaN' AS FLOAT)",
        ),
    ),
    "doubles": (
        "DOUBLE",
        [
            ["1.5", "-2.25", "CAST('4.9E-324' AS DOUBLE)"],
            ["CAST('NaN' AS DOUBLE)"],
            ["CAST('NaN' AS DOUBLE)", "0.1D", "null"],
            ["CAST('Infinity' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)", "CAST('1.7976931348623157E308' AS DOUBLE)"],
            ["CAST('-0.0' AS DOUBLE)"],
            ["CAST('0.0' AS DOUBLE)", "1E23D", "CAST(9007199254740993 AS DOUBLE)"],
        ],
        (
            "c = CAST('NaN' AS DOUBLE)",
            "c <=> CAST('NaN' AS DOUBLE)",
            "c > 1.7976931348623157E308",
            "c = 0",
            "c = CAST('-0.0' AS DOUBLE)",
            "c IN (0, CAST('NaN' AS DOUBLE))",
            "isnan(c) OR c IS NULL",
            "NOT (c <= CAST('Infinity' AS DOUBLE))",
            "c < CAST('-1.7976931348623157E308' AS DOUBLE)",
        ),
    ),
    "dates": (
        "DATE",
        [
            ["DATE '1970-01-01'", "DATE '1969-12-31'", "DATE '2024-02-29'"],
            ["DATE '0001-01-01'", "DATE '1582-10-04'", "DATE '1582-10-15'", "DATE '1000-02-28'"],
            ["DATE '9999-12-31'", "DATE '1900-01-01'"],
            ["null"],
        ],
        ("c < '1582-10-15'", "c >= DATE '1582-10-05' AND c < DATE '1582-10-16'", "month(c) = 2", "c = '9999-12-31'"),
    ),
    "dates_of_far_years": (
        "DATE",
        [
            ["date_from_unix_date(-719529)", "date_from_unix_date(-800000)"],
            ["date_from_unix_date(2932897)", "date_from_unix_date(2147483647)", "date_from_unix_date(-2147483648)"],
            ["DATE '2024-01-01'"],
        ],
        ("c > DATE '9999-12-31'", "c < DATE '0001-01-01'", "unix_date(c) = 2147483647"),
    ),
    "timestamps": (
        "TIMESTAMP",
        [
            ["TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1969-12-31 23:59:59.999999'"],
            ["TIMESTAMP '2024-02-29 12:00:00.123456'", "TIMESTAMP '2024-02-29 12:00:00.123999'"],
            ["TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '1582-10-04 23:59:59'", "TIMESTAMP '1582-10-15 00:00:00'"],
            ["TIMESTAMP '9999-12-31 23:59:59.999999'", "TIMESTAMP '1900-01-01 00:00:00.000001'"],
            ["null"],
        ],
        (
            "c = TIMESTAMP '2024-02-29 12:00:00.123999'",
            "c > TIMESTAMP '2024-02-29 12:00:00.123'",
            "c >= TIMESTAMP '2024-02-29 12:00:00.1234Z'",
            "c = TIMESTAMP '2024-02-29 14:00:00.123456+02:00'",
            "c > TIMESTAMP '9999-12-31 23:59:59.999'",
            "c < '1582-10-15'",
            "c = DATE '1970-01-01'",
            "to_date(c) = DATE '2024-02-29'",
            "c < TIMESTAMP '1970-01-01 00:00:00' AND c >= TIMESTAMP '1969-12-31 23:59:59.999'",
        ),
    ),
    "timestamps_at_the_ends": (
        "TIMESTAMP",
        [
            ["timestamp_micros(9223372036854775807)", "timestamp_micros(9223372036854775000)"],
            ["timestamp_micros(-9223372036854775808)", "timestamp_micros(-62135596800000001)"],
            ["timestamp_micros(253402300800000000)", "timestamp_micros(0)"],
        ],
        ("c > TIMESTAMP '9999-12-31 23:59:59.999999'", "c < TIMESTAMP '0001-01-01 00:00:00'"),
    ),
    "timestamps_ntz": (
        "TIMESTAMP_NTZ",
        [
            ["TIMESTAMP_NTZ '1970-01-01 00:00:00'", "TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'"],
            ["TIMESTAMP_NTZ '2024-03-31 02:30:00.123456'", "TIMESTAMP_NTZ '2024-03-31 02:30:00.123999'"],
            ["TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '1582-10-10 00:00:00'"],
            ["TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'", "null"],
        ],
        (
            "c = TIMESTAMP_NTZ '2024-03-31 02:30:00.123999'",
            "c > TIMESTAMP_NTZ '2024-03-31 02:30:00.123'",
            "c < TIMESTAMP_NTZ '1582-10-15 00:00:00'",
            "c > '2024-01-01'",
            "c >= DATE '2024-03-31'",
        ),
    ),
    "strings": (
        "STRING",
        [
            ["''", "'a'", "'A'", "'ä'", "'Ω≈ç√'", "'日本語'"],
            ["'tab\\there'", "'line\\nbreak'", "'nul\\u0000nul'", "'quote''quote'", "'back\\\\slash'"],
            ["repeat('x', 40)", "concat(repeat('x', 31), '\\U0001F600', 'tail')", "concat(repeat('x', 32), '~')"],
            ["repeat('\\U0010FFFF', 40)", "repeat('z', 1000)"],
            ["'\\uFFFD'", "'\\U0001F600'", "'\\uE000'", "null"],
        ],
        (
            "c = ''",
            "c LIKE 'x%'",
            "c LIKE '%tail'",
            "c = repeat('x', 40)",
            "c > repeat('x', 32)",
            "c >= '\\uE000'",
            "c > '\\uFFFD'",
            "c LIKE '日_語'",
            "c = 'quote\\'quote'",
            "startswith(c, 'tab')",
            "c NOT LIKE 'x%'",
            "upper(c) = 'A'",
            "c LIKE 'back\\\\\\\\%'",
            "c RLIKE '^[a-z]$'",
        ),
    ),
    "binaries": (
        "BINARY",
        [["X''", "X'00'"], ["X'FF'", "X'FFFFFFFF'", "X'80'"], ["X'7F'", "null", "CAST('text' AS BINARY)"]],
        ("c = X'80'", "c > X'7F'", "c < X'01'", "c = X''", "length(c) = 4"),
    ),
    "chars": ("CHAR(6)", [["'ab'", "'abcdef'"], ["''", "'  c'"], ["null"]], ("c = 'ab    '", "c LIKE 'ab%'", "c > 'ab'")),
    "varchars": ("VARCHAR(6)", [["'ab'", "'abcdef'"], ["''", "'  c '"], ["null"]], ("c = 'ab'", "length(c) = 0")),
    "nothing_but_nulls": ("STRING", [["null"], ["null", "null"]], ("c = 'x'", "c IS NOT NULL", "c <=> 'x'")),
}


def _add_one_column(name: str, kind: str, commits: list[list[str]], where: tuple[str, ...]) -> None:
    """Makes a table with one file per list of values. All lists except the last are added in one
    commit, and the last in another.
    """

    def make(t: Make) -> None:
        t.sql(f"CREATE TABLE {{t}} (id INT, c {kind}) USING delta")
        t.set(spark__sql__files__maxRecordsPerFile=str(max(map(len, commits))))
        for group in (commits[:-1], commits[-1:]):
            rows = ", ".join(f"({i}, {value})" for values in group for i, value in enumerate(_filled(values, commits)))
            t.sql(f"INSERT INTO {{t}} SELECT id, CAST(c AS {kind}) FROM VALUES {rows} AS v(id, c)")

    add_case(name, make, where=where, latest_only=True)


def _filled(values: list[str], commits: list[list[str]]) -> list[str]:
    """Returns the values of one file. The last value is repeated, so that all files have the same
    number of rows.
    """
    return values + values[-1:] * (max(map(len, commits)) - len(values))


for _name, (_kind, _commits, _where) in _ONE_COLUMN.items():
    _add_one_column(_name, _kind, _commits, _where)


_DECIMALS = [(1, 0), (1, 1), (4, 2), (9, 0), (9, 9), (10, 2), (18, 0), (18, 18), (19, 0), (20, 10), (38, 0), (38, 18), (38, 38)]


@case(
    latest_only=True,
    where=(
        "p38s0 > CAST('99999999999999999999999999999999999998' AS DECIMAL(38,0))",
        "p38s18 = CAST('12345678901234567890.123456789012345678' AS DECIMAL(38,18))",
        "p18s18 < 0",
        "p10s2 = 1.5",
        "p4s2 > 1",
        "p19s0 = 1234567890123456789",
        "p9s9 >= CAST('0.000000001' AS DECIMAL(9,9))",
        "p20s10 + 1 > 2",
    ),
)
def decimals(t: Make) -> None:
    columns = ", ".join(f"p{p}s{s} DECIMAL({p},{s})" for p, s in _DECIMALS)
    t.sql(f"CREATE TABLE {{t}} (id INT, {columns}) USING delta")

    def row(ident: int, digits: str) -> str:
        """Returns the digits cut to each type: the greatest value, or a middle one."""
        texts = [f"{digits[: p - s] or '0'}.{digits[p - s : p]}".rstrip(".") for p, s in _DECIMALS]
        return ", ".join(
            [str(ident), *(f"CAST('{text}' AS DECIMAL({p},{s}))" for text, (p, s) in zip(texts, _DECIMALS, strict=True))]
        )

    nines, middle = "9" * 38, "12345678901234567890123456789012345678"
    negated = row(3, nines).replace("CAST('", "CAST('-")
    t.sql(f"INSERT INTO {{t}} SELECT {row(1, middle)}")
    t.sql(f"INSERT INTO {{t}} SELECT {row(2, nines)} UNION ALL SELECT {negated}")
    t.sql(f"INSERT INTO {{t}} SELECT {row(4, '0' * 38)} UNION ALL SELECT 5{', null' * len(_DECIMALS)}")


@case(conf={"spark.databricks.delta.schema.typeCheck.enabled": "false"}, where=("id > 1",))
def intervals(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} USING delta AS"
        " SELECT 1 AS id, INTERVAL '178956970-7' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04.567891' DAY TO SECOND AS ds"
        " UNION ALL SELECT 2, INTERVAL '-1-2' YEAR TO MONTH, INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND"
        " UNION ALL SELECT 3, null, null"
    )


@case(where=("n IS NULL", "n IS NOT NULL", "id = 1 AND n IS NULL"))
def void_column(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, n VOID, s STRING) USING delta")
    t.sql("INSERT INTO {t} (id, s) VALUES (1, 'a'), (2, null)")
    t.sql("INSERT INTO {t} VALUES (3, null, 'c')")


@case()
def no_rows(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, s STRING, p DATE) USING delta PARTITIONED BY (p)")
    t.append(t.frame("SELECT 1 AS id, 'x' AS s, DATE '2024-01-01' AS p WHERE false"))


@case()
def no_columns_but_one_row_count(t: Make) -> None:
    """All data columns are partition columns, so the data files have only a row count and no column
    to read.
    """
    t.sql("CREATE TABLE {t} (a INT, p STRING) USING delta PARTITIONED BY (p)")
    t.sql("INSERT INTO {t} VALUES (null, 'x'), (null, 'x'), (null, 'y')")
    t.sql("INSERT INTO {t} VALUES (1, 'x')")


@case(where=("c39 = 39", "c35 > 1000 OR c1 = 1001", "c40 IS NULL"))
def more_columns_than_are_indexed(t: Make) -> None:
    names = [f"c{i}" for i in range(41)]
    for start in (0, 1000):
        t.append(t.frame("SELECT " + ", ".join(f"id + {start} + {i} AS {n}" for i, n in enumerate(names)) + " FROM range(5)"))
    t.append(t.frame("SELECT " + ", ".join(f"CAST(null AS BIGINT) AS {n}" for n in names)))


@case(folder="tä ble 100%25 #1+?&=;", where=("p = 'a b'",))
def oddly_named_folder(t: Make) -> None:
    t.append(t.frame("SELECT id, IF(id % 2 = 0, 'a b', 'c%d') AS p FROM range(6)"), partitionBy="p")
    t.sql("DELETE FROM {t} WHERE id = 3")
    t.checkpoint()
    t.sql("INSERT INTO {t} VALUES (7, 'e')")
