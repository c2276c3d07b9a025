"""The benchmark measures what it says, and the comparison fails when it should. Nothing here asserts a time."""
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def bench() -> Path:
    path = CHECKOUT / "build/release/bench/quorate_bench_learners"
    if not os.access(path, os.X_OK):
        pytest.skip(f"no program at {path}; make it with ./run bench --json OUT --examples 1")
    return path


def run(bench, *args):
    return subprocess.run([bench, *map(str, args)], capture_output=True, text=True, timeout=300, check=False)


def test_every_learner_has_a_row_that_says_what_was_measured(bench, program):
    done = run(bench, "--examples", 20)
    assert done.returncode == 0, done.stderr
    machine, *rows = (json.loads(line) for line in done.stdout.splitlines())
    assert set(machine["machine"]) >= {"read_gb_per_s", "copy_gb_per_s", "random_line_ns", "latency_ns", "gflops",
                                       "eigen_rank_update_784_ns"}
    assert all(value > 0 for value in machine["machine"].values())
    for row in rows:
        assert row["ns_per_example"] > 0 and row["ns_per_nonzero"] > 0 and row["model_bytes"] > 0, row
        assert row["share"] > 0 and row["ceiling_ns_per_example"] > 0 and row["seed"] > 0, row
        assert row["examples"] >= 20 and row["tasks"] >= 1 and row["nonzeros"] > 0, row
        assert row["bound"] in {"memory", "places", "flops", "eigen"}, row
    names = [row["scenario"] for row in rows]
    assert len(set(names)) == len(names)
    described = json.loads(subprocess.run([program, "describe", "--json"], capture_output=True, check=True).stdout)
    learners = {learner["name"] for learner in described}
    assert learners == {name.split(",")[0].split("(")[0] for name in names if not name.startswith("second order")}


def test_only_and_repeat_choose_what_runs(bench):
    done = run(bench, "--only", "^perceptron, text, K=10$", "--examples", 10, "--repeat", 2)
    assert [json.loads(line).get("scenario") for line in done.stdout.splitlines()] == [None] + ["perceptron, text, K=10"] * 2


@pytest.mark.parametrize("args", [["--only"], ["--exmaples", "3"], ["--examples", "three"], ["--only", "("]])
def test_wrong_arguments_are_refused(bench, args):
    done = run(bench, *args)
    assert done.returncode == 2 and "quorate_bench_learners" in done.stderr


def write(path: Path, rows: dict) -> Path:
    lines = [{"machine": {"gflops": 1}}] + [{"scenario": name, "ns_per_example": ns} for name, all_ns in rows.items() for ns in all_ns]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def compare(*paths):
    return subprocess.run([sys.executable, CHECKOUT / "tools/bench_compare.py", *paths], capture_output=True, text=True, check=False)


def test_the_comparison_fails_for_what_is_slower_beyond_its_tolerance(tmp_path):
    base = write(tmp_path / "base", {"amlc, words, K=1000": [100, 90, 5000], "perceptron, text, K=10": [100]})
    same = compare(base, write(tmp_path / "same", {"amlc, words, K=1000": [101], "perceptron, text, K=10": [120], "new": [7]}))
    assert same.returncode == 0 and "SLOWER" not in same.stdout and "1.010" in same.stdout and "new" in same.stdout
    slow = compare(base, write(tmp_path / "slow", {"amlc, words, K=1000": [120], "perceptron, text, K=10": [120]}))
    assert slow.returncode == 1 and [line.split()[-1] for line in slow.stdout.splitlines()].count("SLOWER") == 1
    gone = compare(base, write(tmp_path / "gone", {"amlc, words, K=1000": [100]}))
    assert gone.returncode == 1 and "GONE" in gone.stdout


def test_what_is_no_benchmark_is_refused(tmp_path):
    good = write(tmp_path / "good", {"a": [1]})
    for text in ("", "no json\n", '{"scenario": "a"}\n', "[]\n"):
        (tmp_path / "bad").write_text(text)
        done = compare(good, tmp_path / "bad")
        assert done.returncode == 2 and "bad" in done.stderr and "Traceback" not in done.stderr
    assert compare(good, tmp_path / "missing").returncode == 2


def test_the_texts_of_the_server_benchmark_are_words():
    spec = importlib.util.spec_from_file_location("serve", CHECKOUT / "bench/serve.py")
    serve = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(serve)
    text = serve.text(random.Random(1))
    assert len(text) > 900 and all(re.fullmatch("[a-z]{2,}", word) for word in text.split())  # others are no words to quorate
