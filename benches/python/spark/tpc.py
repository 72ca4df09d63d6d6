"""Runs the benches of lakebed in Spark.

`python -m benches.python.spark.tpc [--suite tpch,tpcds,load] [--engines A,B] [--tries N]`

Every engine has a process of its own with the same settings. A round runs each case on each engine,
one after the other. Engines take turns at being first, so that a disturbance of the machine affects
all of them. The first round warms the JVMs. Each sample is one line of
`benches/results/NAME.jsonl`. Its answer is compared with that of the first engine and with
DuckDB's. An answer that differs ends the run with exit code 1.
"""

import argparse
import datetime
import fnmatch
import importlib.util
import json
import shutil
import signal
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..run import RESULTS, machine, wait_for_quiet, warm
from ..tables import root
from . import answers, data, queries
from .engines import CONF, CORES, ENGINES
from .processes import Worker

LOADS = {"lineitem": False, "lineitem_cached": True}
SUITES = (*data.SUITES, "load")


class Run:
    """The state of a run: the running engines, the requests, and the results."""

    def __init__(self, options: argparse.Namespace, out: Any, scratch: Path) -> None:
        self.options, self.out, self.scratch = options, out, scratch
        self.workers: dict[str, Worker] = {}
        self.took: dict[tuple[str, str], list[float]] = {}
        self.references: dict[str, Any] = {}
        self.right = True

    def worker(self, engine: str, suite: str) -> Worker:
        """Returns the engine with the tables of the suite open. Starts it again if it has ended."""
        if engine not in self.workers or not self.workers[engine].alive:
            self.workers[engine] = Worker(engine, self.options.memory)
            if suite in data.SUITES:
                paths = {name: str(path) for name, path in data.tables(suite).items()}
                self.note(
                    engine, f"{suite}/open", self.workers[engine].ask({"do": "open", "tables": paths}, self.options.timeout)
                )
        return self.workers[engine]

    def note(self, engine: str, case: str, record: dict[str, Any]) -> None:
        """Writes one line of the results, and prints one for the user."""
        runs = self.took.setdefault((case, engine), [])
        # Results are published, so messages must not name the folder of the tables.
        line = json.dumps(
            {"engine": engine, "case": case, "run": len(runs), "engine_version": self.workers[engine].version} | record
        )
        self.out.write(line.replace(f"{root()}/", "") + "\n")
        self.out.flush()
        runs.append(record.get("took_s", float("nan")))
        text = (
            f"{record['took_s']:8.3f} s  noise {record['noise']:.2f}"
            if "took_s" in record
            else f"fails: {record['failed'][:300]}"
        )
        wrong = "".join(f"  {word.upper()} {record[word]}" for word in ("wrong", "duckdb") if word in record)
        print(f"{case:24} {engine:16} {text}{wrong}", flush=True)

    def query(self, engine: str, suite: str, name: str, text: str) -> None:
        """Takes one sample of one query."""
        case, into = f"{suite}/{name}", self.scratch / "answer.arrow"
        worker = self.worker(engine, suite)
        wait_for_quiet(self.options.max_noise, self.options.patience)
        record = worker.ask({"do": "query", "text": text, "into": str(into)}, self.options.timeout)
        if "took_s" in record:
            ours = answers.read(into)
            if wrong := answers.difference(ours, self.references.setdefault(case, ours)):
                record["wrong"] = wrong
            elif wrong := answers.difference(ours, answers.of_duckdb(root() / suite, text)):
                record["duckdb"] = wrong
            self.right = self.right and not wrong
        self.note(engine, case, record)

    def load(self, engine: str, name: str) -> None:
        """Takes one sample of a load."""
        into = self.scratch / "loaded"
        worker = self.worker(engine, "load")
        wait_for_quiet(self.options.max_noise, self.options.patience)
        source = data.tables("tpch")["lineitem"]
        request = {"do": "load", "source": str(source), "cached": LOADS[name], "into": str(into)}
        record = worker.ask(request, self.options.timeout)
        if "took_s" in record:
            record |= answers.loaded(into)
            wanted = answers.loaded(source)
            if wrong := {key: [record[key], wanted[key]] for key in ("rows", "sums") if record[key] != wanted[key]}:
                record["wrong"], self.right = str(wrong), False
        self.note(engine, f"load/{name}", record)
        shutil.rmtree(into, ignore_errors=True)


