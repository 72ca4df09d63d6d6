"""CHAR columns in predicates: the values that Delta Spark pads, and the values that it compares
unchanged.
"""

from __future__ import annotations

from corpus.case import Make, case

_ROWS = (
    ("ab", "ab", "ab"),
    ("abcdef", "abc", "abd"),
    ("", "", ""),
    (None, None, None),
    ("ab\\t", "ab\\t", "a\\t"),
    ("é", "é", "é"),
    ("a", "a", "b"),
)

_COMPARED = (
    *(f"c {operator} '{text}'" for operator in ("=", "<=>", "!=", "<", "<=", ">", ">=") for text in ("ab", "ab ", "a\\t", "")),
    "c = 'ab       '",
    "'ab' = c",
    "'ab' < c",
    "d = 'abcdef'",
    "d > 'abcdef'",
    "c = concat('a', 'b')",
    "c = CAST('ab' AS STRING)",
    "NOT c = 'ab'",
    "c IS DISTINCT FROM 'ab'",
    "equal_null(c, 'ab')",
    "CASE c WHEN 'ab' THEN true ELSE false END",
    "c IN ('ab', 'x')",
    "c IN ('ab        ', 'x')",
    "c IN ('a', 'b', 'ab', 'e', 'f', 'g', 'h', 'i', 'j', 'k')",
    "c NOT IN ('ab', 'x')",
    "c IN ('ab', NULL)",
    "c IN ('abcdef', NULL, 'ab')",
    "c IN (d, e)",
    "c IN (d, s)",
    "c = d",
    "d = c",
    "d < e",
    "c != d",
    "c = s",
    "s < c",
    "c BETWEEN 'ab' AND 'abcdef'",
    "c NOT BETWEEN 'ab' AND 'abcdef'",
    "nullif(c, 'ab') IS NULL",
    "c LIKE 'ab'",
    "c LIKE 'ab    '",
    "c LIKE 'ab%'",
    "upper(c) = 'AB'",
    "CAST(c AS STRING) = 'ab'",
    "length(c) = 6",
    "rtrim(c) = 'ab'",
    "startswith(c, 'ab ')",
    "st.x = 'ab'",
    "st.x = 'ab '",
    "st.x > 'ab'",
    "st.x = d",
    "c = st.x",
    "a[0] = 'ab '",
    "m['k '] = 'ab '",
    "id > 2 AND c > 'ab'",
)


@case(latest_only=True, where=_COMPARED)
def chars_compared(t: Make) -> None:
    """Each row is in a file of its own, so that the files show which rows the statistics of the
    stored strings exclude.
    """
    t.sql(
        "CREATE TABLE {t} (id INT, c CHAR(6), d CHAR(3), e CHAR(3), s STRING, st STRUCT<x: CHAR(3), y: INT>, a ARRAY<CHAR(3)>,"
        " m MAP<CHAR(2), CHAR(3)>) USING delta"
    )
    _insert(t, "id, c, d, e, s, named_struct('x', e, 'y', id), array(d, null), map('k', e)")


@case(where=("c = 'ab'", "c > 'ab'", "c IN ('ab', 'é')", "c LIKE 'ab%'", "c < d", "c = 'a' AND id > 1"))
def chars_that_partition(t: Make) -> None:
    """Partition values are padded as well, also those of a checkpoint with typed partition values."""
    t.sql(
        "CREATE TABLE {t} (id INT, c CHAR(6), d CHAR(3)) USING delta PARTITIONED BY (c)"
        " TBLPROPERTIES ('delta.checkpoint.writeStatsAsStruct' = 'true')"
    )
    _insert(t, "id, c, d")
    t.checkpoint()
    t.sql("INSERT INTO {t} VALUES (100, 'ab', 'ab')")


@case(latest_only=True, where=("r = 'ab'", "n = 'n'", "n IN ('n', 'm')", "st.x = 'ab '", "r < n"))
def chars_renamed_and_added(t: Make) -> None:
    """The field of the struct is not renamed, because Spark would continue to use its old name."""
    t.sql(
        "CREATE TABLE {t} (id INT, c CHAR(6), st STRUCT<x: CHAR(3), y: CHAR(2)>) USING delta"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    _insert(t, "id, c, named_struct('x', e, 'y', 'y')")
    t.sql("ALTER TABLE {t} RENAME COLUMN c TO r")
    t.sql("ALTER TABLE {t} ADD COLUMN (n CHAR(4))")
    t.sql("INSERT INTO {t} VALUES (100, 'ab', named_struct('x', 'ab', 'y', 'q'), 'n')")


def _insert(t: Make, columns: str) -> None:
    """Inserts the rows, each in a file of its own. Delta Spark stores CHAR values without trailing
    spaces.
    """
    t.set(spark__sql__files__maxRecordsPerFile="1")
    values = ", ".join(f"({number}, {', '.join(map(_literal, (*row, row[0])))})" for number, row in enumerate(_ROWS))
    t.sql(f"INSERT INTO {{t}} SELECT {columns} FROM VALUES {values} AS v(id, c, d, e, s)")


def _literal(text: str | None) -> str:
    return "CAST(null AS STRING)" if text is None else f"'{text}'"
