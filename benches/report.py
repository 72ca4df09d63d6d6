"""Makes the tables of `benches/README.md` from raw results.

`python -m benches.report [FILE.jsonl ...]` reads these files, by default all of them, in the order
of their names, which begin with the day. The last set of samples of each case and engine counts. A
figure is the median over the processes of the set. There is one table for each question. The
figures of lakebed are seconds and megabytes, and those of the other engines are multiples of them.
The results through Spark are in `python/spark/report.py` and `python/doubles.py`.
"""

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .python import dml, doubles, layout, life
from .python.cases import all_cases
from .python.run import machine_name
from .python.spark import report as spark

BENCHES = Path(__file__).parent
OURS = "lakebed"
ENGINES = [OURS, "lakebed_singly", "deltalake", "deltalake_collected", "deltalake_spilling", "duckdb", "polars", "spark", "limit"]
READS = ("head5", "count", "one_file", "q6", "q6_columns", "full")
WRITES = ("append", "checkpoint", "commits", "write")
#: The suffix of the engine's name in the column of `cluster/TABLE`, which stands in the row of
#: `zorder/TABLE`.
CLUSTERED = "cluster"

Figure = dict[str, Any]
Column = tuple[str, str]
Rows = dict[str, dict[Column, Figure]]


def read_samples(paths: list[Path]) -> dict[tuple[str, str], Figure]:
    """Returns the figures of each case and engine."""
    sets: dict[tuple[str, str], list[dict[str, Any]]] = {}
    session: dict[str, Any] = {}
    known = {case.name for case in all_cases()}
    for line in [line for path in paths for line in path.read_text().splitlines()]:
        record = json.loads(line)
        if "machine" in record:
            session = record
        elif record["case"] in known:
            key = record["case"], record["engine"]
            if record["run"] == 0:
                sets[key] = []
            sets[key].append(record | {"session": session})
    return {key: figure_of(samples) for key, samples in sets.items()}


def figure_of(samples: list[dict[str, Any]]) -> Figure:
    """Returns the medians over the processes, or a word instead."""
    last = samples[-1]
    if "skipped" in last or "failed" in last:
        return {"word": "fails" if "failed" in last else ""}
    again = [statistics.median(s["again_s"]) for s in samples if s["again_s"]]
    return {
        # For concurrent writers, only the time after all of them were ready counts.
        "first": statistics.median(s["answer"].get("took_s", s["first_s"]) for s in samples),
        "again": statistics.median(again) if again else None,
        "peak": statistics.median(s["peak_mb"] - s["base_mb"] for s in samples),
        "rss": statistics.median(s["peak_mb"] for s in samples),
        "answer": last["answer"],
        "version": str(last["engine_version"]),
        "machine": machine_name(last["session"]["machine"]),
        "day": last["session"]["at"][:10],
        "wrong": any("wrong" in s for s in samples),
    }


def seconds(value: float) -> str:
    """Returns a time with two digits or more."""
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def cost(figure: Figure | None, ours: Figure | None, memory: str) -> str:
    """Returns a cell: seconds of the first call, of the next one, and megabytes. For engines other
    than lakebed, these are multiples.
    """
    if figure is None or "word" in figure:
        return str(figure["word"]) if figure else ""
    if ours is None or "word" in ours or figure is ours:
        times = [seconds(figure[kind]) for kind in ("first", "again") if figure[kind] is not None]
        text = f"{' / '.join(times)} s, {figure[memory]:.0f} MB"
    else:
        both = [kind for kind in ("first", "again") if figure[kind] is not None and ours[kind]]
        text = "× " + " / ".join(f"{figure[kind] / ours[kind]:.1f}" for kind in both)
        text += f", × {figure[memory] / ours[memory]:.1f}" if ours[memory] >= 1 else ""
    return text + (" **wrong**" if figure["wrong"] else "")


def skipped(figure: Figure | None) -> str:
    """Returns a cell: the share of files that an equality on one column skips."""
    answer = {} if figure is None else figure.get("answer", {})
    return f"{100 * answer['skipped']['mean']:.1f} / {100 * answer['skipped']['min']:.1f}" if "skipped" in answer else ""