def cases_of(suite: str, patterns: list[str]) -> dict[str, str]:
    """Returns the chosen cases of a suite: names, and the texts of the queries."""
    every = dict.fromkeys(LOADS, "") if suite == "load" else queries.texts(suite)
    return {name: text for name, text in every.items() if any(fnmatch.fnmatch(f"{suite}/{name}", p) for p in patterns)}


def run_suite(suite: str, engines: list[str], run: Run) -> None:
    """Runs all rounds of a suite."""
    cases = cases_of(suite, run.options.cases.split(","))
    for table in data.tables("tpch" if suite == "load" else suite):
        warm(f"{'tpch' if suite == 'load' else suite}/{table}")
    for round_number in range(run.options.tries):
        for number, (name, text) in enumerate(cases.items()):
            first = (round_number + number) % len(engines)
            # The answers are compared with those of the first engine, so it runs first once.
            for engine in engines if round_number == 0 else engines[first:] + engines[:first]:
                if suite == "load":
                    run.load(engine, name)
                else:
                    run.query(engine, suite, name, text)
    summary(suite, list(cases), engines, run)


def summary(suite: str, names: list[str], engines: list[str], run: Run) -> None:
    """Prints the sums over the cases that all engines answered."""
    ran = [n for n in names if all(min(run.took.get((f"{suite}/{n}", e), [0.0])) > 0 for e in engines)]
    for engine in engines:
        samples = [[t for t in run.took[f"{suite}/{n}", engine] if t == t] for n in ran]
        low, middle = sum(map(min, samples)), sum(map(statistics.median, samples))
        print(
            f"{suite}: {len(ran)} of {len(names)} cases, {engine:16} {low:8.2f} s of minima, {middle:8.2f} s of medians",
            flush=True,
        )


def parse() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="python -m benches.python.spark.tpc", description=__doc__)
    parser.add_argument("--suite", default="tpch,tpcds,load", help=f"of {', '.join(SUITES)}")
    parser.add_argument(
        "--engines", default="parquet,delta,lakebed", help=f"of {', '.join(ENGINES)}; the first is what others are held against"
    )
    parser.add_argument("--cases", default="*", help="patterns, e.g. 'tpch/q0*,load/*'")
    parser.add_argument("--tries", type=int, default=4, help="rounds")
    parser.add_argument("--memory", default="4g", help="of each JVM; all live at the same time. TPC-DS needs 3g")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one query")
    parser.add_argument("--max-noise", type=float, default=0.2, help="CPUs that other processes may use before a sample")
    parser.add_argument("--patience", type=float, default=10, help="seconds to wait for a quiet moment before each sample")
    now = datetime.datetime.now(datetime.timezone.utc)
    parser.add_argument("--name", default=now.strftime("%Y-%m-%d"), help="of the results file; lines are appended")
    return parser.parse_args()


def main() -> int:
    """Runs the benches of the command line."""
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # This also ends the engines.
    suites, engines = options.suite.split(","), options.engines.split(",")
    missing = [s for s in suites if not data.tables("tpch" if s == "load" else s)]
    if missing or not importlib.util.find_spec("pyspark"):
        print(
            f"make the tables first: python -m benches.python.spark.data {' '.join(missing)}"
            if missing
            else "pyspark is not installed"
        )
        return 2
    RESULTS.mkdir(exist_ok=True)
    with ExitStack() as stack:
        out = stack.enter_context((RESULTS / f"{options.name}.jsonl").open("a"))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spark-run-", dir=root())))
        at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        session = {"cores": CORES, "memory": options.memory, "conf": CONF}
        out.write(json.dumps({"machine": machine(), "at": at, "spark": session}) + "\n")
        run = Run(options, out, scratch)
        for suite in suites:
            try:
                run_suite(suite, engines, run)
            finally:  # The next suite also begins with cold engines.
                for worker in run.workers.values():
                    worker.stop()
                run.workers.clear()
    return 0 if run.right else 1


if __name__ == "__main__":
    sys.exit(main())
