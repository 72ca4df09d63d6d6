"""Makes the tables of `benches/README.md` from raw results: `python -m benches.report [FILE.jsonl ...]` (default: the newest).

Of each case and engine the last set of samples counts: the median over its processes, of the first call, of the repeated
calls (the median in each process) and of the peak of memory above what the imports took. Later files win over earlier ones,
and cases that there are no more are left out. Changes of rows and layouts have parts of their own, and so has what was taken through
Spark (`python/spark/report.py`).
"""

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .python import dml, doubles, layout
from .python.cases import all_cases
from .python.run import machine_name
from .python.spark import report as spark

BENCHES = Path(__file__).parent
OURS = "lakebed"
ORDER = [OURS, "lakebed_unflushed", "lakebed_singly", "deltalake", "duckdb", "polars", "spark", "limit"]
TITLES = {
    "first": "First call in a new process, seconds (in brackets: × lakebed)",
    "again": "The same call again on the open table, seconds (in brackets: × lakebed)",
    "peak": "Peak memory of the first call above the imports, MB (in brackets: × lakebed)",
    "cpu": "CPU time of the first call, seconds",
}
CHANGERS = [OURS, "lakebed_unflushed", "spark", "deltalake", "deltalake_collected"]
CHANGES = {
    "first": "First change in a new process, seconds (in brackets: × lakebed in the same form)",
    "again": "The next change in the same process, seconds (in brackets: × lakebed in the same form)",
    "rss": "Peak of resident memory in the first change, imports and source included, MB (in brackets: × lakebed in the same form)",
    "peak": "Peak of memory of the first change above what was there before it, MB (in brackets: × lakebed in the same form)",
    "cpu": "CPU time of the first change, seconds",
    "moved": "First change: MB read / written",
    "files": "New data files / data files that are gone / deletion vectors",
}
LAYERS = [OURS, "lakebed_unflushed", "deltalake", "deltalake_spilling", "spark"]
#: Where the figures of `cluster/TABLE` stand in the row of `zorder/TABLE`.
CLUSTERED = " cluster"
LAYOUTS = {
    "first": "First in a new process, seconds (in brackets: × lakebed)",
    "again": "The next in the same process, seconds (in brackets: × lakebed)",
    "rss": "Peak of resident memory, imports included, MB (in brackets: × lakebed)",
    "cpu": "CPU time, seconds",
    "moved": "MB read / written",
    "laid": "Files before → after, MB after",
    "skipped": "Files that an equality on one column rules out, values of random rows, %: mean of the columns / the least",
    "skipped_distinct": "The same, each distinct value as likely as any other",
    "columns": "Files that an equality rules out, values of random rows, %: each column",
}
QUERIES = "Files that a query needs"


def read_samples(paths: list[Path]) -> dict[str, dict[str, dict[str, float | str]]]:
    """The figures per case and engine."""
    sets: dict[tuple[str, str], list[dict[str, Any]]] = {}
    session: dict[str, Any] = {}
    known = {case.name for case in all_cases()}
    for line in [line for path in paths for line in path.read_text().splitlines()]:
        record = json.loads(line)
        if "machine" in record:
            session = record
            continue
        key = record["case"], record["engine"]
        if key[0] not in known:
            continue
        if record["run"] == 0:
            sets[key] = []
        sets[key].append(record | {"session": session})
    figures: dict[str, dict[str, dict[str, float | str]]] = {}
    for (case, engine), samples in sets.items():
        figures.setdefault(case, {})[engine] = summary(samples)
    return figures


def summary(samples: list[dict[str, Any]]) -> dict[str, float | str]:
    """Medians over processes, or a word instead."""
    last = samples[-1]
    if "skipped" in last:
        return {"word": "–"}
    if "failed" in last:
        return {"word": "fails"}
    answer = last["answer"]
    out: dict[str, float | str] = {
        # Of writers side by side only the time counts in which all of them were ready.
        "first": statistics.median(s["answer"].get("took_s", s["first_s"]) for s in samples),
        "cpu": statistics.median(s["cpu_s"] for s in samples),
        "peak": statistics.median(s["peak_mb"] - s["base_mb"] for s in samples),
        "rss": statistics.median(s["peak_mb"] for s in samples),
        "version": str(last["engine_version"]),
        "machine": f"{machine_name(last['session']['machine'])}, Linux {last['session']['machine']['kernel']}",
        "day": last["session"]["at"][:10],
    }
    again = [statistics.median(s["again_s"]) for s in samples if s["again_s"]]
    if again:
        out["again"] = statistics.median(again)
    if "read_mb" in last:
        moved = [statistics.median(s[field] for s in samples) for field in ("read_mb", "written_mb")]
        out["moved"] = " / ".join(f"{mb:.1f}" if mb < 10 else f"{mb:.0f}" for mb in moved)
    if "vectors" in answer:
        out["files"] = f"{answer['new_files']} / {answer['gone_files']} / {answer['vectors']}"
    if "files_after" in answer:
        out |= laid(answer)
    if any("wrong" in s for s in samples):
        out["wrong"] = "wrong"
    return out


