"""What the tests share: the program, prepared data sets, the reference learners (`from reference import ...`)."""
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
TESTS = str(CHECKOUT / "tests")
if TESTS not in sys.path:
    sys.path.append(TESTS)


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

    def __call__(self, *args, stdin: bytes = b"", cwd: Path | None = None, timeout: float = 60) -> Result:
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


@pytest.fixture(scope="session")
def checkout() -> Path:
    return CHECKOUT


@pytest.fixture(scope="session")
def program() -> Path:
    path = Path(os.environ.get("QUORATE") or CHECKOUT / "build/release/quorate").resolve()
    if not os.access(path, os.X_OK):
        pytest.fail(f"no program at {path}; make it with ./run build, or set QUORATE to its path")
    return path


@pytest.fixture(scope="session")
def quorate_in(program):
    """`quorate_in(folder)`: the program run in that folder."""
    return lambda folder: Program(program, folder)


@pytest.fixture
def quorate(quorate_in, tmp_path):
    running = quorate_in(tmp_path)
    yield running
    running.close()


@pytest.fixture(scope="session")
def data():
    """`data("news")`: the folder of a prepared set. A complete set is taken as it is; otherwise it is prepared now from the
    folder of originals. Without that folder the test is skipped, or fails where CI=true."""
    def folder_of(name: str) -> Path:
        folder = CHECKOUT / "data" / name
        environment = os.environ | {"PYTHONPATH": str(CHECKOUT / "tools")}
        whole = subprocess.run([sys.executable, "-c", "import sys; from pathlib import Path; from datasets.output import "
                                "complete; sys.exit(not complete(Path(sys.argv[1])))", folder], env=environment, check=False)
        if whole.returncode == 0:
            return folder
        mirror = Path(os.environ.get("QUORATE_DATA") or CHECKOUT.parent / "shared" / "data")
        if not mirror.is_dir():
            reason = (f"data set {name} missing: neither prepared in {folder} nor its originals in {mirror} "
                      "(environment QUORATE_DATA, or ../shared/data beside the checkout)")
            pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
        made = subprocess.run([sys.executable, "-m", "datasets", name, "--mirror", mirror, "--out", folder.parent],
                              env=environment, capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"data set {name} cannot be prepared: {made.stderr}"
        return folder
    return folder_of
