"""Partition columns: every type, nulls, values and names that need escaping, and partitions that
are overwritten.

Values come from the log and never from the path, so a reader must ignore the names of directories.
"""

from __future__ import annotations

from corpus.case import Make, add_case, case

_AWKWARD = [
    "plain",
    "",
    " ",
    "a b",
    " leading and trailing ",
    "100%",
    "%20",
    "%2520",
    "a/b",
    "/",
    "..",
    ".",
    "../up",
    "a=b",
    "p=1",
    "10:30:00",
    "ünïcödé",
    "日本",
    "\U0001f600",
    "it's",
    'say "hi"',
    "back\\slash",
    "1+1",
    "what?",
    "#hash",
    "semi;colon",
    "a&b",
    "{x}[y]^~`|<>*!@$,",
    "tab\there",
    "new\nline",
    "__HIVE_DEFAULT_PARTITION__",
    "null",
    "x" * 100,
    "e\u0301",
    "\u007f",
]


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"'{escaped}'"


@case(
    latest_only=True,
    where=(
        "p = ''",
        "p IS NULL",
        "p = 'a/b'",
        "p = '%20'",
        "p IN ('100%', '..')",
        "p LIKE 'ü%'",
        "p <=> NULL",
        "p > 'x'",
        "p = 'it\\'s'",
        "p LIKE '%b'",
        "p = '__HIVE_DEFAULT_PARTITION__'",
        "p = 'e\\u0301'",
        "NOT (p = 'plain') AND id < 5",
        "length(p) = 1",
        "upper(p) = 'PLAIN' OR p IS NULL",
    ),
)
def strings_that_need_escaping(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id INT, p STRING) USING delta PARTITIONED BY (p)")
    rows = ", ".join(f"({i}, {_text(value)})" for i, value in enumerate(_AWKWARD))
    t.sql(f"INSERT INTO {{t}} VALUES {rows}, (1000, null)")
    t.sql("DELETE FROM {t} WHERE p IN ('a b', '100%', 'what?')")
    t.sql("UPDATE {t} SET p = 'moved + to' WHERE p = 'ünïcödé'")