def laid(answer: dict[str, Any]) -> dict[str, float | str]:
    """How files lie, in words."""
    out: dict[str, float | str] = {"laid": f"{answer['files_before']} → {answer['files_after']}, {answer['mb_after']:.0f}"}
    for kind in ("skipped", "skipped_distinct"):
        if kind in answer:
            out[kind] = f"{100 * answer[kind]['mean']:.1f} / {100 * answer[kind]['min']:.1f}"
    if "skipped" in answer:
        out["columns"] = " ".join(f"{100 * share:.0f}" for share in answer["skipped"]["columns"].values())
    return out | {f"query {name}": str(files) for name, files in answer.get("queries", {}).items()}


def cell(figure: dict[str, float | str] | None, kind: str, ours: dict[str, float | str] | None) -> str:
    """One cell: the figure, its ratio to ours, and a word if the answer was wrong."""
    if figure is None or "word" in figure:
        return str(figure["word"]) if figure else ""
    value = figure.get(kind)
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    text = f"{value:.0f}" if kind in ("peak", "rss") else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"
    base = ours.get(kind) if ours else None
    if isinstance(base, float) and base > 0 and figure is not ours and kind != "cpu":
        text += f" ({value / base:.1f})"
    return text + (" **wrong**" if "wrong" in figure else "")


def table(figures: dict[str, dict[str, dict[str, float | str]]], engines: list[str], kind: str) -> list[str]:
    """One Markdown table."""
    lines = ["", f"### {TITLES[kind]}", "", f"| case | {' | '.join(engines)} |", "|---|" + "---:|" * len(engines)]
    for case, by_engine in figures.items():
        if any(kind in f for f in by_engine.values()):
            lines.append(f"| {case} | " + " | ".join(cell(by_engine.get(e), kind, by_engine.get(OURS)) for e in engines) + " |")
    return lines


def change_table(figures: dict[str, dict[str, dict[str, float | str]]], engines: list[str], kind: str) -> list[str]:
    """One Markdown table of changes: a row for each, engines in each form side by side."""
    ways = [(e, form) for e in engines for form in dml.FORMS]
    by_change: dict[str, dict[tuple[str, str], dict[str, float | str]]] = {}
    for case, by_engine in figures.items():
        operation, _, name = case.partition("/")
        form = dml.form_of(name)
        by_change.setdefault(operation, {}).update({(e, form): f for e, f in by_engine.items() if f.get("word") != "–"})
    ways = [way for way in ways if any(way in found for found in by_change.values())]
    lines = [
        "",
        f"### {CHANGES[kind]}",
        "",
        f"| change | {' | '.join(f'{e} {form}' for e, form in ways)} |",
        "|---|" + "---:|" * len(ways),
    ]
    for operation, found in by_change.items():
        cells = [cell(found.get((e, form)), kind, found.get((OURS, form))) for e, form in ways]
        lines.append(f"| {operation} | {' | '.join(cells)} |")
    return lines


def beside(figures: dict[str, dict[str, dict[str, float | str]]]) -> dict[str, dict[str, dict[str, float | str]]]:
    """The figures of layouts with those of a clustering beside those of the Z-order of the same table."""
    out: dict[str, dict[str, dict[str, float | str]]] = {}
    for case, by_engine in figures.items():
        operation, _, name = case.partition("/")
        clusters = operation == "cluster"
        row = out.setdefault(f"zorder/{name}" if clusters else case, {})
        known = {engine: figure for engine, figure in by_engine.items() if figure.get("word") != "–"}
        row |= {engine + CLUSTERED: figure for engine, figure in known.items()} if clusters else known
    return out


