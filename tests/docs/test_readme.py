"""The examples of README.md do what it says, word for word (times apart)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCKS = re.findall(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)


def without_times(text: str) -> str:
    return re.sub(r"^seconds .*$", "seconds", text, flags=re.M)


def test_the_tour_prints_what_the_readme_says(tmp_path, data):
    data("spam-b")
    data("usps")
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "build").symlink_to(ROOT / "build")
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        command, _, expected = block.partition("\n")
        assert command.startswith("$ ")
        done = subprocess.run(["bash", "-c", command[2:]], cwd=tmp_path, capture_output=True, text=True)
        assert done.stderr == ""
        assert without_times(done.stdout) == without_times(expected), command


def test_the_demo_ends_as_the_readme_says(data):
    data("spam-b")
    done = subprocess.run(["python3", "tools/demo.py", "spam-b"], cwd=ROOT, capture_output=True, text=True, check=True)
    shown = re.findall(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[0]
    assert " ".join(shown.split()) in " ".join(done.stdout.split())


def test_the_demo_works_without_a_data_folder(tmp_path):
    """The digits that scikit-learn carries stand in."""
    pytest.importorskip("sklearn")
    prepare = [sys.executable, "-m", "datasets", "digits"]
    subprocess.run(prepare, cwd=ROOT, env={**os.environ, "PYTHONPATH": "tools"}, capture_output=True, check=True)
    done = subprocess.run(["python3", "tools/demo.py", "digits"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "What it means:" in done.stdout


def test_every_command_of_run_is_in_the_readme_or_its_help():
    helped = subprocess.run(["./run", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in re.findall(r"^  ([a-z]+)\)", (ROOT / "run").read_text(), re.M):
        assert f"./run {command}" in helped
