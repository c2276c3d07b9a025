"""Requests from Label Studio: webhooks and the ML backend protocol."""

from __future__ import annotations

import base64
import hmac
import ipaddress
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from quorate.client import Client, ServerError
from quorate.labelstudio.common import META, Json, Log, SetupError
from quorate.labelstudio.predictions import of_tasks

_LONGEST_BODY = 64 << 20  # bytes of a request to the listener


class Listener:
    """Receives requests of Label Studio: webhooks, as hints to start a pass, and those of the ML backend protocol. Bodies are
    never logged: they carry an access token."""

    def __init__(
        self, address: str, hint: Callable[[], None], log: Log, *, server: Callable[[], Client] | None, secret: str | None,
        password: str | None = None,
    ) -> None:  # fmt: skip
        host, port = address_of(address)
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                listener._handle(self, b"")

            def do_POST(self) -> None:
                try:
                    length = int(self.headers.get("Content-Length") or 0)
                except ValueError:
                    length = -1
                if not 0 <= length <= _LONGEST_BODY:
                    self.close_connection = True
                    listener._reply(self, 413, {"detail": "the body is too long"})
                    return
                listener._handle(self, self.rfile.read(length))

        self._hint = hint
        self._log = log
        self._server = server
        self._secret = secret
        self._password = password
        try:
            self._http = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise SetupError(f"{address}: cannot listen there: {error.strerror or error}") from None
        self._http.daemon_threads = True
        port = self._http.server_address[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    @staticmethod
    def _reply(to: BaseHTTPRequestHandler, status: int, body: Json) -> None:
        text = json.dumps(body).encode()
        to.send_response(status)
        if status == 401:
            to.send_header("WWW-Authenticate", 'Basic realm="quorate"')
        to.send_header("Content-Type", "application/json")
        to.send_header("Content-Length", str(len(text)))
        to.end_headers()
        to.wfile.write(text)

    def _handle(self, to: BaseHTTPRequestHandler, body: bytes) -> None:
        path = to.path.split("?")[0].rstrip("/") or "/"
        try:
            status, reply = self._answer(to, path, body)
        except (ConnectionError, ServerError, SetupError, ValueError, LookupError, TypeError, AttributeError) as error:
            bad = not isinstance(error, ConnectionError | ServerError)
            status, reply = (400 if bad else 503), {"detail": type(error).__name__ if bad else str(error)}
            self._log("failed", f"{to.command} {path}: {reply['detail']}", path=path, status=status)
        try:
            self._reply(to, status, reply)
        except OSError:
            pass  # Label Studio waits only one second for some replies

    def _answer(self, to: BaseHTTPRequestHandler, path: str, body: bytes) -> tuple[int, Json]:
        if path == "/webhook":  # comes without a password to a backend; it only starts a pass
            if self._secret is not None and not hmac.compare_digest(to.headers.get("X-Quorate") or "", self._secret):
                return 403, {"detail": "unknown sender"}
            self._hint()
            return 200, {}
        if self._server is None:
            return 404, {"detail": "no such path"}
        if path in ("/", "/health") and to.command == "GET":
            return 200, {"status": "UP", "model_class": "quorate"}
        if self._password is not None and not self._allowed(to.headers.get("Authorization") or ""):
            return 401, {"detail": "a password is needed"}
        if path == "/setup":
            return 200, {"model_version": META}
        if path == "/versions":
            return 200, {"versions": [META]}
        if path == "/predict" and to.command == "POST":
            return 200, {"results": of_tasks(self._server(), json.loads(body))}
        return 404, {"detail": "no such path"}

    def _allowed(self, given: str) -> bool:
        assert self._password is not None
        try:
            scheme, _, code = given.partition(" ")
            word = base64.b64decode(code, validate=True).partition(b":")[2]
        except ValueError:
            return False
        return scheme.lower() == "basic" and hmac.compare_digest(word, self._password.encode())


def address_of(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise SetupError(f"{text!r}: expected HOST:PORT, as 127.0.0.1:9090")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