def table(rows: Rows, cell: Callable[[dict[Column, Figure], Column], str]) -> list[str]:
    """Returns one Markdown table without empty columns."""
    columns = [(e, way) for e in ENGINES for way in ("", *dml.FORMS, CLUSTERED) if any((e, way) in row for row in rows.values())]
    cells = {name: {column: cell(row, column) for column in columns} for name, row in rows.items()}
    columns = [column for column in columns if any(of[column] for of in cells.values())]
    head = f"| case | {' | '.join(f'{e} {way}'.strip() for e, way in columns)} |"
    return ["", head, "|---|" + "---:|" * len(columns)] + [
        f"| {name} | {' | '.join(of[column] for column in columns)} |" for name, of in cells.items() if any(of.values())
    ]


def origin(figures: list[Figure], paths: list[Path]) -> str:
    """Returns the files and machines of the figures."""
    days: dict[str, set[str]] = {}
    for figure in figures:
        if "machine" in figure:
            days.setdefault(figure["machine"], set()).add(figure["day"])
    machines = [f"{machine} ({' to '.join(sorted({min(of), max(of)}))})" for machine, of in days.items()]
    return f"From {', '.join(f'`results/{p.name}`' for p in paths)}; taken on {' and '.join(machines)}."


def part(paths: list[Path], operations: Callable[[str], bool], memory: str, *, lays: bool = False) -> list[str]:
    """Returns the table of the operations of a question. It is empty if there are no results."""
    rows: Rows = {}
    used = []
    for path in paths:
        found = {key: figure for key, figure in read_samples([path]).items() if operations(key[0].partition("/")[0])}
        used += [path] if found else []
        for (case, engine), figure in found.items():
            name, column = place(case, engine)
            if engine in ENGINES and not (column[1] and figure.get("word") == ""):
                rows.setdefault(name, {})[column] = figure
    if not rows:
        return []

    def ours(row: dict[Column, Figure], column: Column) -> Figure | None:
        return row.get((OURS, column[1] if column[1] in dml.FORMS else ""))

    lines = [origin([figure for row in rows.values() for figure in row.values()], used)]
    lines += table(rows, lambda row, column: cost(row.get(column), ours(row, column), memory))
    if lays:
        lines += ["", "Files that an equality on one column skips, in %: mean of the columns / the least"]
        lines += table(rows, lambda row, column: skipped(row.get(column)))
    return lines


def place(case: str, engine: str) -> tuple[str, Column]:
    """Returns the row and the column of a case. The forms of a changed table, and a clustering
    beside the Z-order, are columns.
    """
    operation, _, name = case.partition("/")
    if dml.is_change(operation):
        return operation, (engine, dml.form_of(name))
    return (f"zorder/{name}", (engine, CLUSTERED)) if operation == CLUSTERED else (case, (engine, ""))


def main(arguments: list[str]) -> None:
    """Writes the tables between the markers of the README. A question without results keeps its
    table.
    """
    paths = [Path(a) for a in arguments] or sorted((BENCHES / "results").glob("*.jsonl"))
    of_doubles = [path for path in paths if path.stem.endswith("-doubles")]
    of_tpch = [path for path in of_doubles if path.stem.endswith("-tpch-doubles")]
    paths = [path for path in paths if path not in of_doubles]

    def reads(operation: str) -> bool:
        return operation in READS

    def writes(operation: str) -> bool:
        return operation.startswith(WRITES)

    def opens(operation: str) -> bool:
        changes = dml.is_change(operation) or layout.is_layout(operation) or life.is_life(operation)
        return not (reads(operation) or writes(operation) or changes)

    readme = BENCHES / "README.md"
    for name, lines in {
        "opening": part(paths, opens, "peak"),
        "reading": part(paths, reads, "peak"),
        "writing": part(paths, writes, "peak"),
        "changes": part(paths, dml.is_change, "rss"),
        "layouts": part(paths, layout.is_layout, "rss", lays=True),
        "life": part(paths, life.is_life, "rss"),
        "spark": spark.lines(paths),
        "doubles": doubles.lines([path for path in of_doubles if path not in of_tpch]) + doubles.tpch_lines(of_tpch),
    }.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if lines:
            before, _, rest = readme.read_text().partition(begin)
            readme.write_text(before + "\n".join([begin, *lines, end]) + rest.partition(end)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
