"""The program quorate-labelstudio."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from quorate.client import Client, ServerError
from quorate.labelstudio.bridge import Bridge
from quorate.labelstudio.common import Log, SetupError
from quorate.labelstudio.listener import Listener, address_of, is_loopback
from quorate.labelstudio.studio import LabelStudio, LabelStudioError, Webhook

_LONGEST_WAIT = 30.0  # seconds between two attempts while a server is down


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="quorate labelstudio",
        description="Let people answer in Label Studio what quorate serve asks.",
        epilog="The token of Label Studio is read from the environment, LABEL_STUDIO_TOKEN, or from --token-file; that of the "
        "server, of the role owner, from QUORATE_TOKEN. The password of the ML backend is that of LABEL_STUDIO_BACKEND_PASSWORD.",
    )
    parser.add_argument("--server", default="http://127.0.0.1:8717", help="address of quorate serve (default: %(default)s)")
    parser.add_argument("--url", required=True, help="address of Label Studio, as http://127.0.0.1:8080")
    parser.add_argument("--project", required=True, help="title or number of the project; a title that is new makes one")
    parser.add_argument("--token-file", metavar="FILE", help="file with Label Studio's token")
    parser.add_argument("--ahead", type=int, default=10, metavar="N", help="questions that wait in the project (default: 10)")
    parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS", help="time between two looks (default: 5)")
    parser.add_argument("--listen", metavar="HOST:PORT", help="take webhooks there, as hints to look now")
    parser.add_argument("--listen-url", metavar="URL", help="address of --listen as Label Studio reaches it")
    parser.add_argument("--ml-backend", metavar="HOST:PORT", help="serve the ML backend protocol there")
    parser.add_argument("--name", default="labelstudio", help="annotator under which questions are held (default: labelstudio)")
    parser.add_argument("--no-predictions", action="store_true", help="push questions without the learner's prediction")
    parser.add_argument("--once", action="store_true", help="make one pass and end")
    parser.add_argument("--json", action="store_true", help="log as JSON lines")
    options = parser.parse_args(argv)
    if not 1 <= options.ahead <= 1000:
        parser.error(f"--ahead {options.ahead}: expected 1 to 1000")
    if not 0.1 <= options.every <= 86_400:
        parser.error(f"--every {options.every}: expected 0.1 to 86400 seconds")
    if options.listen_url and not options.listen:
        parser.error("--listen-url needs --listen")
    return options


def _token(path: str | None) -> str:
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"--token-file {path}: cannot be read: {getattr(error, 'strerror', 'not text')}") from None
    else:
        token = os.environ.get("LABEL_STUDIO_TOKEN", "").strip()
    if not token:
        raise SetupError("no token of Label Studio: expected LABEL_STUDIO_TOKEN in the environment, or --token-file")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise SetupError("the token of Label Studio has spaces or other signs in it; expected one word")
    return token


class _Program:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._log = Log(options.json, sys.stdout)
        self._wake = threading.Event()
        self._webhook: Webhook | None = None
        self._secret = secrets.token_urlsafe(24)
        self._listeners: list[Listener] = []

    def run(self) -> int:
        o = self._options
        token = os.environ.get("QUORATE_TOKEN") or None
        studio = LabelStudio(o.url, _token(o.token_file))
        try:
            server = Client(o.server, token, patience=2.0)
        except ValueError as error:
            raise SetupError(f"--server: {error}") from None
        bridge = Bridge(studio, server, o.project, self._log, ahead=o.ahead, name=o.name, predictions=not o.no_predictions)
        try:
            self._listen(token)
            return self._look(bridge)
        finally:
            if self._webhook is not None:
                self._webhook.close()
            for listener in self._listeners:
                listener.close()

    def _listen(self, token: str | None) -> None:
        o = self._options
        if o.listen:
            self._listeners.append(Listener(o.listen, self._wake.set, self._log, server=None, secret=self._secret))
            self._listen_url = (o.listen_url or self._listeners[0].url).rstrip("/") + "/webhook"
        if o.ml_backend:
            password = os.environ.get("LABEL_STUDIO_BACKEND_PASSWORD") or None
            if password is None and not is_loopback(address_of(o.ml_backend)[0]):
                raise SetupError(
                    f"--ml-backend {o.ml_backend}: an address other than loopback needs a password; "
                    "expected LABEL_STUDIO_BACKEND_PASSWORD in the environment"
                )
            client = lambda: Client(o.server, token, patience=5.0)  # noqa: E731  (one for each thread)
            self._listeners.append(
                Listener(o.ml_backend, self._wake.set, self._log, server=client, secret=None, password=password)
            )
            url = self._listeners[-1].url
            self._log("backend", f"ML backend: {url}", url=url)

    def _look(self, bridge: Bridge) -> int:
        wait, down = 1.0, False
        while True:
            self._wake.clear()
            try:
                bridge.run_pass()
                self._register(bridge)
            except ServerError as error:
                if error.status != 503:
                    raise SetupError(f"the server at {self._options.server} refuses: {error}") from None
                trouble = f"the server at {self._options.server}: {error}"
            except LabelStudioError as error:
                if error.status in (401, 403):
                    raise SetupError(f"Label Studio at {self._options.url} refuses the token: {error}") from None
                if error.status == 404 and bridge.project_id is not None:
                    raise SetupError(f"Label Studio at {self._options.url}: the project is gone: {error}") from None
                trouble = f"Label Studio at {self._options.url}: {error}"
            except ConnectionError as error:
                trouble = str(error)
            else:
                if down:
                    self._log("up", "both servers answer again")
                wait, down = 1.0, False
                if self._options.once:
                    return 0
                self._wake.wait(self._options.every)
                continue
            if self._options.once:
                self._log("down", trouble, reason=trouble)
                return 3
            if not down:
                self._log("down", f"{trouble}; trying again until it answers, nothing is lost", reason=trouble)
            down = True
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _register(self, bridge: Bridge) -> None:
        if self._webhook is not None or not self._options.listen or self._options.once or bridge.project_id is None:
            return
        try:
            self._webhook = Webhook(bridge.studio, bridge.project_id, self._listen_url, self._secret)
        except LabelStudioError as error:
            if error.status == 401:
                raise
            raise SetupError(
                f"Label Studio refuses the webhook {self._listen_url}: {error}; of a private address it needs "
                "SSRF_PROTECTION_ENABLED=false, or leave --listen out"
            ) from None


def _interrupt(*_: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # the second one ends it at once
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """The program quorate-labelstudio. A signal may end it anywhere: a pass that is cut short does no harm."""
    program = _Program(_arguments(argv))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        return program.run()
    except KeyboardInterrupt:
        return 0
    except SetupError as error:
        print(f"quorate labelstudio: {error}", file=sys.stderr)
        return 2
