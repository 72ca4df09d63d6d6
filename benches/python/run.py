"""Runs the benches.

`python -m benches.python.run [--engines A,B] [--cases PATTERN,..] [--name NAME]`

Each measurement is a process of its own on a warm page cache, and it is repeated. Each is one line
of `benches/results/NAME.jsonl`, with the facts of the machine in the line before them. An engine
that is not installed is skipped with a note. An answer that differs from the generator's is
reported, and the run then ends with exit code 1. Engines take turns, because the speed of the
machine changes by the minute. Each sample waits until other processes leave the CPUs idle, and is
taken again if they become busy during the sample. `noise` in its line is the number of CPUs that
they used. `LAKEBED_BENCH_SCALE=0.01` makes the cases that change rows or rewrite files small
(`dml_data.py`, `layout_data.py`), to try them.
"""

import argparse
import datetime
import fnmatch
import importlib.util
import json
import os
import platform
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cases import Case, all_cases
from .engines import ENGINES
from .tables import SEED, root

RESULTS = Path(__file__).parents[1] / "results"
RUNS = 3
RUNS_IF_SLOW = 2
SLOW_S = 2.0
MODULES = {
    "spark": "pyspark",
    "limit": "pyarrow",
    "lakebed_unflushed": "lakebed",
    "lakebed_singly": "lakebed",
    "deltalake_collected": "deltalake",
    "deltalake_spilling": "deltalake",
}


def machine() -> dict[str, Any]:
    """Returns the facts of the machine on which the figures depend."""
    models = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    ]
    memory_kb = next(
        int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal")
    )
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "cpu": models[0] if models else "",
        "memory_mb": memory_kb // 1024,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def machine_name(facts: dict[str, Any]) -> str:
    """Returns the facts that the tables show."""
    return f"{facts['cpus']} CPUs ({facts['cpu']}), {facts['memory_mb'] // 1024} GB, Python {facts['python']}"


def warm(table: str) -> None:
    """Reads the table's files once, so that the page cache holds them."""
    for path in (root() / table).rglob("*") if table else []:
        if path.is_file():
            path.read_bytes()


def busy_seconds() -> float:
    """Returns the CPU time of the whole machine so far."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def wait_for_quiet(max_noise: float, patience_s: float) -> None:
    """Waits until other processes leave the CPUs idle for half a second, or until the time limit."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(0.5)
        if busy_seconds() - before <= max_noise / 2:
            return
        time.sleep(2)


def sample(engine: str, case: Case, time_limit_s: float) -> dict[str, Any]:
    """Runs one process. `noise` is the number of CPUs that other processes used during the sample."""

    def own() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    busy, mine, start = busy_seconds(), own(), time.perf_counter()
    # A killed process leaves its files, and a JVM may still write.
    with tempfile.TemporaryDirectory(dir=root(), ignore_cleanup_errors=True) as scratch:
        command = [sys.executable, "-m", "benches.python.measure", engine, case.operation, case.table, scratch]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=time_limit_s,
                check=False,
                cwd=RESULTS.parents[1],
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {time_limit_s:g} s"}
        others, took = busy_seconds() - busy - (own() - mine), time.perf_counter() - start
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"failed": f"exit code {done.returncode}: {done.stderr[-300:]}"}
    # Results are published, so messages must not name the folder of the tables.
    record: dict[str, Any] = json.loads(lines[-1].replace(f"{root()}/", ""))
    noise = (others - record.pop("children_cpu_s", 0.0)) / took
    return record | {"noise": round(max(noise, 0.0), 2)}


