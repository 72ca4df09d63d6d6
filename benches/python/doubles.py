"""The cost of float columns: TPC-H lineitem with doubles, compared with the same rows with
decimals.

Run `python -m benches.python.doubles [SCALE]`. lakebed, Delta Spark and deltalake write the tables,
in order of `l_orderkey`, in files of 500,000 rows and one row group. Each query runs on both tables
in turn: in lakebed alone, in lakebed through Spark, and in Spark on plain Parquet. A line of
`benches/results/<date>-doubles.jsonl` is one sample. It has the number of files to read, and
through Spark the number of rows that were read, which are the rows of row groups that were not
skipped.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from typing import Any

from .run import machine, machine_name
from .spark import report
from .spark.data import with_doubles
from .spark.engines import Delta
from .tables import root

KINDS = ("decimals", "doubles")
ROWS_PER_FILE = 500_000
WRITERS = ("lakebed", "delta_spark", "deltalake")
COLUMNS = "l_orderkey, l_extendedprice, l_discount, l_quantity"
SAMPLES = 15
WARMING = 5
Questions = dict[str, tuple[str | None, str]]


def questions_at(scale: float) -> Questions:
    """Returns the queries: names, predicates and columns. `l_key` is `l_orderkey` in the type of
    the other numbers.
    """
    key = int(93_750 * scale) * 32
    year = "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'"
    return {
        "key": (f"l_orderkey = {key}", COLUMNS),
        "number": (f"l_key = {key}", COLUMNS),
        "above": (f"l_key > {int(5_900_000 * scale)}", COLUMNS),
        "q6": (f"{year} AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24", "l_extendedprice, l_discount"),
        "scan": (None, "*"),
    }


def rows(kind: str, scale: float) -> Any:
    """Returns lineitem with its decimals, or with doubles instead of decimals."""
    import pyarrow as pa

    from .lineitem import generate

    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        found = generate(Path(scratch), scale)
    found = found.append_column("l_key", found["l_orderkey"].cast(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2)))
    return found if kind == "decimals" else with_doubles(found)


def place(kind: str, writer: str, scale: float) -> Path:
    """Returns the path of a table."""
    return root() / f"{kind}_{writer}_{scale:g}"


def make(spark: Any, scale: float) -> None:
    """Makes the missing tables."""
    import deltalake

    import lakebed as lb

    for kind in KINDS:
        if all(place(kind, writer, scale).is_dir() for writer in WRITERS):
            continue
        with tempfile.TemporaryDirectory(dir=root()) as scratch:
            paths = {writer: Path(scratch) / writer for writer in WRITERS}
            data = rows(kind, scale)
            for start in range(0, data.num_rows, ROWS_PER_FILE):
                part = data.slice(start, ROWS_PER_FILE)
                lb.write(paths["lakebed"], part)
                deltalake.write_deltalake(str(paths["deltalake"]), part, mode="append")
            for file in lb.Table(paths["lakebed"]).scan().files()["path"].to_pylist():
                frame = spark.read.parquet(f"{paths['lakebed']}/{file}").coalesce(1)
                frame.write.format("delta").mode("append").save(str(paths["delta_spark"]))
            for writer, path in paths.items():
                shutil.rmtree(place(kind, writer, scale), ignore_errors=True)
                path.rename(place(kind, writer, scale))


class OnOneMachine:
    """Runs the queries in lakebed."""

    def __init__(self, path: Path) -> None:
        import lakebed as lb

        self.table = lb.Table(path)

    def ask(self, where: str | None, columns: str) -> None:
        """Reads the rows as Arrow."""
        self.table.to_arrow(columns=None if columns == "*" else columns.split(", "), where=where)

    def rows_read(self, where: str | None, columns: str) -> int | None:
        """Returns None, because lakebed does not report it."""
        return None


class ThroughSpark:
    """Runs the queries on a data frame. The rows stay in Spark."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def ask(self, where: str | None, columns: str) -> None:
        """Reads the rows and discards them."""
        self._found(where, columns).write.format("noop").mode("overwrite").save()

    def rows_read(self, where: str | None, columns: str) -> int | None:
        """Returns the number of rows that the scans returned, before the predicate was applied to
        them.
        """
        found = self._found(where, columns).groupBy().count()
        found.collect()
        plan = found._jdf.queryExecution().executedPlan()
        leaves = (plan.finalPhysicalPlan() if plan.nodeName().startswith("Adaptive") else plan).collectLeaves()
        scans = [leaves.apply(at) for at in range(leaves.size())]
        while any(scan.nodeName().endswith("QueryStage") for scan in scans):
            inner = [scan.plan().collectLeaves() for scan in scans]
            scans = [found.apply(at) for found in inner for at in range(found.size())]
        return sum(scan.metrics().apply("numOutputRows").value() for scan in scans)

    def _found(self, where: str | None, columns: str) -> Any:
        return (self.frame if where is None else self.frame.where(where)).select(*columns.split(", "))


