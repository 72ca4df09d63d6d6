"""Makes `spark.tsv`: what Spark answers to each expression of `expressions.txt` for each row of the table below.

Run with pyspark 4.2: `python spark.py`. Spark's defaults are kept (ANSI mode), but the session's zone is UTC. An answer is the value cast
to a string, `\\N` for null, `ERROR` for an exception.
"""

import concurrent.futures
import pathlib

from pyspark.sql import SparkSession

HERE = pathlib.Path(__file__).parent
TABLE = """
SELECT 1 AS row, 1 AS i, 10L AS l, 'apple' AS s, 1.5D AS d, 1.5F AS f, CAST(12.34 AS DECIMAL(10,2)) AS dec,
    CAST(12.34 AS DECIMAL(38,10)) AS big, DATE '2024-02-29' AS dt, TIMESTAMP '2024-02-29 12:34:56.789123' AS ts,
    TIMESTAMP_NTZ '2024-03-31 23:59:59.999999' AS ntz, true AS b, X'0102' AS bin, array(1, 2, 3) AS arr, map('k', 1) AS m,
    named_struct('a', 1, 'b', named_struct('c', 'deep')) AS st
UNION ALL SELECT 2, -7, 9223372036854775807L, '  Padded ', CAST('NaN' AS DOUBLE), CAST('NaN' AS FLOAT), CAST(-0.05 AS DECIMAL(10,2)),
    CAST('1234567890123456789012345678.0123456789' AS DECIMAL(38,10)), DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59.5',
    TIMESTAMP_NTZ '1970-01-01 00:00:00', false, X'', array(), map(), named_struct('a', CAST(NULL AS INT), 'b', CAST(NULL AS STRUCT<c: STRING>))
UNION ALL SELECT 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
UNION ALL SELECT 4, 0, 0L, '', -0.0D, CAST('-0.0' AS FLOAT), CAST(0 AS DECIMAL(10,2)), CAST(0 AS DECIMAL(38,10)), DATE '1582-10-15',
    TIMESTAMP '1582-10-15 00:00:00', TIMESTAMP_NTZ '1582-10-15 00:00:00', true, X'00FF', array(NULL, 2), map('k', NULL),
    named_struct('a', 4, 'b', named_struct('c', CAST(NULL AS STRING)))
UNION ALL SELECT 5, 2147483647, -9223372036854775808L, 'ñandú 😀', CAST('Infinity' AS DOUBLE), 0.1F, CAST(99999999.99 AS DECIMAL(10,2)),
    CAST('9999999999999999999999999999.9999999999' AS DECIMAL(38,10)), DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59.999999',
    TIMESTAMP_NTZ '9999-12-31 23:59:59.999999', false, X'FFFE', array(7), map('x', 9, 'k', 2), named_struct('a', 5, 'b', named_struct('c', ''))
UNION ALL SELECT 6, 42, 42L, '2024-01-15', 1e-10D, 3.4e38F, CAST(-12.50 AS DECIMAL(10,2)), CAST('-0.0000000001' AS DECIMAL(38,10)),
    DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00', TIMESTAMP_NTZ '2024-02-29 12:34:56.789123', NULL, X'61', array(3, 1, 2), map('k', 3),
    named_struct('a', 6, 'b', named_struct('c', 'x'))
"""


def answer(spark, expression, row):
    try:
        value = spark.sql(f"SELECT CAST(({expression}) AS STRING) FROM t WHERE row = {row}").collect()[0][0]
    except Exception:
        return "ERROR"
    if value is None:
        return "\\N"
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def main():
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.sql(TABLE).repartition(1).cache().createOrReplaceTempView("t")
    lines = [line for line in (HERE / "expressions.txt").read_text().splitlines() if line and not line.startswith("#")]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        rows = pool.map(lambda line: [line, *(answer(spark, line, row) for row in range(1, 7))], lines)
        (HERE / "spark.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
