"""Makes the tables of `benches/README.md` from raw results: `python -m benches.report [FILE.jsonl ...]` (default: the newest).

Of each case and engine the last set of samples counts: the median over its processes, of the first call, of the repeated
calls (the median in each process) and of the peak of memory above what the imports took. Later files win over earlier ones,
and cases that there are no more are left out. What was taken through Spark has a part of its own (`python/spark/report.py`).
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from .python.cases import all_cases
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


def read_samples(paths: list[Path]) -> tuple[dict[str, dict[str, dict[str, float | str]]], list[dict[str, Any]]]:
    """The figures per case and engine, and the machines they were taken on."""
    sets: dict[tuple[str, str], list[dict[str, Any]]] = {}
    machines: list[dict[str, Any]] = []
    known = {case.name for case in all_cases()}
    for line in [line for path in paths for line in path.read_text().splitlines()]:
        record = json.loads(line)
        if "machine" in record:
            if "spark" not in record:
                machines.append(record)
            continue
        key = record["case"], record["engine"]
        if key[0] not in known:
            continue
        if record["run"] == 0:
            sets[key] = []
        sets[key].append(record)
    figures: dict[str, dict[str, dict[str, float | str]]] = {}
    for (case, engine), samples in sets.items():
        figures.setdefault(case, {})[engine] = summary(samples)
    return figures, machines


def summary(samples: list[dict[str, Any]]) -> dict[str, float | str]:
    """Medians over processes, or a word instead."""
    last = samples[-1]
    if "skipped" in last:
        return {"word": "–"}
    if "failed" in last:
        return {"word": "fails"}
    out: dict[str, float | str] = {
        # Of writers side by side only the time counts in which all of them were ready.
        "first": statistics.median(s["answer"].get("took_s", s["first_s"]) for s in samples),
        "cpu": statistics.median(s["cpu_s"] for s in samples),
        "peak": statistics.median(s["peak_mb"] - s["base_mb"] for s in samples),
        "version": str(last["engine_version"]),
    }
    again = [statistics.median(s["again_s"]) for s in samples if s["again_s"]]
    if again:
        out["again"] = statistics.median(again)
    if any("wrong" in s for s in samples):
        out["wrong"] = "wrong"
    return out


def cell(figure: dict[str, float | str] | None, kind: str, ours: dict[str, float | str] | None) -> str:
    """One cell: the figure, its ratio to ours, and a word if the answer was wrong."""
    if figure is None or "word" in figure:
        return str(figure["word"]) if figure else ""
    value = figure.get(kind)
    if not isinstance(value, float):
        return "–"
    text = f"{value:.0f}" if kind == "peak" else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"
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


def results(paths: list[Path]) -> list[str]:
    """What was taken without Spark; nothing if the files hold no such results."""
    figures, machines = read_samples(paths)
    if not figures:
        return []
    engines = [e for e in ORDER if any(e in by_engine for by_engine in figures.values())]
    versions = {e: f["version"] for by_engine in figures.values() for e, f in by_engine.items() if "version" in f}
    host = machines[-1]["machine"]
    lines = [
        f"From {', '.join(f'`results/{p.name}`' for p in paths)}, {machines[-1]['at'][:10]}: "
        f"{host['cpus']} CPUs ({host['cpu']}), {host['memory_mb'] // 1024} GB, Linux {host['kernel']}, Python {host['python']}; "
        + ", ".join(f"{e} {versions[e]}" for e in engines if e in versions)
        + ".",
    ]
    for kind in TITLES:
        lines += table(figures, engines, kind)
    return lines


def main(arguments: list[str]) -> None:
    """Writes the tables between the markers of the README; a part of which there are no results stays."""
    paths = [Path(a) for a in arguments] or [max((BENCHES / "results").glob("*.jsonl"), key=lambda p: p.stat().st_mtime)]
    readme = BENCHES / "README.md"
    for name, lines in {"results": results(paths), "spark": spark.lines(paths)}.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if lines:
            before, _, rest = readme.read_text().partition(begin)
            readme.write_text(before + "\n".join([begin, *lines, end]) + rest.partition(end)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
