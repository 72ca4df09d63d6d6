"""One measurement, in a process of its own: `python -m benches.python.measure ENGINE OPERATION TABLE` prints one JSON object.

Wall time, CPU time and the peak of memory are those of the first call after the import; then the same call is repeated.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .engines import ENGINES, NoSuchOperation

REPEATS = 5
REPEAT_BUDGET_S = 1.5


def memory_mb(processes: list[int], field: str) -> float:
    """`VmRSS` now or `VmHWM`, the peak, summed over the processes."""
    total = 0
    for process in processes:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))
    return total / 1024


def forget_peak(processes: list[int]) -> None:
    """Starts `VmHWM` anew."""
    for process in processes:
        Path(f"/proc/{process}/clear_refs").write_text("5")


def cpu_seconds(processes: list[int]) -> float:
    """CPU time of the processes so far."""
    own = time.process_time()
    ticks = 0
    for process in processes[1:]:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return own + ticks / os.sysconf("SC_CLK_TCK")


def measure(engine_name: str, operation: str, table: str) -> dict[str, Any]:
    """Runs the case and returns the record."""
    engine = ENGINES[engine_name]()
    start, cpu = time.perf_counter(), time.process_time()
    version = engine.load()
    took, worked = time.perf_counter() - start, time.process_time() - cpu
    record: dict[str, Any] = {"engine_version": version}
    if operation == "import":
        peak = memory_mb(engine.processes(), "VmHWM")
        return record | {"first_s": took, "cpu_s": worked, "again_s": [], "base_mb": 0.0, "peak_mb": peak, "answer": {}}

    from .cases import Case, calls
    from .tables import root

    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        todo = calls(engine, Case(operation, table), Path(scratch))
        call = next(todo)
        record["base_mb"] = memory_mb(engine.processes(), "VmRSS")
        forget_peak(engine.processes())
        cpu, start = cpu_seconds(engine.processes()), time.perf_counter()
        result = call()
        record["first_s"] = time.perf_counter() - start
        record["cpu_s"] = cpu_seconds(engine.processes()) - cpu
        record["peak_mb"] = memory_mb(engine.processes(), "VmHWM")
        record["again_s"] = again = list[float]()
        while len(again) < REPEATS and sum(again) < REPEAT_BUDGET_S and record["first_s"] < 5 * REPEAT_BUDGET_S:
            if (following := next(todo, None)) is None:
                break
            start = time.perf_counter()
            result = following()
            again.append(time.perf_counter() - start)
    answer = result if isinstance(result, dict) else engine.digest(result)
    return record | {"answer": {k: v for k, v in answer.items() if v is not None}}


def main(arguments: list[str]) -> None:
    """Prints the record, or the reason why there is none."""
    engine, operation, table = arguments
    try:
        record = measure(engine, operation, table)
    except (NoSuchOperation, ImportError) as missing:
        record = {"skipped": str(missing)}
    except Exception as failure:
        record = {"failed": f"{type(failure).__name__}: {failure}"[:500]}
    print(json.dumps(record), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
