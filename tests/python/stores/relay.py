"""A relay that spoils one request to a store. Tests use it to spoil each request of an operation in
turn.
"""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from stores.programs import HOST

#: `unheard`: the request never arrives. `unanswered` and `reset`: the store handles the request,
#: but the connection is closed or reset before the answer. `cut`: the answer breaks off in its
#: body.
Fault = Literal["unheard", "unanswered", "reset", "cut"]


class Relay:
    """Spoils the request with the number `at`, counted from 0, if there is one."""

    def __init__(self, store_port: int, fault: Fault, at: int) -> None:
        self._store_port = store_port
        self._fault = fault
        self._at = at
        self._lock = threading.Lock()
        self._count = 0
        self.port = 0
        #: The method and path of the spoilt request.
        self.spoilt: str | None = None

    @contextmanager
    def run(self) -> Iterator[Relay]:
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                relay._exchange(self)

            do_PUT = do_POST = do_HEAD = do_DELETE = do_GET

        server = ThreadingHTTPServer((HOST, 0), Handler)
        server.daemon_threads = True
        self.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def _exchange(self, client: BaseHTTPRequestHandler) -> None:
        body = client.rfile.read(int(client.headers.get("content-length", 0)))
        fault = self._fault_of(f"{client.command} {client.path}")
        if fault != "unheard":
            status, headers, answer = self._ask_store(client, body)
            if fault is None or (fault == "cut" and answer):
                client.send_response_only(status)
                for name, value in headers:
                    client.send_header(name, value)
                client.end_headers()
                client.wfile.write(answer if fault is None else answer[: len(answer) // 2])
        if fault == "reset":
            client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            socket.close(client.connection.detach())
        client.close_connection = fault is not None

    def _fault_of(self, request: str) -> Fault | None:
        with self._lock:
            number, self._count = self._count, self._count + 1
        if number != self._at:
            return None
        self.spoilt = request
        return self._fault

    def _ask_store(self, client: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        store = http.client.HTTPConnection(HOST, self._store_port, timeout=10)
        try:
            # The headers stay unchanged, because the client signed them, including the host.
            store.putrequest(client.command, client.path, skip_host=True, skip_accept_encoding=True)
            for name, value in client.headers.items():
                store.putheader(name, value)
            store.endheaders(body)
            response = store.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            store.close()
