"""Shows the main job of lakebed on a table of its own, step by step.

Run it with `make demo`, or with `python examples/demo.py FOLDER` to keep the table. Each step is a
function. The demo prints the source of the function as the calls of the step.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import lakebed as lb

if TYPE_CHECKING:
    from collections.abc import Iterator

CITIES = ["Accra", "Bergen", "Cusco", "Delhi", "Kyoto", "Lima", "Lisbon", "Oslo", "Quito", "Rome"]
DAYS, TRIPS_A_DAY = 30, 20_000
SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.date32()), ("city", pa.string()), ("km", pa.float64()), ("fare", pa.float64())]
)
#: A query; the demo shows how many files it opens before and after OPTIMIZE.
QUERY = "city = 'Oslo' AND fare BETWEEN 40 AND 45"


def trips_of(day: int) -> pa.Table:
    """A day's trips. One in a thousand has a fare below zero, as data has mistakes."""
    chance = random.Random(day)
    kms = [round(chance.uniform(0.5, 30), 1) for _ in range(TRIPS_A_DAY)]
    columns = [
        range(day * TRIPS_A_DAY, (day + 1) * TRIPS_A_DAY),
        [date(2026, 3, 1) + timedelta(days=day)] * TRIPS_A_DAY,
        chance.choices(CITIES, k=TRIPS_A_DAY),
        kms,
        [round((2.5 + 1.8 * km) * chance.uniform(0.9, 1.3), 2) * (-1 if chance.random() < 0.001 else 1) for km in kms],
    ]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def create(path: str) -> None:
    """Create a table. A table is a folder of Parquet files with a log; the log names the files of each version."""
    table = lb.create(
        path,
        SCHEMA,
        properties={"delta.enableDeletionVectors": True, "delta.enableChangeDataFeed": True},
    )
    show(["version", "columns"], [[table.version, ", ".join(table.schema.names)]])


def append(path: str) -> None:
    """Append thirty days of trips. Each append is one version of the table: all of its rows or none."""
    for day in range(DAYS):
        result = lb.write(path, trips_of(day))

    show(["version", "rows", "files"], [[result.version, f"{result.table.count():,}", result.table.files().num_rows]])


def query(path: str) -> None:
    """Read some rows. The log holds the smallest and largest values of each file, so lakebed skips files without matching rows."""
    scan = lb.Table(path).scan(columns=["day", "city", "fare"], where="day = '2026-03-07' AND fare > 72")
    rows = scan.to_arrow()
    show_rows(rows.sort_by([("fare", "descending")]), 3)
    say(f"{rows.num_rows} rows. {told_of(scan)}")


def upsert(path: str) -> None:
    """Upsert. Corrections of known trips and trips that come late go into the table in one commit."""
    corrections = lb.Table(path).to_arrow(where="id < 2000").set_column(4, SCHEMA.field("fare"), pa.array([25.0] * 2000))
    late = trips_of(DAYS).slice(0, 500)
    result = lb.Table(path).upsert(pa.concat_tables([corrections, late]), keys=["id"])
    changed = [result.metrics.updated_rows, result.metrics.inserted_rows]
    show(["version", "updated rows", "inserted rows", "seconds"], [[result.version, *changed, seconds()]])


def delete(path: str) -> None:
    """Delete the mistakes. The table notes which rows are gone (deletion vectors), so no file is written anew."""
    result = lb.Table(path).delete("fare < 0")
    changed = [result.metrics.deleted_rows, result.metrics.added_files]
    show(["version", "deleted rows", "files written anew"], [[result.version, *changed]])


def time_travel(path: str) -> None:
    """Travel in time. Every version can still be read, by its number or by a moment."""
    now = lb.Table(path)
    before = lb.Table(path, version=now.version - 1)
    counts = [table.count(where="fare < 0") for table in (before, now)]
    show(["version", "trips with a fare below zero"], [[before.version, counts[0]], [now.version, counts[1]]])


def history(path: str) -> None:
    """Read the history. The log records each operation with its time."""
    entries = lb.Table(path).history(limit=4)
    show(["version", "time (UTC)", "operation"], [[one.version, f"{one.timestamp:%H:%M:%S}", one.operation] for one in entries])


def change_feed(path: str) -> None:
    """Read the change feed. The feed lists the rows that the last two versions inserted, updated or deleted."""
    changes = lb.Table(path).changes(DAYS + 1).to_arrow()
    counts = changes.group_by(["_commit_version", "_change_type"]).aggregate([("id", "count")])
    of_trip_7 = changes.filter(pc.equal(changes["id"], 7)).select(["id", "city", "fare", "_change_type"])
    show(["version", "what happened", "rows"], sorted(list(row.values()) for row in counts.to_pylist()))
    show_rows(of_trip_7, 2)


def optimize(path: str) -> None:
    """Optimize. The rows stay the same and get another order, so that queries by city and fare open few files."""
    before = lb.Table(path).scan(where=QUERY)
    result = lb.Table(path).optimize(cluster_by=["city", "fare"], target_file_size=256 << 10)
    after = result.table.scan(where=QUERY)
    say(f"The query: {QUERY}")
    show(["", *_FILES, "rows found"], [["before", *files_of(before), before.count()], ["after", *files_of(after), after.count()]])


def spark_reads(path: str) -> None:
    """Read it with Spark. That needs no jar and no settings; Spark's executors read the files."""
    df = lbs.read(spark, path)
    rows = df.where("fare > 60").groupBy("city").count().orderBy("city").limit(3).collect()
    show(["city", "trips over 60"], [list(row) for row in rows])