def quiet_sample(engine: str, case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Returns a sample without disturbance, or the least disturbed of several."""
    best: dict[str, Any] = {}
    for _ in range(options.tries):
        wait_for_quiet(options.max_noise, options.patience)
        record = sample(engine, case, options.time_limit)
        if "first_s" not in record or record["noise"] <= options.max_noise:
            return record
        if not best or record["noise"] < best["noise"]:
            best = record
    return best


def turns(engine: str, case: Case, wanted: dict[str, Any], options: argparse.Namespace, out: Any) -> Iterator[bool]:
    """Takes the samples of one engine in one case, one for each step. Yields whether the answer is
    right.
    """
    firsts: list[float] = []
    while len(firsts) < (options.runs or (RUNS_IF_SLOW if firsts and firsts[0] > SLOW_S else RUNS)):
        record = quiet_sample(engine, case, options)
        wrong = {k: [v, wanted[k]] for k, v in record.get("answer", {}).items() if k in wanted and v != wanted[k]}
        record |= {"wrong": wrong} if wrong else {}
        out.write(json.dumps({"engine": engine, "case": case.name, "run": len(firsts)} | record) + "\n")
        out.flush()
        if "first_s" not in record:
            print(f"{case.name:40} {engine:10} {record.get('skipped') or record.get('failed')}", flush=True)
            return
        firsts.append(record["first_s"])
        yield not wrong
    note = f"  WRONG {wrong}" if wrong else ""
    figures = f"{statistics.median(firsts):9.4f} s  {record['peak_mb']:7.0f} MB  noise {record['noise']:.2f}"
    print(f"{case.name:40} {engine:10} {figures}{note}", flush=True)


def run_case(engines: list[str], case: Case, options: argparse.Namespace, out: Any) -> bool:
    """Takes all samples of a case. Returns false if an answer differs.

    Engines take turns, so that the other load of the machine affects all of them. Their order is
    drawn for each turn, because memory that was unused for a while is slower to allocate than
    memory that the process before has just freed.
    """
    wanted, right = case.answer(), True
    running = {engine: turns(engine, case, wanted, options, out) for engine in engines}
    draw = random.Random(SEED)
    while running:
        for engine in draw.sample(list(running), len(running)):
            answer = next(running[engine], None)
            if answer is None:
                del running[engine]
            else:
                right = answer and right
    return right


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benches.python.run", description=__doc__)
    parser.add_argument(
        "--engines",
        default="lakebed,lakebed_unflushed,deltalake,duckdb,polars,limit",
        help=f"of {', '.join(ENGINES)}; spark is slow and off by default",
    )
    parser.add_argument("--cases", default="*", help="patterns, e.g. 'open/*,plan_*/1m_adds*'")
    parser.add_argument(
        "--name",
        default=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        help="of the results file; lines are appended",
    )
    parser.add_argument("--max-noise", type=float, default=0.2, help="CPUs that other processes may use during a sample")
    parser.add_argument("--tries", type=int, default=3, help="how often a disturbed sample is taken again")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for a quiet moment before each sample")
    parser.add_argument(
        "--runs", type=int, help=f"processes for each figure; default {RUNS}, or {RUNS_IF_SLOW} where the first is slow"
    )
    parser.add_argument("--time-limit", type=float, default=600, help="seconds for one process")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    options = parser.parse_args()
    cases = [c for c in all_cases() if any(fnmatch.fnmatch(c.name, p) for p in options.cases.split(","))]
    if options.list:
        print("\n".join(c.name for c in cases))
        return 0
    tables = {c.table for c in cases if c.table} | ({"lineitem"} if "spark" in options.engines.split(",") else set())
    missing = sorted(t for t in tables if not (root() / f"{t}.expected.json").exists())
    if missing:
        print(f"missing below {root()}: {', '.join(missing)}")
        print(
            "make them with: python -m benches.python.tables; python -m benches.python.lineitem; python -m benches.python.dml_data; "
            "python -m benches.python.layout_data"
        )
        return 2
    engines = []
    for engine in options.engines.split(","):
        if importlib.util.find_spec(MODULES.get(engine, engine)):
            engines.append(engine)
        else:
            print(f"{engine}: not installed, skipped")
    RESULTS.mkdir(exist_ok=True)
    # This also ends the sample and deletes its files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    right = True
    with (RESULTS / f"{options.name}.jsonl").open("a") as out:
        at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        out.write(json.dumps({"machine": machine(), "at": at}) + "\n")
        for case in cases:
            warm(case.table)
            right = run_case(engines, case, options, out) and right
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
