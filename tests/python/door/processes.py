"""The processes and threads in which a call can run. The parent process has written before."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lakebed as lb
from door import deeds
from door.case import Case


@dataclass(frozen=True)
class Answer:
    """The outcome of a call: the rows of a read, whether a write was committed, or an error."""

    #: The error as `Class: message`, and the names of its class and base classes.
    error: str = ""
    classes: tuple[str, ...] = ()
    #: The classes of the error's causes.
    causes: tuple[str, ...] = ()
    rows: list[dict[str, Any]] | None = None
    committed: bool | None = None


def act(case: Case, path: str, table: lb.Table | bytes | None, done: Callable[[], Any] | None = None) -> Answer:
    """Makes the call in this process, or calls `done` instead, and records the result or the error.
    The handle may be a pickle.
    """
    try:
        handle = pickle.loads(table) if isinstance(table, bytes) else table
        found = done() if done else deeds.run(case.deed, path, handle, case.source)
    except BaseException as error:
        classes = tuple(one.__qualname__ for one in type(error).__mro__)
        text = f"{type(error).__name__}: {error}"
        return Answer(
            text if type(error).__module__ != "builtins" or str(error) else traceback.format_exc(), classes, _causes(error)
        )
    return Answer(rows=found if isinstance(found, list) else None, committed=getattr(found, "committed", None))


def _causes(error: BaseException) -> tuple[str, ...]:
    found = []
    cause = error.__cause__ or error.__context__
    while cause is not None:
        found.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return tuple(found)


def _thread(case: Case, path: str, table: lb.Table | None) -> Answer:
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(act(case, path, table)))
    thread.start()
    thread.join()
    return answers[0]


def _pickled(case: Case, path: str, table: lb.Table | None) -> Answer:
    return act(case, path, pickle.dumps(table))


def _fork(case: Case, path: str, table: lb.Table | None) -> Answer:
    """Makes the call in a forked child. The child has a copy of the memory of this process,
    including the state of random numbers.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(act(case, path, table), pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(told) if status == 0 else Answer(f"the forked child died: status {status}", ("Died",))


def _spawn(case: Case, path: str, table: lb.Table | None) -> Answer:
    """Makes the call in a new process, which gets the handle as a pickle."""
    done = subprocess.run(
        [sys.executable, "-m", "door.processes"],
        input=pickle.dumps((case, path, pickle.dumps(table))),
        capture_output=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    if done.returncode:
        return Answer(f"the child died: {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}", ("Died",))
    answer: Answer = pickle.loads(done.stdout)
    return answer


WAYS: dict[str, Callable[[Case, str, lb.Table | None], Answer]] = {
    "same": act,
    "thread": _thread,
    "pickled": _pickled,
    "fork": _fork,
    "spawn": _spawn,
}

if __name__ == "__main__":
    given = pickle.loads(sys.stdin.buffer.read())
    from door import processes

    sys.stdout.buffer.write(pickle.dumps(processes.act(*given)))
    sys.stdout.buffer.flush()
