"""tools/check_layout.py: a source needs its test at the mirrored path, not just one of the same name."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("git") is None, reason="the rule reads the list of files from git")
def test_a_test_at_another_path_does_not_count(tmp_path):
    def layout() -> list[str]:
        done = subprocess.run([sys.executable, "tools/check_layout.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
        return [line for line in done.stdout.splitlines() if "budget" in line]

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name, text in {
        "tools/check_layout.py": (ROOT / "tools/check_layout.py").read_text(),
        "cmake/public_headers.txt": "\n\n",
        "src/quorate/registry.cc": "",
        "src/quorate/queries/budget.cc": "",
        "tests/algorithms/budget_test.cc": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert layout() == ["src/quorate/queries/budget.cc: no tests/queries/budget_test.cc"]
    (tmp_path / "tests/queries").mkdir()
    (tmp_path / "tests/algorithms/budget_test.cc").rename(tmp_path / "tests/queries/budget_test.cc")
    assert layout() == []
