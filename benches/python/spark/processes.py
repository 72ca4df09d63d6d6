"""The process of an engine, seen from the runner: its start, its requests, and the CPU time of the
process and its children.

The runner calls `Worker.ask`. All engines of a run are started, and only one works at a time.
"""

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ..run import busy_seconds
from ..tables import root

TICKS = os.sysconf("SC_CLK_TCK")
CHECKOUT = Path(__file__).parents[3]


def cpu_seconds(leader: int) -> float:
    """Returns the CPU time so far of a process and all its descendants, including finished ones."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # The process has ended.
            continue
        process = int(path.parent.name)
        children.setdefault(int(fields[1]), []).append(process)
        ticks[process] = sum(map(int, fields[11:15]))
    todo, total = [leader], 0
    while todo:
        process = todo.pop()
        total += ticks.get(process, 0)
        todo += children.get(process, [])
    return total / TICKS


class Worker:
    """A running engine, until `stop`."""

    def __init__(self, engine: str, memory: str) -> None:
        self.engine = engine
        self.scratch = Path(tempfile.mkdtemp(prefix=f"spark-{engine}-", dir=root()))
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(CHECKOUT / "python"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
            "PYSPARK_PYTHON": sys.executable,
        }
        self._errors = (self.scratch / "stderr").open("w")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benches.python.spark.worker", engine, memory, str(self.scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            cwd=CHECKOUT,
            env=environment,
            start_new_session=True,
        )
        answer: dict[str, Any] = {}
        try:
            answer = self._answer(120)
        finally:
            if "ready" not in answer:
                last = (self.scratch / "stderr").read_text()[-2_000:]
                self.stop()
        if "ready" not in answer:
            raise RuntimeError(f"{engine} does not start: {answer} {last}")
        self.version = str(answer["ready"])

    @property
    def alive(self) -> bool:
        """Returns whether the process runs."""
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Returns the result of a request, with its CPU time and the number of CPUs that other
        processes used during the request.
        """
        busy, mine, start = busy_seconds(), cpu_seconds(self._process.pid), time.perf_counter()
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            record = self._answer(timeout_s)
        except BrokenPipeError:
            record = {"failed": "the process ended"}
        took_s = time.perf_counter() - start
        if "took_s" in record:
            record["cpu_s"] = round(cpu_seconds(self._process.pid) - mine, 2)
            record["noise"] = round(max(busy_seconds() - busy - record["cpu_s"], 0.0) / took_s, 2)
        return record

    def stop(self) -> None:
        """Ends the process and its children, including the JVM. Then deletes their files."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._signal(number):
                break
        self._errors.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _signal(self, number: int) -> bool:
        """Returns whether all processes have ended within some seconds after the signal."""
        for tenth in range(200):
            try:
                os.killpg(self._process.pid, number if tenth == 0 else 0)
            except ProcessLookupError:
                return True
            self._process.poll()
            time.sleep(0.1)
        return False

    def _answer(self, timeout_s: float) -> dict[str, Any]:
        assert self._process.stdout
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            if not ready.select(timeout_s):
                self.stop()
                return {"failed": f"more than {timeout_s:.0f} s"}
        line = self._process.stdout.readline()
        if not line:
            return {"failed": "the process ended"}
        record: dict[str, Any] = json.loads(line)
        return record
