"""Takes one measurement in a process of its own, and prints one JSON object.

`python -m benches.python.measure ENGINE OPERATION TABLE SCRATCH`

Wall time, CPU time, the peak of memory and the bytes of system calls are those of the first call
after the import. Then the same call is repeated. SCRATCH is a folder for the files that the case
writes.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from .engines import ENGINES, Engine, NoSuchOperation

REPEATS = 5
REPEAT_BUDGET_S = 1.5
#: A change of rows or of files is repeated at least once if it took less than this, because a JVM
#: is faster the second time.
CHANGE_REPEATED_S = 100


def memory_mb(processes: list[int], field: str) -> float:
    """Returns `VmRSS`, the memory now, or `VmHWM`, the peak, as a sum over the processes."""
    total = 0
    for process in processes:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))
    return total / 1024


def forget_peak(processes: list[int]) -> None:
    """Resets `VmHWM`."""
    for process in processes:
        Path(f"/proc/{process}/clear_refs").write_text("5")


def cpu_seconds(processes: list[int]) -> float:
    """Returns the CPU time of the processes so far."""
    own = time.process_time()
    ticks = 0
    for process in processes[1:]:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return own + ticks / os.sysconf("SC_CLK_TCK")


def transferred_mb(processes: list[int], field: str) -> float:
    """Returns the bytes that the processes got from `read` and similar calls (`rchar`), or passed
    to `write` (`wchar`): page cache, disk, and sockets.
    """
    total = 0
    for process in processes:
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))
    return total / 1e6


def is_repeated(first_s: float, again: list[float], is_change: bool) -> bool:
    """Returns whether the call is repeated."""
    if is_change and not again:
        return first_s < CHANGE_REPEATED_S
    return len(again) < REPEATS and sum(again) < REPEAT_BUDGET_S and first_s < 5 * REPEAT_BUDGET_S


def measure(engine: Engine, operation: str, table: str, scratch: Path) -> dict[str, Any]:
    """Runs the case and returns the record."""
    start, cpu = time.perf_counter(), time.process_time()
    version = engine.load()
    took, worked = time.perf_counter() - start, time.process_time() - cpu
    record: dict[str, Any] = {"engine_version": version}
    if operation == "import":
        peak = memory_mb(engine.processes(), "VmHWM")
        return record | {"first_s": took, "cpu_s": worked, "again_s": [], "base_mb": 0.0, "peak_mb": peak, "answer": {}}

    from .cases import Case, calls
    from .dml import is_change
    from .layout import is_layout
    from .life import is_life

    todo = calls(engine, Case(operation, table), scratch)
    call = next(todo)
    processes = engine.processes()
    record["base_mb"] = memory_mb(processes, "VmRSS")
    forget_peak(processes)
    read, written = transferred_mb(processes, "rchar"), transferred_mb(processes, "wchar")
    cpu, start = cpu_seconds(processes), time.perf_counter()
    result = call()
    record["first_s"] = time.perf_counter() - start
    record["cpu_s"] = cpu_seconds(processes) - cpu
    record["peak_mb"] = memory_mb(processes, "VmHWM")
    record["read_mb"] = round(transferred_mb(processes, "rchar") - read, 3)
    record["written_mb"] = round(transferred_mb(processes, "wchar") - written, 3)
    record["again_s"] = again = list[float]()
    rewrites = is_change(operation) or is_layout(operation) or is_life(operation)
    while is_repeated(record["first_s"], again, rewrites):
        if (following := next(todo, None)) is None:
            break
        start = time.perf_counter()
        result = following()
        again.append(time.perf_counter() - start)
    answer = result() if callable(result) else result if isinstance(result, dict) else engine.digest(result)
    return record | {"answer": {k: v for k, v in answer.items() if v is not None}}


def main(arguments: list[str]) -> None:
    """Prints the record, or the reason why there is none."""
    name, operation, table, scratch = arguments
    # If memory runs out, the kernel ends this process first.
    Path("/proc/self/oom_score_adj").write_text("1000")
    engine = ENGINES[name]()
    try:
        record = measure(engine, operation, table, Path(scratch))
        record["children_cpu_s"] = cpu_seconds(engine.processes()) - time.process_time()
    except (NoSuchOperation, ImportError) as missing:
        record = {"skipped": str(missing)}
    except Exception as failure:
        record = {"failed": f"{type(failure).__name__}: {failure}"[:500]}
    print(json.dumps(record), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