def spark_writes(path: str) -> None:
    """Write to it with Spark. The tasks make the files and the driver makes one commit, which every reader sees."""
    more = spark.range(10_000_000, 10_000_100).selectExpr(
        "id", "DATE '2026-04-01' AS day", "'Lima' AS city", "double(5) AS km", "double(12) AS fare"
    )
    result = lbs.write(more, path)
    show(["version", "rows from Spark"], [[result.version, lb.Table(path).count(where="day = '2026-04-01'")]])


def spark_sql(path: str) -> None:
    """Query it in SQL. Once it is registered, format("lakebed") serves tables, views and streams."""
    lbs.register(spark)
    spark.read.format("lakebed").load(path).createOrReplaceTempView("trips")
    rows = spark.sql("SELECT day, count(*) AS trips, round(sum(fare)) AS fares FROM trips GROUP BY day ORDER BY day DESC LIMIT 2")
    show(["day", "trips", "fares"], [list(row) for row in rows.collect()])


STEPS = [create, append, query, upsert, delete, time_travel, history, change_feed, optimize]
SPARK_STEPS = [spark_reads, spark_writes, spark_sql]
#: The first words of lines that only print results; the demo does not show these lines.
_SHOWS = ("show", "say", "changed")
#: What Spark's steps use; given by `with_spark`.
spark: Any = None
lbs: Any = None
_begun = 0.0
_number = 0


def run(steps: Sequence[Callable[[str], None]], path: str) -> None:
    global _begun, _number
    for step in steps:
        _number += 1
        title, _, more = (step.__doc__ or "").partition(". ")
        print(f"\n{_number}. {title}\n   {more}\n")
        print(textwrap.indent(calls_of(step), "   >>> "))
        _begun = time.monotonic()
        step(path)


def calls_of(step: Callable[[str], None]) -> str:
    """The source of a step without its docstring and without the lines that print results."""
    lines = textwrap.dedent(inspect.getsource(step)).splitlines()
    body = textwrap.dedent("\n".join(lines[2:])).splitlines()
    return "\n".join(line for line in body if line and not line.startswith(_SHOWS))


def show(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a small table."""
    print()
    cells = [list(head), *[[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for number, row in enumerate(cells):
        print("   " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("   " + "   ".join("-" * width for width in widths))


def show_rows(rows: pa.Table, most: int) -> None:
    show(rows.column_names, [list(row.values()) for row in rows.slice(0, most).to_pylist()])


def say(text: str) -> None:
    print(f"\n   {text}")


def seconds() -> str:
    return f"{time.monotonic() - _begun:.2f}"


_FILES = ["files", "opened", "skipped"]


def files_of(scan: lb.Scan) -> list[object]:
    """The number of files of the table, the number that a scan opens, and the share that it skips."""
    explained = scan.explain()
    skipped = explained.skipped_by_partition + explained.skipped_by_statistics
    return [explained.files + skipped, explained.files, f"{skipped / (explained.files + skipped):.0%}"]


def told_of(scan: lb.Scan) -> str:
    total, opened, skipped = files_of(scan)
    return f"lakebed opened {opened} of {total} files and skipped {skipped} of them."


#: The oldest Java that Spark 4 runs on.
OLDEST_JAVA = 17


def lack_of_spark() -> str:
    """Says what to install for the part about PySpark. Returns an empty string if nothing is missing."""
    home = os.environ.get("JAVA_HOME")
    # If JAVA_HOME is set, PySpark uses no other Java.
    java = f"{home}/bin/java" if home else shutil.which("java")
    version = 0 if java is None else version_of(java)
    if version < OLDEST_JAVA:
        there = f"Java {version} is too old" if version else "There is no Java here" if java is None else f"{java} does not run"
        install = f"Install Java {OLDEST_JAVA} or newer (on Debian: apt-get install openjdk-17-jre-headless)"
        return f"{there}. {install}{', let JAVA_HOME name its folder' if java else ''}, then `make demo` again."
    missing = [name for name in ("pyspark", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        command = f"{sys.executable} -m pip install 'pyspark[sql]>=4.0'"
        return f"There is no {' and no '.join(missing)} here. Run `{command}` (480 MB), then `make demo` again."
    return ""


def version_of(java: str) -> int:
    """The major version of a Java, such as 17 or 8 (Java 8 calls itself "1.8"); 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else 0


@contextmanager
def with_spark(folder: str) -> Iterator[None]:
    """Starts Spark on two threads. Its log goes to a file."""
    global spark, lbs
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark's workers are whatever `python3` is
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with open(f"{folder}/spark.log", "ab") as log:
        errors = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            from pyspark.sql import SparkSession

            builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
            spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC").getOrCreate()
            spark.sparkContext.setLogLevel("ERROR")
        finally:
            os.dup2(errors, 2)
            os.close(errors)
    import lakebed.spark

    lbs = lakebed.spark
    try:
        yield
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="The main job of lakebed, step by step.")
    parser.add_argument(
        "folder", nargs="?", help="where the table is made and kept; else in a temporary folder, which is deleted"
    )
    parser.add_argument("--no-spark", action="store_true", help="leave PySpark out")
    given = parser.parse_args()
    folder = given.folder or tempfile.mkdtemp(prefix="lakebed-demo-")
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = f"{folder}/trips"
    start = time.monotonic()
    print(f'lakebed {lb.__version__}: the life of a Delta Lake table, step by step\n\n   >>> path = "{path}"')
    try:
        run(STEPS, path)
        print(f"\nThat took {time.monotonic() - start:.1f} seconds.")
        if given.no_spark:
            return
        if lack := lack_of_spark():
            print(f"\nNot shown: the same table through PySpark. {lack}")
        else:
            print("\nThe same table through PySpark, which takes some seconds to start.\n\n   >>> import lakebed.spark as lbs")
            with with_spark(folder):
                run(SPARK_STEPS, path)
        print("\nRead on in docs/guide.md and docs/spark.md.")
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
