"""The forms of data files: codecs, old timestamps, old list layouts, encodings, and their
statistics.
"""

from __future__ import annotations

from corpus.case import Make, add_case, case

_ROWS = (
    "SELECT id, concat('v', id % 5) AS v, IF(id % 3 = 0, null, id / 7) AS d, array(id, null) AS a, map('k', id) AS m"
    " FROM range(200)"
)


def _add_codec(codec: str) -> None:
    def make(t: Make) -> None:
        t.set(spark__sql__parquet__compression__codec=codec)
        t.append(t.frame(_ROWS))

    add_case(f"compressed_with_{codec}", make, where=("id = 77", "d IS NULL", "v = 'v3' AND id > 150"))


for _codec in ("uncompressed", "snappy", "gzip", "lz4", "lz4_raw", "zstd"):
    _add_codec(_codec)


@case(where=("id = 77", "v = 'v1'", "d > 3"))
def pages_of_version_2(t: Make) -> None:
    """The pages are V2 and have delta encodings, by a setting and by the table property."""
    t.sql(
        "CREATE TABLE {t} (id BIGINT, v STRING, d DOUBLE, a ARRAY<BIGINT>, m MAP<STRING, BIGINT>) USING delta"
        " TBLPROPERTIES ('delta.parquet.format.version' = '2.12.0')"
    )
    t.set(parquet__writer__version="v2", parquet__enable__dictionary="false", parquet__page__size="500")
    t.append(t.frame(_ROWS))


@case(where=("id > 90", "x = X'00FF'", "f = CAST(1.5 AS FLOAT)"))
def without_dictionaries(t: Make) -> None:
    t.set(parquet__enable__dictionary="false", parquet__bloom__filter__enabled="true", parquet__page__size="300")
    t.append(
        t.frame(
            "SELECT id, IF(id % 2 = 0, X'00FF', null) AS x, CAST(id / 2 AS FLOAT) AS f, id % 3 = 0 AS b,"
            " CAST(id AS DECIMAL(30,5)) AS dec FROM range(100)"
        )
    )


_OLD_TIMES = (
    "SELECT 1 AS id, TIMESTAMP '1969-12-31 23:59:59.999999' AS ts, DATE '1969-12-31' AS d"
    " UNION ALL SELECT 2, TIMESTAMP '2024-02-29 12:34:56.123456', DATE '2024-02-29'"
    " UNION ALL SELECT 3, TIMESTAMP '1582-10-15 00:00:00', DATE '1582-10-15'"
    " UNION ALL SELECT 4, TIMESTAMP '9999-12-31 23:59:59.999999', DATE '9999-12-31'"
    " UNION ALL SELECT 5, null, null"
)
_VERY_OLD_TIMES = (
    "SELECT 6 AS id, TIMESTAMP '1582-10-04 12:00:00' AS ts, DATE '1582-10-04' AS d"
    " UNION ALL SELECT 7, TIMESTAMP '1000-02-28 00:00:00.000001', DATE '1000-02-28'"
    " UNION ALL SELECT 8, TIMESTAMP '0001-01-01 00:00:00', DATE '0001-01-01'"
)
_TIME_WHERE = (
    "ts = TIMESTAMP '2024-02-29 12:34:56.123456'",
    "ts < TIMESTAMP '1970-01-01 00:00:00'",
    "ts > TIMESTAMP '9000-01-01 00:00:00'",
    "d <= DATE '1582-10-15'",
    "d = DATE '1000-02-28' OR ts IS NULL",
)


@case(where=_TIME_WHERE)
def int96_timestamps(t: Make) -> None:
    t.set(spark__sql__parquet__outputTimestampType="INT96")
    t.append(t.frame(_OLD_TIMES))
    t.append(
        t.frame("SELECT id, ts, d, array(ts) AS a, named_struct('t', ts) AS s FROM (" + _OLD_TIMES + ")"), mergeSchema="true"
    )
    t.append(t.frame(_VERY_OLD_TIMES))


@case(where=_TIME_WHERE)
def timestamps_in_microseconds(t: Make) -> None:
    """Timestamps have this type instead of INT96, which is Spark's default."""
    t.set(spark__sql__parquet__outputTimestampType="TIMESTAMP_MICROS")
    t.append(t.frame(_OLD_TIMES))
    t.append(t.frame(_VERY_OLD_TIMES))


@case(where=_TIME_WHERE)
def timestamps_in_milliseconds(t: Make) -> None:
    t.set(spark__sql__parquet__outputTimestampType="TIMESTAMP_MILLIS")
    t.append(t.frame(_OLD_TIMES))


