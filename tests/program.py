"""The program under test, for fixtures and tests, and how to wait for what it does."""
import array
import fcntl
import json
import os
import socket
import subprocess
import termios
import time
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
TESTS = str(CHECKOUT / "tests")
GUARD = 300  # seconds after which something hangs; long enough for the slowest machine, as no test depends on its speed


def one_in(n: int, *axes: Iterable) -> list:
    """All combinations of the values of some axes, as parameters of a test; those of ./run test are one in `n`, in which each value
    of an axis meets each of another (if the others have `n` values), the rest is marked `check`. A tuple on an axis is several
    parameters."""
    found = []
    for places in product(*(list(enumerate(axis)) for axis in axes)):
        values = [part for _, value in places for part in (value if isinstance(value, tuple) else (value,))]
        marks = [pytest.mark.check] if sum(place for place, _ in places) % n else []
        found.append(pytest.param(*values, marks=marks))
    return found


def wait_until(condition, what="what was expected"):
    """Returns the first true value of `condition()`; fails if there is none within GUARD."""
    end = time.monotonic() + GUARD
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} did not happen within {GUARD} s"
        time.sleep(0.005)
    return found


def threads(process) -> dict:
    """State and number of switches of each thread of a process; empty if it ended."""
    found = {}
    for task in Path(f"/proc/{process.pid}/task").glob("*"):
        try:
            lines = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        except OSError:  # it ended
            continue
        found[task.name] = lines["State"][0], lines["voluntary_ctxt_switches"], lines["nonvoluntary_ctxt_switches"]
    return found


def unread(pipe) -> int:
    """Bytes in a pipe that its reader has not taken."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def at_rest(process) -> bool:
    """Whether all threads slept at one moment with nothing left in the pipe to standard input: the program has done all it can
    with what was written there. A second thread shows that signals are handled."""
    before = threads(process)
    if process.stdin is not None and not process.stdin.closed and unread(process.stdin):
        return False
    return len(before) > 1 and all(state == "S" for state, *_ in before.values()) and threads(process) == before


def wait_for_rest(process):
    wait_until(lambda: at_rest(process) or process.poll() is not None, "rest")


def cpu_seconds(process) -> float:
    """CPU time of all threads of a process that runs."""
    after_name = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_work(process, seconds):
    """Until a process has used so much CPU time, or ended."""
    wait_until(lambda: process.poll() is not None or cpu_seconds(process) >= seconds, f"{seconds} s of work")


@contextmanager
def reserved_port():
    """A port that nobody else gets, for a server that starts more than once: bound here, but without listening."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@dataclass
class Result:
    """What a finished program left."""
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    def lines(self) -> list:
        return [json.loads(line) for line in self.out.splitlines()]


class Program:
    """Runs the program in a folder of its own: `quorate("simulate", "--data", "a.csv")`."""

    def __init__(self, path: Path, folder: Path):
        self.path = path
        self.folder = folder
        self.started: list[subprocess.Popen] = []

    def __call__(self, *args, stdin: bytes = b"", cwd: Path | None = None, timeout: float = GUARD) -> Result:
        done = subprocess.run([self.path, *map(str, args)], input=stdin, capture_output=True, timeout=timeout,
                              cwd=cwd or self.folder, check=False)
        # What is no UTF-8 becomes what no test takes for a printable character.
        return Result(done.returncode, *(pipe.decode(errors="surrogateescape") for pipe in (done.stdout, done.stderr)))

    def ok(self, *args, **kwargs) -> Result:
        """The same for a run that must end well."""
        result = self(*args, **kwargs)
        assert result.code == 0, f"exit code {result.code}: {result.err}"
        return result

    def start(self, *args, **kwargs) -> subprocess.Popen:
        """A running program with pipes (or what `kwargs` says); killed at the end of the test if it still runs."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen([self.path, *map(str, args)], cwd=self.folder, **(pipes | kwargs))
        self.started.append(process)
        return process

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass
            process.wait()
