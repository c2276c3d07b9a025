"""The examples of README.md and of pages in docs/ print what the pages show, word for word (except times)."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools"))
import readme  # noqa: E402  (of that folder)

# And the data sets that they use.
PAGES = {"README.md": [], "docs/tour.md": ["spam-b", "news", "usps", "vowel"], "docs/python.md": [], "docs/your-data.md": []}
assert set(PAGES) == set(readme.PAGES)


def without_times(text: str) -> str:
    """Also without the columns' width, which follows from the longest number, of seconds in a slow run."""
    text = re.sub(r"^seconds .*$", "seconds", text, flags=re.M)
    return re.sub(r" {2,}", "  ", text) if "\nseconds\n" in text else text


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_print_what_the_page_shows(page, tmp_path, data):
    for name in PAGES[page]:
        data(name)
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "build").symlink_to(ROOT / "build")
    commands = []

    def run(command):
        commands.append(command)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        lines = done.stderr.splitlines()  # but of kinds of columns, which the page shows as look says them
        told = [line for line in lines if not line.startswith("  ") and not line.endswith("(quorate look says more):")]
        assert done.returncode == 0 and not told, (command[-1], told)
        return done.stdout

    assert without_times(readme.rewritten(page, run)) == without_times((ROOT / page).read_text())
    assert commands


def test_the_demo_ends_as_the_readme_shows(data):
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


def test_two_workers_share_a_stream_as_the_page_on_machines_shows(program, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    block = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/scale.md").read_text(), re.M | re.S)[0]
    block = block.replace("127.0.0.1:8717", f"127.0.0.1:{port}").replace("quorate serve", f"quorate serve --port {port}")
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-ec", f"trap 'kill %1' EXIT\n{block}"], cwd=tmp_path, env={**os.environ, "PATH": path},
                          capture_output=True, text=True, timeout=100)
    assert done.stderr.count("9,850 lines judged") == 2, done.stderr
    label = {e["id"]: e["label"] for e in map(json.loads, (tmp_path / "emails.jsonl").open())}
    for name in ("first", "second"):
        said = [json.loads(line) for line in (tmp_path / f"{name}.predictions").open()]
        right = sum(label[one["id"]] == one["label"] for one in said)
        assert right > 0.9 * len(said), f"{name}: {right} of {len(said)}"
