"""./run cluster on little data: it shows a stream judged by workers, of which one is killed, and ends all that it started."""
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from broker import jars
from program import CHECKOUT, GUARD, wait_until

pytestmark = pytest.mark.full
BUILD = CHECKOUT / "build"


@pytest.fixture
def cluster(program):
    """Starts it; its output is a file, as nobody reads a pipe meanwhile."""
    jars()
    pytest.importorskip("confluent_kafka", reason="no confluent-kafka: pip install -r tests/kafka/requirements.txt")
    started = []

    def start(out: Path, *args: str) -> subprocess.Popen:
        with open(out, "wb") as pipe:
            started.append(subprocess.Popen([sys.executable, CHECKOUT / "tools/cluster.py", *args], stdout=pipe, stderr=pipe,
                                            env=os.environ | {"QUORATE": str(program)}, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait(GUARD)


def rests() -> list[str]:
    """Folders of the demo, and programs that work in one."""
    found = [str(path) for path in BUILD.glob("cluster-*")]
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if "cluster-" in os.readlink(path / "cwd") and str(BUILD) in os.readlink(path / "cwd"):
                found.append(path.name)
        except OSError:  # it ended, or is another user's
            pass
    return found


def test_a_short_stream_is_judged_to_its_end(cluster, tmp_path):
    out = tmp_path / "out"
    process = cluster(out, "--messages", "60000", "--users", "200", "--labels", "100")  # the last 10,000 come after the labels
    assert process.wait(GUARD) == 0, out.read_text()
    said = out.read_text()
    assert "worker-3 is killed" in said and "worker-3 is started again" in said, said
    assert "60,000 messages in" in said and "Lag: 0." in said, said
    assert int(re.search(r"Labels: (\d+) of 100", said)[1]) <= 100, said
    assert float(re.search(r"predictions: ([0-9.]+) %", said)[1]) > 70, said


def test_ctrl_c_ends_all(cluster, tmp_path):
    out = tmp_path / "out"
    before = set(rests())
    process = cluster(out, "--messages", "2000", "--users", "20", "--keep", "--no-kill", "--workers", "1")
    wait_until(lambda: "Ctrl-C ends it" in out.read_text() or process.poll() is not None, "the end of the stream")
    assert "killed" not in out.read_text()
    process.send_signal(signal.SIGINT)
    assert process.wait(GUARD) == 0, out.read_text()
    assert set(rests()) <= before