@case(where=_TIME_WHERE)
def legacy_calendar(t: Make) -> None:
    """Dates and timestamps before 1582 are in the hybrid Julian calendar. The metadata of the
    footer has a mark for it.
    """
    t.set(
        spark__sql__parquet__datetimeRebaseModeInWrite="LEGACY",
        spark__sql__parquet__int96RebaseModeInWrite="LEGACY",
    )
    t.append(t.frame(_VERY_OLD_TIMES))
    t.set(spark__sql__parquet__outputTimestampType="INT96")
    t.append(t.frame(_VERY_OLD_TIMES))
    t.append(t.frame(_OLD_TIMES))


@case(where=("size(a) > 0 AND a[0] = 1", "d > 1", "s IS NOT NULL AND s.l[0].x = 1", "m IS NOT NULL AND m['k'][0] = 1"))
def legacy_lists_and_decimals(t: Make) -> None:
    """Lists have two levels, maps have no logical types, and decimals are always fixed-length
    bytes.
    """
    t.set(spark__sql__parquet__writeLegacyFormat="true")
    t.append(
        t.frame(
            "SELECT 1 AS id, array(1, null) AS a, CAST(1.5 AS DECIMAL(5,2)) AS d, CAST(2.5 AS DECIMAL(15,2)) AS e,"
            " named_struct('l', array(named_struct('x', 1, 'y', 'b'), null)) AS s, map('k', array(1, null), 'n', null) AS m,"
            " array(array(1), null, array()) AS aa, array(named_struct('array', 1)) AS one,"
            " CAST(1 AS TINYINT) AS t, CAST(2 AS SMALLINT) AS sh"
        )
    )
    t.append(t.frame("SELECT 2 AS id, CAST(array() AS ARRAY<INT>) AS a, CAST(-1.5 AS DECIMAL(5,2)) AS d"))


@case(where=("id = 77", "v = 'v1'", "s.x = 7", "t > 150"))
def statistics_of_two_columns(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT, v STRING, s STRUCT<x: BIGINT, y: BIGINT>, t BIGINT) USING delta"
        " TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 't, s.x')"
    )
    for start in (0, 100):
        t.append(
            t.frame(
                "SELECT id, concat('v', id % 5) AS v, named_struct('x', id, 'y', id) AS s, id AS t"
                f" FROM range({start}, {start + 100})"
            )
        )


def _add_indexed(count: int) -> None:
    def make(t: Make) -> None:
        t.sql(
            "CREATE TABLE {t} (id BIGINT, s STRUCT<a: BIGINT, b: STRING>, v STRING) USING delta"
            f" TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '{count}')"
        )
        for start in (0, 100):
            t.append(
                t.frame(
                    "SELECT id, named_struct('a', id, 'b', string(id)) AS s, concat('v', id) AS v"
                    f" FROM range({start}, {start + 9})"
                )
            )

    name = "all" if count < 0 else str(count)
    add_case(f"statistics_of_the_first_{name}_columns", make, where=("id = 7", "s.a > 50", "s.b = '3'", "v LIKE 'v10%'"))


for _count in (-1, 0, 2):
    _add_indexed(_count)


@case(where=("id = 77", "id IS NULL"), conf={"spark.databricks.delta.stats.collect": "false"})
def no_statistics(t: Make) -> None:
    t.append(t.frame("SELECT id FROM range(100)"))
    t.append(t.frame("SELECT CAST(null AS BIGINT) AS id"))


@case(
    latest_only=True,
    where=("id = 4321", "v = 'key00042'", "n BETWEEN 100 AND 110", "v LIKE 'key0009%'", "id > 4990", "n IS NULL AND id < 30"),
)
def many_row_groups_and_pages(t: Make) -> None:
    """Sorted and unsorted columns have many row groups and pages with column indexes."""
    t.set(parquet__block__size="30000", parquet__page__size="2000", parquet__page__row__count__limit="100")
    t.append(
        t.frame(
            "SELECT id, format_string('key%05d', id % 97) AS v, IF(id % 11 = 0, null, id DIV 7) AS n,"
            " CAST(id AS DECIMAL(20,3)) AS d, TIMESTAMP '2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, id) AS ts"
            " FROM range(5000)"
        )
    )


@case(where=("v = 'abc'", "v >= repeat('x', 33)", "v = concat(repeat('x', 40), 'b')", "v LIKE 'xxx%'"))
def longer_statistics_prefix(t: Make) -> None:
    t.sql("CREATE TABLE {t} (v STRING) USING delta TBLPROPERTIES ('delta.dataSkippingStringPrefixLength' = '4')")
    t.sql("INSERT INTO {t} VALUES ('abc'), ('abcd'), ('abcde')")
    t.sql("INSERT INTO {t} VALUES (concat(repeat('x', 40), 'a')), (concat(repeat('x', 40), 'b'))")
