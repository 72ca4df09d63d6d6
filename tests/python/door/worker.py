"""A child process that runs one case after the other. A case that kills the process is reported as
a failure, and a new process starts.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO, Any

from door.case import Case

#: The seconds after which a case is reported as hanging.
PATIENCE = 30


class Worker:
    """The parent's side of the child process. Start with `check`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._noise: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the worker)

    def check(self, case: Case) -> str:
        """Returns the failure of a case, or an empty text."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(pickle.dumps(case))
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE):
                self.close()
                return f"hangs for {PATIENCE} seconds"
        try:
            found: str = pickle.load(process.stdout)
        except EOFError:
            code = process.wait()
            self._process = None
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            self._noise.seek(0)
            return f"the process dies: {name}: {self._noise.read().decode(errors='replace')[-500:]}"
        return found

    def close(self) -> None:
        if self._process:
            # This also kills the children that the process forked.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._noise.seek(0)
        self._noise.truncate()
        return subprocess.Popen(
            [sys.executable, "-m", "door.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._noise,
            start_new_session=True,
            cwd=Path(__file__).parents[1],
            env={**os.environ, "RUST_BACKTRACE": "0"},
        )


def serve(inputs: Any, outputs: Any) -> None:
    from door import run

    while True:
        try:
            case = pickle.load(inputs)
        except EOFError:
            return
        try:
            found = run.check(case)
        except BaseException:
            found = f"afterwards: {traceback.format_exc()[-1500:]}"
        outputs.write(pickle.dumps(found))
        outputs.flush()


if __name__ == "__main__":
    # The output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)