def layout_table(figures: dict[str, dict[str, dict[str, float | str]]], engines: list[str], kind: str) -> list[str]:
    """One Markdown table of layouts, and after the last one those of the queries of each table."""
    rows = beside(figures)
    ways = [way for engine in engines for way in (engine, engine + CLUSTERED) if any(way in row for row in rows.values())]

    def lines(title: str, named: dict[str, tuple[dict[str, dict[str, float | str]], str]]) -> list[str]:
        out = ["", f"### {title}", "", f"| case | {' | '.join(ways)} |", "|---|" + "---:|" * len(ways)]
        for name, (row, of) in named.items():
            out.append(f"| {name} | {' | '.join(cell(row.get(way), of, row.get(OURS)) for way in ways)} |")
        return out

    shown = {name: (row, kind) for name, row in rows.items() if any(kind in figure for figure in row.values())}
    out = lines(LAYOUTS[kind], shown) if shown else []
    if kind == list(LAYOUTS)[-1]:
        for name, row in rows.items():
            queries = layout.QUERIES.get(name.partition("/")[2], {})
            if queries:
                out += lines(f"{QUERIES}, {name}", {query: (row, f"query {query}") for query in queries})
    return out


def changes(paths: list[Path]) -> list[str]:
    """What was taken of changes of rows; nothing if the files hold no such results."""
    return part(paths, dml.is_change, order=CHANGERS, kinds=CHANGES, make=change_table)


def layouts(paths: list[Path]) -> list[str]:
    """What was taken of layouts and of cleaning up; nothing if the files hold no such results."""
    return part(paths, layout.is_layout, order=LAYERS, kinds=LAYOUTS, make=layout_table)


def results(paths: list[Path]) -> list[str]:
    """What else was taken without Spark; nothing if the files hold no such results."""

    def is_other(operation: str) -> bool:
        return not (dml.is_change(operation) or layout.is_layout(operation))

    return part(paths, is_other, order=ORDER, kinds=TITLES, make=table)


def part(paths: list[Path], belongs: Callable[[str], bool], order: list[str], kinds: dict[str, str], make: Any) -> list[str]:
    """Tables of each kind for the operations that belong to the part, and what they come from."""
    figures = {case: of for case, of in read_samples(paths).items() if belongs(case.partition("/")[0])}
    if not figures:
        return []
    engines = [e for e in order if any(e in by_engine for by_engine in figures.values())]
    versions = {e: f["version"] for by_engine in figures.values() for e, f in by_engine.items() if "version" in f}
    lines = [
        f"From {', '.join(f'`results/{p.name}`' for p in paths)}; taken on {' and '.join(machines(figures))}; "
        + ", ".join(f"{e} {versions[e]}" for e in engines if e in versions)
        + ".",
    ]
    for kind in kinds:
        lines += make(figures, engines, kind)
    return lines


def machines(figures: dict[str, dict[str, dict[str, float | str]]]) -> list[str]:
    """The machines that figures were taken on, and when."""
    days: dict[str, list[str]] = {}
    for figure in (f for by_engine in figures.values() for f in by_engine.values() if "machine" in f):
        days.setdefault(str(figure["machine"]), []).append(str(figure["day"]))
    return [f"{machine} ({' to '.join(sorted({min(of), max(of)}))})" for machine, of in days.items()]


def main(arguments: list[str]) -> None:
    """Writes the tables between the markers of the README; a part of which there are no results stays."""
    paths = [Path(a) for a in arguments] or [max((BENCHES / "results").glob("*.jsonl"), key=lambda p: p.stat().st_mtime)]
    of_doubles = [path for path in paths if path.stem.endswith("-doubles")]
    of_tpch = [path for path in of_doubles if path.stem.endswith("-tpch-doubles")]
    paths = [path for path in paths if path not in of_doubles]
    readme = BENCHES / "README.md"
    for name, lines in {
        "results": results(paths),
        "changes": changes(paths),
        "layouts": layouts(paths),
        "spark": spark.lines(paths),
        "doubles": doubles.lines([path for path in of_doubles if path not in of_tpch]) + doubles.tpch_lines(of_tpch),
    }.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if lines:
            before, _, rest = readme.read_text().partition(begin)
            readme.write_text(before + "\n".join([begin, *lines, end]) + rest.partition(end)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
