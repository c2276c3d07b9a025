"""A running `quorate serve` for the tests of its clients, with examples that a word decides."""
import os
import re
import signal
import subprocess
from pathlib import Path

from program import GUARD

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("QUORATE", str(ROOT / "build/release/quorate"))


def rows(begin, end):
    return [{"id": f"m{i}", "task": "ann", "text": "win money now" if i % 2 else "lunch at noon"} for i in range(begin, end)]


def label(question):
    return "spam" if question["fields"][0]["value"].startswith("win") else "ham"


class Running:
    def __init__(self, folder, port=0, *, new=("--labels", "20"), labels=("--positive", "spam", "--negative", "ham")):
        new = [] if (folder / "desk").exists() else [*labels, *new]
        command = [PROGRAM, "serve", "--dir", folder / "desk", "--port", str(port), *new]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert re.match(r"http://", self.url)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(GUARD)
        self.process.stdout.close()
