"""What floating-point columns cost: TPC-H lineitem with doubles beside the same rows with decimals, `python -m benches.python.doubles`.

The tables are written by lakebed, by Delta Spark and by deltalake, in order of `l_orderkey`, in files of 500,000 rows. Each question is
asked of both tables in turn, by lakebed on one machine and through Spark, and of plain Parquet through Spark. A line of
`benches/results/<date>-doubles.jsonl` is one sample, with how many files and rows were left to read.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from .spark.engines import Delta
from .tables import root

ROWS_PER_FILE = 500_000
WRITERS = ("lakebed", "delta_spark", "deltalake")
COLUMNS = "l_orderkey, l_extendedprice, l_discount, l_quantity"
#: Names, conditions, and what is asked of the rows. `l_key` is `l_orderkey` in the type of the other numbers.
QUESTIONS = {
    "key": ("l_orderkey = 3000000", COLUMNS),
    "number": ("l_key = 3000000", COLUMNS),
    "above": ("l_key > 5900000", COLUMNS),
    "q6": (
        "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
        "l_extendedprice, l_discount",
    ),
    "scan": (None, "*"),
}
SAMPLES = 7


def rows(kind: str) -> Any:
    """Lineitem with its decimals as they are, or as doubles."""
    import pyarrow as pa

    from .lineitem import generate

    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        found = generate(Path(scratch))
    found = found.append_column("l_key", found["l_orderkey"].cast(pa.decimal128(12, 2)))
    if kind == "decimals":
        return found
    fields = [pa.field(f.name, pa.float64()) if pa.types.is_decimal(f.type) else f for f in found.schema]
    return found.cast(pa.schema(fields))


def make(spark: Any) -> None:
    """The tables that are missing."""
    import deltalake

    import lakebed as lb

    for kind in ("decimals", "doubles"):
        if all((root() / f"{kind}_{writer}").is_dir() for writer in WRITERS):
            continue
        data = rows(kind)
        for start in range(0, data.num_rows, ROWS_PER_FILE):
            part = data.slice(start, ROWS_PER_FILE)
            lb.write(root() / f"{kind}_lakebed", part)
            deltalake.write_deltalake(str(root() / f"{kind}_deltalake"), part, mode="append")
        source = str(root() / f"{kind}_lakebed")
        for place in lb.Table(source).scan().files()["path"].to_pylist():
            frame = spark.read.parquet(f"{source}/{place}").coalesce(1)
            frame.write.format("delta").mode("append").save(str(root() / f"{kind}_delta_spark"))


def on_one_machine(path: Path) -> Iterator[tuple[str, Callable[[], int]]]:
    """The questions, asked of lakebed."""
    import lakebed as lb

    table = lb.Table(path)
    for name, (where, columns) in QUESTIONS.items():
        wanted = None if columns == "*" else columns.split(", ")
        yield name, lambda where=where, wanted=wanted: table.to_arrow(columns=wanted, where=where).num_rows  # type: ignore[misc]


def through_spark(frame: Any) -> Iterator[tuple[str, Callable[[], int]]]:
    """The questions, asked of a frame; the rows stay in Spark."""
    for name, (where, columns) in QUESTIONS.items():
        found = (frame if where is None else frame.where(where)).select(*columns.split(", "))

        def ask(found: Any = found) -> int:
            found.write.format("noop").mode("overwrite").save()
            return -1

        yield name, ask


def main() -> None:
    """Makes the tables, asks, and prints the medians."""
    import lakebed as lb
    import lakebed.spark as lbs

    root().mkdir(parents=True, exist_ok=True)
    results = Path(__file__).parents[1] / "results" / f"{date.today()}-doubles.jsonl"
    medians: dict[tuple[str, str, str], dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch, results.open("a") as out:
        engine = Delta()
        engine.start("4g", Path(scratch))
        make(engine.spark)
        for writer in WRITERS:
            paths = {kind: root() / f"{kind}_{writer}" for kind in ("decimals", "doubles")}
            engines: dict[str, Callable[[Path], Any]] = {
                "lakebed": on_one_machine,
                "lakebed through Spark": lambda path: through_spark(lbs.read(engine.spark, str(path))),
                "plain Parquet": lambda path: through_spark(engine.spark.read.parquet(str(path))),
            }
            for name, asks in engines.items():
                questions = {kind: dict(asks(path)) for kind, path in paths.items()}
                for question, (where, _) in QUESTIONS.items():
                    taken: dict[str, list[float]] = {kind: [] for kind in paths}
                    for sample in range(SAMPLES + 2):
                        for kind in sorted(paths, reverse=bool(sample % 2)):
                            start = time.perf_counter()
                            questions[kind][question]()
                            if sample > 1:
                                taken[kind].append(time.perf_counter() - start)
                    for kind, path in paths.items():
                        files = lb.Table(path).scan(where=where).files().num_rows
                        for took_s in taken[kind]:
                            line = {
                                "writer": writer,
                                "engine": name,
                                "question": question,
                                "kind": kind,
                                "took_s": took_s,
                                "files": files,
                            }
                            out.write(json.dumps(line) + "\n")
                    medians[writer, name, question] = {kind: statistics.median(times) for kind, times in taken.items()}
                    one = medians[writer, name, question]
                    ratio = one["doubles"] / one["decimals"]
                    print(
                        f"{writer:12} {name:22} {question:7} {one['decimals']:.4f} {one['doubles']:.4f} {ratio:.2f}", flush=True
                    )


if __name__ == "__main__":
    sys.exit(main())
