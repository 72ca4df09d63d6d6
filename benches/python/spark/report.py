"""The Spark part of `benches/README.md`, from raw results: one row for each suite.

The last set of samples of each case and engine counts. Sums are over the cases that every engine of
the table answered.
"""

import json
import math
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
    """Returns the samples of each case and engine, each with the facts of its machine and session."""
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
    """Returns the times of a set of samples."""
    return [record["took_s"] for record in records if "took_s" in record]


def ratio(records: list[dict[str, Any]], bar: list[dict[str, Any]]) -> float:
    """Returns the ratio of the least times of two sets of samples."""
    return min(seconds(records)) / min(seconds(bar))


def suite_row(suite: str, samples: Samples, engines: list[str]) -> str:
    """Returns the row of one suite: the sum of the minima, its ratio to plain Parquet, and the
    ratios of the single cases.
    """
    timed = [case for case in samples if case.startswith(f"{suite}/") and not case.endswith("/open")]
    here = [e for e in engines if any(e in samples[c] for c in timed)]
    common = [c for c in timed if all(seconds(samples[c].get(e, [])) for e in here)]
    cells = []
    for engine in engines:
        if engine not in here:
            cells.append("")
            continue
        sums = {e: math.fsum(min(seconds(samples[c][e])) for c in common) for e in (engine, BAR)}
        text = f"{sums[engine]:.1f}"
        if engine != BAR:
            of_cases = [ratio(samples[c][engine], samples[c][BAR]) for c in common]
            text += f" (× {sums[engine] / sums[BAR]:.2f}; {min(of_cases):.2f} to {max(of_cases):.2f})"
        if any(word in record for case in common for record in samples[case][engine] for word in ("wrong", "duckdb")):
            text += " **wrong**"
        cells.append(text)
    session = samples[common[-1]][here[-1]][-1]["session"]
    name = f"{TITLES[suite]}, {len(common)} of {len(timed)} cases, {session['at'][:10]}, {machine_name(session['machine'])}"
    return f"| {name} | {' | '.join(cells)} |"


def lines(paths: list[Path]) -> list[str]:
    """Returns the table, or nothing if the files have no such results."""
    samples = read_samples(paths)
    if not samples:
        return []
    engines = [e for e in ENGINES if any(e in of_engine for of_engine in samples.values())]
    versions = {r["engine"]: r["engine_version"] for of in samples.values() for records in of.values() for r in records}
    return [
        f"Versions: {', '.join(f'{engine}: {versions[engine]}' for engine in engines)}.",
        "",
        f"| suite | {' | '.join(engines)} |",
        "|---|" + "---:|" * len(engines),
        *(suite_row(suite, samples, engines) for suite in SUITES if any(case.startswith(f"{suite}/") for case in samples)),
    ]