# The partition types, each with its values and additional predicates.
_TYPES: dict[str, tuple[str, list[str], tuple[str, ...]]] = {
    "boolean": ("BOOLEAN", ["true", "false"], ("p", "NOT p", "p IS NOT FALSE")),
    "byte": ("TINYINT", ["-128", "0", "127"], ("p > 126", "p = -128L")),
    "short": ("SMALLINT", ["-32768", "0", "32767"], ("p < 0",)),
    "integer": ("INT", ["-2147483648", "9", "10", "2147483647"], ("p > 9", "p = '10'", "p + 0 = 10")),
    "long": ("BIGINT", ["-9223372036854775808", "9007199254740993", "9223372036854775807"], ("p = 9007199254740993",)),
    "float": (
        "FLOAT",
        [
            "CAST('NaN' AS FLOAT)",
            "CAST('-Infinity' AS FLOAT)",
            "1.5",
            "CAST('-0.0' AS FLOAT)",
            "0.0",
            "CAST('1E10' AS FLOAT)",
            "0.1",
        ],
        ("p = CAST('NaN' AS FLOAT)", "p = 0", "p > 1.0", "p = CAST('0.1' AS FLOAT)"),
    ),
    "double": (
        "DOUBLE",
        ["CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "1.5", "CAST('-0.0' AS DOUBLE)", "1E-300D", "1E23D", "100D"],
        ("p > 1E300", "p = 0", "p >= 100"),
    ),
    "decimal": (
        "DECIMAL(38,10)",
        ["1.1", "1.1000000000", "-9999999999999999999999999999.9999999999", "0", "100"],
        ("p = 1.1", "p < 0", "p = 100", "p BETWEEN 1 AND 2"),
    ),
    "date": (
        "DATE",
        ["DATE '0001-01-01'", "DATE '1582-10-10'", "DATE '1969-12-31'", "DATE '2024-02-29'", "DATE '9999-12-31'"],
        ("p < '1970-01-01'", "p = DATE '2024-02-29'", "year(p) = 1969", "p IN (DATE '9999-12-31', DATE '0001-01-01')"),
    ),
    "timestamp": (
        "TIMESTAMP",
        [
            "TIMESTAMP '2024-02-29 12:34:56'",
            "TIMESTAMP '2024-02-29 12:34:56.123456'",
            "TIMESTAMP '1969-12-31 23:59:59.9'",
            "TIMESTAMP '0001-01-01 00:00:00'",
            "TIMESTAMP '9999-12-31 23:59:59.999999'",
        ],
        ("p > TIMESTAMP '2024-02-29 12:34:56'", "CAST(p AS DATE) = DATE '2024-02-29'", "p < '1970-01-01'"),
    ),
    "timestamp_ntz": (
        "TIMESTAMP_NTZ",
        [
            "TIMESTAMP_NTZ '2024-02-29 12:34:56'",
            "TIMESTAMP_NTZ '2024-02-29 12:34:56.123456'",
            "TIMESTAMP_NTZ '1500-01-01 00:00:00'",
            "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'",
        ],
        ("p > TIMESTAMP_NTZ '2024-02-29 12:34:56'", "p = TIMESTAMP_NTZ '1500-01-01 00:00:00'"),
    ),
    "binary": ("BINARY", ["X'616263'", "CAST('ä/%' AS BINARY)", "X'20'"], ("p = X'616263'", "p > X'60'")),
    "varchar": ("VARCHAR(5)", ["'a'", "'ab   '", "'é'"], ("p = 'a'", "p LIKE 'ab%'")),
    "char": ("CHAR(5)", ["'a'", "'abcde'"], ("p = 'a    '",)),
}


def _add_type(name: str, kind: str, values: list[str], where: tuple[str, ...]) -> None:
    def make(t: Make) -> None:
        t.sql(f"CREATE TABLE {{t}} (id INT, p {kind}, s STRING) USING delta PARTITIONED BY (p)")
        rows = ", ".join(f"({i}, {value}, 's{i}')" for i, value in enumerate([*values, "null"]))
        t.sql(f"INSERT INTO {{t}} SELECT id, CAST(p AS {kind}), s FROM VALUES {rows} AS v(id, p, s)")
        t.checkpoint()
        t.sql(f"INSERT INTO {{t}} SELECT 100, CAST({values[-1]} AS {kind}), null")

    add_case(f"partitioned_by_{name}", make, where=where, latest_only=True)


for _name, (_kind, _values, _where) in _TYPES.items():
    _add_type(_name, _kind, _values, _where)


@case(where=("a = 1 AND b = 'x'", "b IS NULL AND c >= DATE '2024-01-01'", "a = 2 OR id = 1", "a + id = 3"))
def several_columns_out_of_order(t: Make) -> None:
    """The partition columns are first and in the middle of the schema, and have another order in
    the directory names.
    """
    t.sql("CREATE TABLE {t} (a INT, id INT, b STRING, v DOUBLE, c DATE) USING delta PARTITIONED BY (c, a, b)")
    t.sql(
        "INSERT INTO {t} VALUES (1, 1, 'x', 0.5, DATE '2024-01-01'), (1, 2, 'y', 1.5, DATE '2024-01-02'),"
        " (2, 3, null, 2.5, DATE '2024-01-01'), (null, 4, null, null, null)"
    )
    t.sql("INSERT INTO {t} VALUES (1, 5, 'x', 9.5, DATE '2024-01-01')")
    t.sql("DELETE FROM {t} WHERE a = 1 AND b = 'y'")


@case(where=("`Größe` = 'a'", "`a-b` > 1", "`select` IS NULL", "`per%cent` = 'x y'", "`a.b` = 1"))
def oddly_named_columns(t: Make) -> None:
    """The names are legal without column mapping: no space, comma, semicolon, braces, newline, tab
    or equals sign.
    """
    t.sql(
        "CREATE TABLE {t} (`a.b` INT, `Größe` STRING, `a-b` INT, `select` STRING, `per%cent` STRING, `x/y` STRING, `q?` STRING,"
        " `#` STRING, `日` STRING, `\"` STRING, `'` STRING) USING delta PARTITIONED BY (`Größe`, `a-b`, `per%cent`, `x/y`, `日`)"
    )
    t.sql("INSERT INTO {t} VALUES (1, 'a', 1, 'x', 'x y', 'a/b', 'q', 'h', '本', 'd', 's')")
    t.sql("INSERT INTO {t} VALUES (2, 'ß', 2, null, null, '', null, null, null, null, null)")


@case(where=("p = 1", "p = 2", "v > 10"))
def replaced_partitions(t: Make) -> None:
    t.append(t.frame("SELECT id AS v, id % 3 AS p FROM range(9)"), partitionBy="p")
    replaced = t.frame("SELECT id + 100 AS v, 1L AS p FROM range(2)")
    replaced.write.format("delta").mode("overwrite").option("replaceWhere", "p = 1").save(str(t.path))
    dynamic = t.frame("SELECT id + 200 AS v, id % 2 AS p FROM range(2)")
    dynamic.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(str(t.path))
    t.sql("INSERT INTO {t} REPLACE WHERE v > 200 SELECT 300L, 7L WHERE false")


@case(where=("p = 'x'",))
def repartitioned_by_overwrite(t: Make) -> None:
    t.append(t.frame("SELECT id, 'x' AS p, id % 2 AS q FROM range(4)"), partitionBy="p")
    frame = t.frame("SELECT id, 'y' AS p, id % 2 AS q FROM range(4)")
    frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy("q").save(str(t.path))
    frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(str(t.path))


@case(where=("p = 'a b'", "p IS NULL", "p = '3'"))
def random_file_prefixes(t: Make) -> None:
    """There are no partition directories, so the paths do not have the values."""
    t.sql(
        "CREATE TABLE {t} (id BIGINT, p STRING) USING delta PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.randomizeFilePrefixes' = 'true', 'delta.randomPrefixLength' = '5')"
    )
    t.sql("INSERT INTO {t} SELECT id, IF(id = 0, null, IF(id < 3, 'a b', string(id))) FROM range(6)")


@case(where=("p = 'misleading'", "p = 'true value'"))
def directories_that_lie(t: Make) -> None:
    """The directory name has another value than the log."""
    t.append(t.frame("SELECT 1 AS id, 'misleading' AS p"), partitionBy="p")
    actions = t.commit_actions(0)
    for action in actions:
        if "add" in action:
            action["add"]["partitionValues"]["p"] = "true value"
    t.put_commit(0, actions)
    (t.log_dir() / f"{0:020}.crc").unlink()


@case(where=("p = DATE '2024-01-01'", "p IS NULL", "p < DATE '2024-01-02'"))
def empty_text_is_null(t: Make) -> None:
    """An empty partition string means null for any type. Spark writes null, but other writers write
    the empty string.
    """
    t.append(t.frame("SELECT 1 AS id, DATE '2024-01-01' AS p UNION ALL SELECT 2, null"), partitionBy="p")
    actions = t.commit_actions(0)
    for action in actions:
        values = action.get("add", {}).get("partitionValues", {})
        if values.get("p", "") is None:
            values["p"] = ""
    t.put_commit(0, actions)


@case(
    where=(
        "p = TIMESTAMP '2024-06-30 22:00:00'",
        "p = TIMESTAMP '2024-07-01 00:00:00.5'",
        "p >= TIMESTAMP '2024-07-01 00:00:00'",
    )
)
def timestamp_texts_of_both_kinds(t: Make) -> None:
    """One table has partition timestamps as `yyyy-MM-dd HH:mm:ss` and as ISO 8601 with `Z`."""
    t.sql("CREATE TABLE {t} (id INT, p TIMESTAMP) USING delta PARTITIONED BY (p)")
    t.set(spark__databricks__delta__write__utcTimestampPartitionValues="false")
    t.sql("INSERT INTO {t} VALUES (1, TIMESTAMP '2024-06-30 22:00:00'), (2, TIMESTAMP '2024-07-01 00:00:00.5')")
    t.set(spark__databricks__delta__write__utcTimestampPartitionValues="true")
    t.sql("INSERT INTO {t} VALUES (3, TIMESTAMP '2024-06-30 22:00:00'), (4, TIMESTAMP '2024-07-01 00:00:00.5')")


@case(latest_only=True, where=("p = 137", "p >= 290", "p IN (1, 2, 299)", "p % 100 = 7 AND id > 100"))
def many_partitions(t: Make) -> None:
    t.append(t.frame("SELECT id, CAST(id % 300 AS INT) AS p FROM range(600)"), partitionBy="p")
    t.checkpoint()
    t.sql("DELETE FROM {t} WHERE p BETWEEN 100 AND 120")