def main(scale: float) -> None:
    """Makes the tables, runs the queries, and prints the medians."""
    import lakebed as lb
    import lakebed.spark as lbs

    root().mkdir(parents=True, exist_ok=True)
    results = Path(__file__).parents[1] / "results" / f"{date.today()}-doubles.jsonl"
    with tempfile.TemporaryDirectory() as scratch, results.open("a") as out:
        engine = Delta()
        versions = engine.start("4g", Path(scratch))
        make(engine.spark, scale)
        out.write(
            json.dumps({"machine": machine(), "at": datetime.now(UTC).isoformat(), "versions": versions, "scale": scale}) + "\n"
        )
        engines: dict[str, Callable[[Path], OnOneMachine | ThroughSpark]] = {
            "lakebed": OnOneMachine,
            "lakebed through Spark": lambda path: ThroughSpark(lbs.read(engine.spark, str(path))),
            "plain Parquet": lambda path: ThroughSpark(engine.spark.read.parquet(str(path))),
        }
        for writer, (name, begin) in product(WRITERS, engines.items()):
            paths = {kind: place(kind, writer, scale) for kind in KINDS}
            asked = {kind: begin(path) for kind, path in paths.items()}
            for question, (where, columns) in questions_at(scale).items():
                taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
                for sample in range(SAMPLES + WARMING):
                    for kind in sorted(KINDS, reverse=bool(sample % 2)):
                        start = time.perf_counter()
                        asked[kind].ask(where, columns)
                        if sample >= WARMING:
                            taken[kind].append(time.perf_counter() - start)
                for kind, path in paths.items():
                    read = {
                        "files": lb.Table(path).scan(where=where).files().num_rows,
                        "rows_read": asked[kind].rows_read(where, columns),
                    }
                    sample = {"writer": writer, "engine": name, "question": question, "kind": kind} | read
                    for took_s in taken[kind]:
                        out.write(json.dumps(sample | {"took_s": took_s}) + "\n")
                one = {kind: statistics.median(times) for kind, times in taken.items()}
                ratio = one["doubles"] / one["decimals"]
                print(f"{writer:12} {name:22} {question:7} {one['decimals']:.4f} {one['doubles']:.4f} {ratio:.2f}", flush=True)


def lines(paths: list[Path]) -> list[str]:
    """Returns this part of `benches/README.md`, or nothing if the files have no such results."""
    head: dict[str, Any] = {}
    samples: dict[tuple[str, str, str], dict[str, list[dict[str, Any]]]] = {}
    for path in paths:
        for record in map(json.loads, path.read_text().splitlines()):
            if "machine" in record:
                head, samples = record | {"name": path.name}, {}
            else:
                of_case = samples.setdefault((record["writer"], record["engine"], record["question"]), {})
                of_case.setdefault(record["kind"], []).append(record)
    if not samples:
        return []
    writers = list(dict.fromkeys(writer for writer, _, _ in samples))
    out = [
        f"From `results/{head['name']}`, {head['at'][:10]}: {machine_name(head['machine'])}; {head['versions']}; scale {head['scale']:g}.",
        "",
        f"| engine | question | {' | '.join(f'files by {writer}' for writer in writers)} |",
        "|---|---|" + "---:|" * len(writers),
    ]
    for engine, question in dict.fromkeys((engine, question) for _, engine, question in samples):
        cells = [ratio(samples[writer, engine, question]) for writer in writers]
        out.append(f"| {engine} | {question} | {' | '.join(cells)} |")
    return out


def ratio(of_kind: dict[str, list[dict[str, Any]]]) -> str:
    """Returns the time with doubles as a multiple of the time with decimals, and the numbers of
    files that both read.
    """
    took = {kind: statistics.median(record["took_s"] for record in records) for kind, records in of_kind.items()}
    files = "; ".join(f"{of_kind[kind][0]['files']}" for kind in KINDS)
    return f"{took['doubles'] / took['decimals']:.2f} ({files})"


def tpch_lines(paths: list[Path]) -> list[str]:
    """Returns the part about TPC-H on both kinds of tables, from results of `spark.tpc`."""
    samples = report.read_samples(paths)
    engines = ("parquet", "lakebed")
    queries = [case.removeprefix("tpch/") for case in samples if case.startswith("tpch/q")]
    if not queries:
        return []
    session = samples[f"tpch/{queries[0]}"]["lakebed"][0]["session"]
    out = [
        "",
        f"TPC-H through Spark, from {', '.join(f'`results/{path.name}`' for path in paths)}, {session['at'][:10]}: "
        f"{machine_name(session['machine'])}; sums of the minima of {len(queries)} queries.",
        "",
        "| reader | decimals, s | doubles, s | × |",
        "|---|---:|---:|---:|",
    ]

    def took(engine: str, suite: str) -> float:
        return sum(min(report.seconds(samples[f"{suite}/{query}"][engine])) for query in queries)

    for engine in engines:
        decimals, doubles = (took(engine, suite) for suite in ("tpch", "tpch_doubles"))
        out.append(f"| {engine} | {decimals:.1f} | {doubles:.1f} | {doubles / decimals:.2f} |")
    return out


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1)
