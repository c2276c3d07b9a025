"""The program that this package carries, and how its answers, errors and progress come to Python."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any


def program() -> str:
    """Path of the program `quorate`: what the environment variable QUORATE names; else the one in this environment's
    folder of scripts, where the package puts it; else the first on the PATH. Raises FileNotFoundError."""
    named = os.environ.get("QUORATE")
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise FileNotFoundError(f"the environment variable QUORATE names {named!r}; expected a program")
        return os.path.abspath(named)
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    for folder in [*folders, None]:
        found = shutil.which("quorate", path=folder)
        if found:
            return os.path.abspath(found)
    raise FileNotFoundError(
        f"no program quorate in {folders[0]} or on the PATH; expected the one this package installs "
        "(pip install --force-reinstall quorate), or its path in the environment variable QUORATE")


def run(command: str, arguments: Sequence[str] = (), *, progress: bool = False,
        explain: Callable[[str], str] = lambda message: message) -> str:
    """Runs `quorate COMMAND ARGUMENTS` and returns what it wrote to standard output.

    `progress`: show a bar, by tqdm; the command must know `--progress lines`. `explain` puts the program's messages in
    the caller's terms. What a run that ended well had to say becomes a warning.

    Raises ValueError (bad data, bad usage), MemoryError (the memory given does not do), OSError (files), ImportError
    (no tqdm), each with the program's message; KeyboardInterrupt if either was interrupted, and then the program has
    ended, too."""
    bar = _Bar(command) if progress else None
    wanted = ["--progress", "lines"] if progress else []
    child = subprocess.Popen([program(), command, *wanted, *arguments], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stderr is not None
    results = _Reader(child.stdout)
    said: list[str] = []
    try:
        for line in child.stderr:
            text = line.decode("utf-8", "replace").rstrip("\n")
            if bar is not None and text.startswith('{"fraction"'):
                bar.show(json.loads(text))
            else:
                said.append(explain(text.removeprefix("quorate: ")))
        results.join()
        code = child.wait()
    finally:
        _end(child)
        results.join()
        child.stdout.close()
        child.stderr.close()
        if bar is not None:
            bar.close()
    if code != 0:
        raise _error(code, "\n".join(said) or f"quorate {command} ended with exit code {code}")
    for text in said:
        warnings.warn(text, stacklevel=_frames_of_ours())
    return results.text()


def _frames_of_ours() -> int:
    """How far up the caller of this package is, for a warning."""
    frame, count = sys._getframe(1), 1
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        frame, count = frame.f_back, count + 1
    return count


class _Reader(threading.Thread):
    """Empties a pipe while another is read."""

    def __init__(self, pipe: Any):
        super().__init__(daemon=True)
        self._pipe = pipe
        self._bytes = b""
        self.start()

    def run(self) -> None:
        self._bytes = self._pipe.read()

    def text(self) -> str:
        return self._bytes.decode("utf-8", "replace")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the program if it still runs. A Ctrl-C at a terminal reaches it as well, and it is given the time to end by
    itself, as a second signal would end it on the spot."""
    try:
        for patience in (0.3, 5.0):
            try:
                child.wait(patience)
                return
            except subprocess.TimeoutExpired:
                child.terminate()
    finally:
        child.kill()  # nothing, if it has ended
        child.wait()


def _error(code: int, message: str) -> BaseException:
    if code == 130:
        return KeyboardInterrupt(message)
    if message.startswith("the memory limit") or "bad_alloc" in message:
        return MemoryError(message)
    if code in (1, 2):
        return ValueError(message)
    if code == 3:
        return OSError(message)
    return RuntimeError(f"the program was ended by signal {-code}" if code < 0 else message)


class _Bar:
    def __init__(self, command: str):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError("progress=True needs tqdm: pip install 'quorate[progress]'") from None
        self._bar = tqdm(total=100, desc=command, bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}")

    def show(self, line: dict[str, Any]) -> None:
        """`line`: {"fraction": from 0 to 1 or None, "examples": n}, as `--progress lines` writes it."""
        if line["fraction"] is not None:
            self._bar.n = max(self._bar.n, 100 * line["fraction"])
        self._bar.set_postfix_str(f"{line['examples']:,} examples")

    def close(self) -> None:
        self._bar.close()
