"""The Spark part of `benches/README.md`, from raw results: sums over each suite, then query by query.

Of each case and engine the last set of samples counts. Sums are over the cases that every engine of the table answered.
"""

import json
import math
import statistics
from pathlib import Path
from typing import Any

from ..run import machine_name
from .engines import ENGINES
from .tpc import SUITES

BAR = "parquet"
TITLES = {
    "tpch": "TPC-H, SF1",
    "tpch_doubles": "TPC-H with doubles, SF1",
    "tpcds": "TPC-DS, SF1",
    "load": "Load of lineitem, SF1",
}

Samples = dict[str, dict[str, list[dict[str, Any]]]]


def read_samples(paths: list[Path]) -> Samples:
    """Samples per case and engine, each with what is known of its machine and session."""
    samples: Samples = {}
    session: dict[str, Any] = {}
    for record in (json.loads(line) for path in paths for line in path.read_text().splitlines()):
        if "machine" in record:
            session = record if "spark" in record else session
        elif record["case"].partition("/")[0] in SUITES:
            of_engine = samples.setdefault(record["case"], {})
            if record["run"] == 0 or record["engine"] not in of_engine:
                of_engine[record["engine"]] = []
            of_engine[record["engine"]].append(record | {"session": session})
    return samples


def seconds(records: list[dict[str, Any]]) -> list[float]:
    """The times of a set of samples."""
    return [record["took_s"] for record in records if "took_s" in record]


def cell(records: list[dict[str, Any]] | None, bar: list[dict[str, Any]] | None) -> str:
    """The minimum, its ratio to the bar, and a word if something was wrong."""
    if not records:
        return ""
    if not (took := seconds(records)):
        return "fails"
    text = f"{min(took):.2f}"
    if bar and records is not bar and (of_bar := seconds(bar)):
        text += f" ({min(took) / min(of_bar):.2f})"
    word = next((f" **{word}**" for word in ("wrong", "duckdb") if any(word in record for record in records)), "")
    return text + (" **fails**" if len(took) < len(records) else "") + word


def suite_lines(suite: str, samples: Samples, engines: list[str]) -> list[str]:
    """The table of one suite, its sums first."""
    cases = [case for case in samples if case.startswith(f"{suite}/")]
    engines = [e for e in engines if any(e in samples[c] for c in cases)]
    timed = [c for c in cases if not c.endswith("/open")]
    common = [c for c in timed if all(seconds(samples[c].get(e, [])) for e in engines)]
    session = samples[cases[-1]][engines[-1]][-1]["session"]
    spark = session["spark"]
    lines = [
        "",
        f"### {TITLES[suite]}: seconds (in brackets: × {BAR})",
        "",
        f"{session['at'][:10]}: {machine_name(session['machine'])}; "
        f"`local[{spark['cores']}]`, {spark['memory']} for each driver.",
        "",
    ]
    lines += [f"| case | {' | '.join(engines)} |", "|---|" + "---:|" * len(engines)]
    for word, of in (("minima", min), ("medians", statistics.median)):
        sums = {e: math.fsum(of(seconds(samples[c][e])) for c in common) for e in engines}
        ratios = [f"{s:.1f}" + (f" ({s / sums[BAR]:.3f})" if BAR in sums and e != BAR else "") for e, s in sums.items()]
        lines.append(f"| sum of {word}, {len(common)} of {len(timed)} | {' | '.join(ratios)} |")
    for case in cases:
        row = [cell(samples[case].get(e), samples[case].get(BAR)) for e in engines]
        lines.append(f"| {case.partition('/')[2]} | {' | '.join(row)} |")
    return lines


def lines(paths: list[Path]) -> list[str]:
    """All of it; nothing if the files hold no such results."""
    samples = read_samples(paths)
    if not samples:
        return []
    engines = [e for e in ENGINES if any(e in of_engine for of_engine in samples.values())]
    versions = {r["engine"]: r["engine_version"] for of in samples.values() for records in of.values() for r in records}
    out = [f"From {', '.join(f'`results/{p.name}`' for p in paths)}: " + ", ".join(f"{e}: {versions[e]}" for e in engines) + "."]
    for suite in SUITES:
        if any(case.startswith(f"{suite}/") for case in samples):
            out += suite_lines(suite, samples, engines)
    return out
