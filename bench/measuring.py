"""What the scripts that measure share."""
import datetime
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any


def origin() -> str:
    """When, of which code and on which machine figures were measured; a page of figures begins with it."""
    root = Path(__file__).resolve().parent
    commit = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty", "--exclude=*"], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.DEVNULL, check=False).stdout.strip() or "unknown"
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return (f"Measured on {datetime.date.today()} at commit {commit} with {cpu}, {os.cpu_count()} cores; code changed since is\n"
            f"not in these figures (`git log {commit.removesuffix('-dirty')}.. -- src apps python` lists it).")


def forked(run: Callable[[], object], report: Path) -> str:
    """What `run` prints in a process of its own: as a command would, without the start of Python."""
    child = os.fork()
    if child == 0:
        with report.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        status = 1
        try:
            run()
            status = 0
        finally:
            os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise RuntimeError(report.read_text())
    return report.read_text()


def axes() -> Any:
    """Of a new picture."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "quorate", "lines.markersize": 5}  # the same file from the same numbers
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(7, 4.4), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.87")
    return ax


def save(ax: Any, path: Path) -> None:
    """Writes the picture, its key inside, as SVG."""
    ax.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(path, format="svg", metadata={"Date": None})
