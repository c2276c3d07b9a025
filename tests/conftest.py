"""What the tests share: the program, prepared data sets, the reference learners (`from reference import ...`)."""
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = str(Path(__file__).resolve().parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)

from program import CHECKOUT, Program  # noqa: E402  (of this folder)

# Who is started by nohup, or in the background of a script, inherits signals that are ignored, and so would each program here.
signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(ignored, signal.SIG_DFL)


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
        folder.parent.mkdir(exist_ok=True)
        with open(folder.parent / ".lock", "w") as lock:  # the tests run in several processes
            fcntl.flock(lock, fcntl.LOCK_EX)
            return prepared(name, folder, environment)

    def prepared(name: str, folder: Path, environment: dict[str, str]) -> Path:
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
