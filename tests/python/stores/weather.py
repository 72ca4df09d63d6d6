"""Simulates bad networks: a proxy before a store (toxiproxy), and storms that cut requests, lose
answers and slow down both. A seed chooses the disturbances.

`run` makes a proxy. `Proxy.stormy` draws changing disturbances, and `Proxy.suffers` makes a fixed
one.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stores.programs import HOST, Program, serve

# Otherwise toxiproxy logs each step of each connection.
_QUIET = (("LOG_LEVEL", "error"),)
TOXIPROXY = Program("toxiproxy", "github.com/Shopify/toxiproxy/v2/cmd/server", "v2.5.0", _QUIET)
_API_SECONDS = 10
_STORM_SECONDS, _CALM_SECONDS = (0.2, 1.0), (0.2, 1.0)

#: A toxic of toxiproxy: its type, its stream (requests go upstream, answers downstream), its
#: attributes.
Toxic = tuple[str, str, dict[str, int]]


#: The disturbances of a storm. Times are in milliseconds.
DISTURBANCES: dict[str, Callable[[random.Random], Toxic]] = {
    "request cut": lambda dice: ("limit_data", "upstream", {"bytes": dice.randrange(4_000)}),
    "request reset": lambda dice: ("reset_peer", "upstream", {"timeout": dice.randrange(50)}),
    "answer cut": lambda dice: ("limit_data", "downstream", {"bytes": dice.randrange(1_000)}),
    "answer reset": lambda dice: ("reset_peer", "downstream", {"timeout": dice.randrange(50)}),
    "answer lost": lambda dice: ("timeout", "downstream", {"timeout": dice.randrange(50, 300)}),
    "request late": lambda dice: ("latency", "upstream", {"latency": dice.randrange(20, 200), "jitter": 20}),
    "answer late": lambda dice: ("latency", "downstream", {"latency": dice.randrange(20, 200), "jitter": 20}),
}


class Proxy:
    """A proxy of a store that can be disturbed. Every change of the disturbances cuts all
    connections.
    """

    def __init__(self, api: _Api, upstream: str) -> None:
        self._api = api
        self._upstream = upstream
        self._changes = 0
        made = api.ask("POST", "/proxies", {"name": self._name, "listen": f"{HOST}:0", "upstream": upstream})
        self._listen = made["listen"]

    @property
    def port(self) -> int:
        return int(self._listen.rpartition(":")[2])

    @property
    def _name(self) -> str:
        return f"store-{self._changes}"

    @contextmanager
    def suffers(self, *toxics: Toxic, toxicity: float = 1.0) -> Iterator[None]:
        """Disturbs this share of the connections."""
        self._change(toxics, toxicity)
        try:
            yield
        finally:
            self._change((), 0)

    def _change(self, toxics: Sequence[Toxic], toxicity: float) -> None:
        # The proxy is replaced, because toxiproxy hangs when a toxic is removed while connections
        # are busy.
        before = self._name
        self._changes += 1
        self._api.ask(
            "POST", "/proxies", {"name": self._name, "listen": self._listen, "upstream": self._upstream, "enabled": False}
        )
        for index, (kind, stream, attributes) in enumerate(toxics):
            toxic = {"name": str(index), "type": kind, "stream": stream, "toxicity": toxicity, "attributes": attributes}
            self._api.ask("POST", f"/proxies/{self._name}/toxics", toxic)
        self._api.ask("DELETE", f"/proxies/{before}")
        self._api.ask("POST", f"/proxies/{self._name}", {"enabled": True})

    @contextmanager
    def stormy(self, seed: int) -> Iterator[Counter[str]]:
        """Disturbs and pauses by turns, chosen by the seed. Counts how often each disturbance came."""
        seen: Counter[str] = Counter()
        is_over = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            weather = pool.submit(self._storm, random.Random(seed), seen, is_over)
            try:
                yield seen
            finally:
                is_over.set()
        weather.result()

    def _storm(self, dice: random.Random, seen: Counter[str], is_over: threading.Event) -> None:
        while not is_over.wait(dice.uniform(*_CALM_SECONDS)):
            names = dice.sample(sorted(DISTURBANCES), dice.randint(1, 2))
            seen.update(names)
            with self.suffers(*(DISTURBANCES[name](dice) for name in names), toxicity=dice.uniform(0.3, 1)):
                is_over.wait(dice.uniform(*_STORM_SECONDS))


@contextmanager
def run(folder: Path, store_port: int, seed: int) -> Iterator[Proxy]:
    """Runs a proxy before a store on this machine. The seed chooses the connections that a
    disturbance hits.
    """

    def arguments(port: int) -> list[str]:
        return ["-host", HOST, "-port", str(port), "-seed", str(seed)]

    with serve(TOXIPROXY, arguments, folder / "toxiproxy.log") as port:
        yield Proxy(_Api(port), f"{HOST}:{store_port}")


@dataclass(frozen=True)
class _Api:
    """The HTTP API of toxiproxy."""

    port: int

    def ask(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_API_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            raise RuntimeError(f"toxiproxy: {method} {path}: {response.status} {answer!r}")
        return json.loads(answer) if answer else None
