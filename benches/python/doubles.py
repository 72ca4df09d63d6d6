"""What floating-point columns cost: TPC-H lineitem with doubles beside the same rows with decimals, `python -m benches.python.doubles [SCALE]`.

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
SAMPLES = 7
Questions = dict[str, tuple[str | None, str]]


def questions_at(scale: float) -> Questions:
    """Names, conditions, and what is asked of the rows. `l_key` is `l_orderkey` in the type of the other numbers."""
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
    """Lineitem with its decimals as they are, or as doubles."""
    import pyarrow as pa

    from .lineitem import generate

    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        found = generate(Path(scratch), scale)
    found = found.append_column("l_key", found["l_orderkey"].cast(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2)))
    if kind == "decimals":
        return found
    fields = [pa.field(f.name, pa.float64()) if pa.types.is_decimal(f.type) else f for f in found.schema]
    return found.cast(pa.schema(fields))


def place(kind: str, writer: str, scale: float) -> Path:
    """Where a table stands."""
    return root() / f"{kind}_{writer}_{scale:g}"


def make(spark: Any, scale: float) -> None:
    """The tables that are missing."""
    import deltalake

    import lakebed as lb

    for kind in ("decimals", "doubles"):
        paths = {writer: place(kind, writer, scale) for writer in WRITERS}
        if all(path.is_dir() for path in paths.values()):
            continue
        data = rows(kind, scale)
        for start in range(0, data.num_rows, ROWS_PER_FILE):
            part = data.slice(start, ROWS_PER_FILE)
            lb.write(paths["lakebed"], part)
            deltalake.write_deltalake(str(paths["deltalake"]), part, mode="append")
        for file in lb.Table(paths["lakebed"]).scan().files()["path"].to_pylist():
            frame = spark.read.parquet(f"{paths['lakebed']}/{file}").coalesce(1)
            frame.write.format("delta").mode("append").save(str(paths["delta_spark"]))


def on_one_machine(path: Path, asked: Questions) -> Iterator[tuple[str, Callable[[], int]]]:
    """The questions, asked of lakebed."""
    import lakebed as lb

    table = lb.Table(path)
    for name, (where, columns) in asked.items():
        wanted = None if columns == "*" else columns.split(", ")
        yield name, lambda where=where, wanted=wanted: table.to_arrow(columns=wanted, where=where).num_rows  # type: ignore[misc]


def through_spark(frame: Any, asked: Questions) -> Iterator[tuple[str, Callable[[], int]]]:
    """The questions, asked of a frame; the rows stay in Spark."""
    for name, (where, columns) in asked.items():
        found = (frame if where is None else frame.where(where)).select(*columns.split(", "))

        def ask(found: Any = found) -> int:
            found.write.format("noop").mode("overwrite").save()
            return -1

        yield name, ask


def main(scale: float) -> None:
    """Makes the tables, asks, and prints the medians."""
    import lakebed as lb
    import lakebed.spark as lbs

    asked = questions_at(scale)
    root().mkdir(parents=True, exist_ok=True)
    results = Path(__file__).parents[1] / "results" / f"{date.today()}-doubles.jsonl"
    medians: dict[tuple[str, str, str], dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch, results.open("a") as out:
        engine = Delta()
        engine.start("4g", Path(scratch))
        make(engine.spark, scale)
        for writer in WRITERS:
            paths = {kind: place(kind, writer, scale) for kind in ("decimals", "doubles")}
            engines: dict[str, Callable[[Path], Any]] = {
                "lakebed": lambda path: on_one_machine(path, asked),
                "lakebed through Spark": lambda path: through_spark(lbs.read(engine.spark, str(path)), asked),
                "plain Parquet": lambda path: through_spark(engine.spark.read.parquet(str(path)), asked),
            }
            for name, asks in engines.items():
                questions = {kind: dict(asks(path)) for kind, path in paths.items()}
                for question, (where, _) in asked.items():
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
                                "scale": scale,
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
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1)
