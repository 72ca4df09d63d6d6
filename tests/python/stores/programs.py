"""Go programs that serve tests. They are built into the cache once per version and run on free
ports.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corpus.places import cache_dir

HOST = "127.0.0.1"
_READY_SECONDS = 30
_STOP_SECONDS = 10
_PORTS_TO_TRY = 5


@dataclass(frozen=True)
class Program:
    """A Go program in one version."""

    name: str
    #: The argument of `go install` before the `@`.
    package: str
    version: str
    #: Additional variables of its environment.
    environment: tuple[tuple[str, str], ...] = ()

    def installed(self) -> Path:
        """Returns the executable. The first call on a machine builds it, which takes a minute or
        two and prints a message to stderr.
        """
        folder = cache_dir() / "servers"
        binary = folder / "bin" / f"{self.name}-{self.version}"
        if not binary.exists():
            binary.parent.mkdir(parents=True, exist_ok=True)
            with (folder / "install.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not binary.exists():
                    self._build(binary)
        return binary

    def _build(self, binary: Path) -> None:
        began = time.monotonic()
        print(f"stores: go builds {self.name} {self.version}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=binary.parent) as scratch:
            environment = {**os.environ, "GOBIN": scratch, "CGO_ENABLED": "0"}
            command = ["go", "install", "-trimpath", "-ldflags=-s -w", f"{self.package}@{self.version}"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
            (built,) = Path(scratch).iterdir()
            built.rename(binary)
        print(f"stores: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def serve(program: Program, arguments: Callable[[int], list[str]], log: Path) -> Iterator[int]:
    """Runs a server on a free port, which `arguments` turns into arguments, and ends the server at
    the end. The output of the server goes to `log`.
    """
    server, port = _start(program, arguments, log)
    try:
        yield port
    finally:
        server.terminate()
        try:
            server.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _start(program: Program, arguments: Callable[[int], list[str]], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    binary = program.installed()
    for _ in range(_PORTS_TO_TRY):
        port = _free_port()
        with log.open("wb") as output:
            command = [str(binary), *arguments(port)]
            environment = {**os.environ, **dict(program.environment)}
            server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            if _becomes_ready(server, port):
                return server, port
        except BaseException:
            server.kill()
            server.wait()
            raise
        # Probably another process got the same port in between.
    raise RuntimeError(f"{program.name} ended at once, {_PORTS_TO_TRY} times:\n{log.read_text(errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _becomes_ready(server: subprocess.Popen[bytes], port: int) -> bool:
    """Waits until the server answers HTTP. Returns false if the server ends instead."""
    until = time.monotonic() + _READY_SECONDS
    while server.poll() is None:
        connection = http.client.HTTPConnection(HOST, port, timeout=1)
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
            return server.poll() is None
        except OSError:
            if time.monotonic() > until:
                raise RuntimeError(f"nothing answers on port {port} after {_READY_SECONDS} s") from None
            time.sleep(0.02)
        finally:
            connection.close()
    return False
