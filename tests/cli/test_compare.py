"""What `quorate compare` promises: the numbers of separate simulations, paired intervals, hard budgets, tables, pictures; and
the influence that `inspect` shows."""
import csv
import ctypes
import io
import math
import os
import re
import statistics
import sys
from html import unescape
from pathlib import Path

import pytest
import samples
from samples import without_seconds

from program import GUARD

LEARNERS = ["perceptron", "cmtl(query=margin(b=0.3))", "amlc", "peer(share=all)"]
SHOWN = ["accuracy", "balanced_accuracy", "f1", "auc", "labels", "mistakes", "seconds", "model_bytes"]
T_975 = {2: 4.302653, 3: 3.182446, 4: 2.776445, 9: 2.262157, 14: 2.144787, 24: 2.063899}  # by degrees of freedom
DATA = samples.rows(160, seed=3, noise=1.0)


@pytest.fixture(autouse=True)
def files(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(DATA))
    (quorate.folder / "test.csv").write_text(samples.csv(samples.rows(240, seed=3, noise=1.0)[160:]))


@pytest.fixture
def plot_program(monkeypatch, tmp_path_factory):
    """quorate-plot, installed beside Python."""
    pytest.importorskip("matplotlib")
    if not os.access(Path(sys.executable).parent / "quorate-plot", os.X_OK):
        pytest.skip("the package is not installed")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path_factory.getbasetemp() / "matplotlib"))


@pytest.fixture
def compare(quorate):
    """`compare` of these learners, as a finished run; `code` is what it must end with."""
    def run(*options, learners=("perceptron", "amlc"), code=0):
        named = [word for learner in learners for word in ("--learner", learner)]
        result = quorate("compare", "--data", "a.csv", *named, *options)
        assert result.code == code, result.err
        return result
    return run


def names(quorate):
    return sorted(path.name for path in quorate.folder.iterdir())


def words_of(svg):
    """Every text of the picture: matplotlib draws letters, and says in a comment which."""
    return [unescape(text) for text in re.findall(r"<!-- (.*?) -->", svg.read_text(), re.S)]


# ---- numbers

@pytest.mark.parametrize("split", [["--train-per-task", 12], ["--test", "test.csv"], []], ids=str)
def test_every_learner_gets_the_numbers_of_a_simulation_of_its_own(compare, quorate, split):
    options = [*split, "--runs", 4, "--seed", 5]
    document = compare(*options, "--json", learners=LEARNERS).json()
    assert (document["tasks"], document["features"], document["runs"]) == (4, 7, 4)
    assert document["compared_by"] == ("accuracy" if split else "progressive_f1")
    assert len(document["learners"]) == 4
    for learner, found in zip(LEARNERS, document["learners"]):
        alone = quorate.ok("simulate", "--data", "a.csv", "--learner", learner, *options, "--json").json()
        assert document["examples"] == alone["examples"]
        assert found["learner"] == alone["learner"] and found["label_budget"] is None
        for part in ("mean", "std", "runs"):
            assert without_seconds(found[part]) == without_seconds(alone[part])
        assert found["mean"]["seconds"] > 0 and found["mean"]["labels"] > 0
    assert len({tuple(without_seconds(found["mean"]).values()) for found in document["learners"]}) == 4


@pytest.mark.parametrize("runs", [3, 4, 5, 10, 15, 25])
def test_the_paired_difference_has_the_t_interval_of_the_runs_differences(compare, quorate, runs):
    options = ["--train-per-task", 12, "--runs", runs, "--json"]
    document = compare(*options, learners=LEARNERS).json()
    accuracy = [[one["accuracy"] for one in quorate.ok("simulate", "--data", "a.csv", "--learner", learner,
                                                       *options).json()["runs"]] for learner in LEARNERS]
    for mine, found in zip(accuracy, document["learners"]):
        differences = [b - a for a, b in zip(accuracy[0], mine)]
        mean, half = statistics.mean(differences), T_975[runs - 1] * statistics.stdev(differences) / math.sqrt(runs)
        assert found["against_first"] == pytest.approx(
            {"difference": mean, "low": mean - half, "high": mean + half}, rel=1e-3, abs=1e-12)
        mean, half = statistics.mean(mine), T_975[runs - 1] * statistics.stdev(mine) / math.sqrt(runs)
        assert found["interval"] == pytest.approx({"low": mean - half, "high": mean + half}, rel=1e-3)
    assert document["learners"][2]["against_first"]["high"] > document["learners"][2]["against_first"]["low"]


def test_one_run_has_a_difference_and_no_interval(compare):
    document = compare("--train-per-task", 12, "--json").json()
    means = [found["mean"]["accuracy"] for found in document["learners"]]
    found = document["learners"][1]["against_first"]
    assert found["difference"] == pytest.approx(means[1] - means[0], abs=1e-12) and means[0] != means[1]
    assert (found["low"], found["high"]) == (None, None)


def test_calibrated_probabilities_come_with_what_came_of_them(compare):
    options = ["--train-per-task", 20, "--runs", 3, "--json"]
    plain, calibrated = compare(*options, learners=["perceptron", "cohort"]).json()["learners"]
    assert plain["reliability"] is None
    bins = calibrated["reliability"]
    assert sum(bin["examples"] for bin in bins) == 3 * 80
    assert len({math.floor(10 * bin["probability"]) for bin in bins}) == len(bins) > 1
    expected = sum(bin["examples"] * abs(bin["probability"] - bin["positive"]) for bin in bins) / 240
    assert 0 < expected <= calibrated["mean"]["calibration_error"] + 1e-12  # bins of all runs together err less


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_compared_with_itself_differs_by_exactly_nothing(compare, learner):
    document = compare("--train-per-task", 12, "--runs", 4, "--json", learners=[learner, learner]).json()
    first, second = document["learners"]
    assert second["against_first"] == {"difference": 0, "low": 0, "high": 0}
    assert without_seconds(first) == without_seconds(second) and first["std"]["accuracy"] > 0


def test_the_number_of_threads_changes_nothing(compare):
    options = ["--train-per-task", 12, "--runs", 7, "--label-budgets", "10%,20", "--json"]
    one, two = (compare(*options, "--threads", n, learners=LEARNERS).json() for n in (1, 2))
    assert len(one["learners"]) == 8 and without_seconds(one) == without_seconds(two)


# ---- budgets

@pytest.mark.parametrize("split, examples", [(["--train-per-task", 12], 48), (["--test", "test.csv"], 160)], ids=str)
def test_label_budgets_are_hard_limits_and_shares_are_of_the_examples_to_learn_from(compare, quorate, split, examples):
    options = [*split, "--runs", 3]
    document = compare(*options, "--label-budgets", "10%,20%,7,0", "--json", learners=LEARNERS).json()
    limits = [round(examples / 10), round(examples / 5), 7, 0]
    assert [found["label_budget"] for found in document["learners"]] == limits * 4
    for n, found in enumerate(document["learners"]):
        alone = quorate.ok("simulate", "--data", "a.csv", "--learner", LEARNERS[n // 4], "--labels", limits[n % 4], *options,
                           "--json").json()
        assert without_seconds(found["mean"]) == without_seconds(alone["mean"])
        assert all(one["labels"] <= limits[n % 4] for one in alone["runs"])
    assert [found["mean"]["labels"] for found in document["learners"][:4]] == limits  # the one that always asks
    for n in range(4):  # against the first learner at the same budget
        mine, first = document["learners"][4 + n], document["learners"][n]
        assert mine["against_first"]["difference"] == pytest.approx(
            mine["mean"]["accuracy"] - first["mean"]["accuracy"], abs=1e-12)


def test_without_budgets_the_label_limit_holds_for_every_learner(compare):
    document = compare("--labels", 9, "--runs", 3, "--json", learners=LEARNERS).json()
    assert [found["mean"]["labels"] for found in document["learners"]] == [9] * 4


def test_a_label_limit_beside_budgets_is_kept_or_refused(quorate):
    result = quorate("compare", "--data", "a.csv", "--learner", "perceptron", "--labels", 5, "--label-budgets", "50", "--json")
    assert result.code == 2 or result.json()["learners"][0]["mean"]["labels"] <= 5


@pytest.mark.parametrize("budgets, word", [("5%,", ""), (",5%", ""), ("x", "x"), ("1%,-1", "-1"), ("1.5", "1.5"),
                                           ("101%", "101%"), ("nan%", "nan%"), ("inf", "inf"), ("1% ", "1% "), ("5%%", "5%%"),
                                           ("%", "%")])
def test_a_bad_budget_is_bad_usage_and_named(compare, budgets, word):
    result = compare("--label-budgets", budgets, code=2)
    assert result.out == "" and result.err.count("\n") == 1
    assert "--label-budgets" in result.err and f"'{word}'" in result.err and "expected" in result.err


@pytest.mark.parametrize("bad, word", [("perceptrons", "'perceptrons'"), ("amlc(d=1)", "'d'"), ("amlc(rows=two)", "two")])
def test_an_unknown_learner_is_bad_usage_before_anything_is_read(quorate, bad, word):
    result = quorate("compare", "--data", "none.csv", "--learner", "perceptron", "--learner", bad)
    assert (result.code, result.out) == (2, "") and result.err.count("\n") == 1
    assert word in result.err


def test_a_comparison_needs_a_learner_and_one_kind_of_output(compare):
    assert "--learner" in compare(learners=[], code=2).err
    for pair in (["--json", "--csv"], ["--csv", "--markdown"], ["--json", "--markdown"]):
        result = compare(*pair, code=2)
        assert result.out == "" and "expected one" in result.err


# ---- tables

def cells_of(document, learners):
    """What the tables show of each learner but its seconds, from the JSON document."""
    def shown(found, key):
        mean, std = found["mean"][key], found["std"][key]
        digits = 0 if key in ("labels", "mistakes", "model_bytes") else 4
        return f"{mean:.{digits}f} +- {std:.{digits}f}"

    out = []
    for learner, found in zip(learners, document["learners"]):
        p = found["against_first"]
        last = f"{p['difference']:+.4f} [{p['low']:+.4f}, {p['high']:+.4f}]" if out else ""
        out.append([learner, *(shown(found, key) for key in SHOWN if key != "seconds"), last])
    return out


def without_time(lines):
    at = lines[0].index("seconds")
    assert all(float(line[at]) >= 0 for line in lines[1:])
    return [line[:at] + line[at + 1:] for line in lines[1:]]


def test_csv_and_markdown_hold_the_numbers_of_the_json_document(compare):
    options = ["--train-per-task", 12, "--runs", 4]
    learners = [*LEARNERS, "amlc(query=margin(b=1), c=2)"]  # a comma, to be quoted
    expected = cells_of(compare(*options, "--json", learners=learners).json(), learners)
    as_csv = list(csv.reader(io.StringIO(compare(*options, "--csv", learners=learners).out)))
    assert as_csv[0][:-1] == ["learner", *SHOWN] and "accuracy against the first" in as_csv[0][-1]
    assert without_time(as_csv) == expected
    lines = compare(*options, "--markdown", learners=learners).out.splitlines()
    assert all(line.startswith("|") and line.endswith("|") for line in lines)
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert table[0] == as_csv[0] and table[1] == ["---"] * len(table[0])
    assert without_time([table[0], *table[2:]]) == expected


def test_the_text_table_names_every_learner_and_its_budgets(compare):
    text = compare("--train-per-task", 12, "--runs", 4, "--label-budgets", "10%,20", learners=LEARNERS).out
    assert text.startswith("4 tasks, 7 features, 48 examples, 4 runs")
    lines = text.splitlines()[2:]
    assert all(key in lines[0].split() for key in ["learner", "budget", *SHOWN])
    assert [line[:line.index("  ")] for line in lines[1:]] == [learner for learner in LEARNERS for _ in range(2)]
    assert [line[len(max(LEARNERS, key=len)):].split()[0] for line in lines[1:]] == ["10%", "20"] * 4
    assert ["[" in line for line in lines[1:]] == [False, False, *[True] * 6]


# ---- pictures

@pytest.mark.usefixtures("plot_program")
@pytest.mark.parametrize("ending, start", [("svg", b"<?xml"), ("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")])
def test_a_picture_is_drawn_beside_the_table(compare, quorate, ending, start):
    options = ["--train-per-task", 12, "--runs", 3, "--label-budgets", "5%,10%,20%"]
    result = compare(*options, "--plot", f"p.{ending}", learners=LEARNERS)
    picture = (quorate.folder / f"p.{ending}").read_bytes()
    assert picture.startswith(start) and len(picture) > 3000
    assert "perceptron" in result.out
    assert names(quorate) == ["a.csv", f"p.{ending}", "test.csv"]
    compare(*options, "--plot", f"p.{ending}", learners=LEARNERS)
    assert (quorate.folder / f"p.{ending}").read_bytes() == picture
    if ending == "svg":
        words = words_of(quorate.folder / "p.svg")
        assert all(words.count(word) == 1 for word in [*LEARNERS, "labels bought", "accuracy on unseen examples"]), words


@pytest.mark.usefixtures("plot_program")
def test_a_picture_that_cannot_be_written_is_file_trouble_and_leaves_nothing(compare, quorate):
    (quorate.folder / "taken.svg").mkdir()
    before = names(quorate)
    for path in ("none/p.svg", "taken.svg"):
        result = compare("--plot", path, code=3)
        assert path in result.err and "expected" in result.err and result.err.count("\n") == 1
        assert names(quorate) == before and not list((quorate.folder / "taken.svg").iterdir())


def test_a_folder_without_the_right_to_write_is_file_trouble(quorate):
    """Root may write into every folder, unless it gives that capability up."""
    (quorate.folder / "closed").mkdir(mode=0o500)
    drop, of_folders = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    prctl = ctypes.CDLL(None).prctl
    process = quorate.start("compare", "--data", "a.csv", "--learner", "perceptron", "--learner", "amlc", "--plot", "closed/p.svg",
                            preexec_fn=lambda: prctl(drop, of_folders, 0, 0, 0))
    _, err = process.communicate(timeout=GUARD)
    assert process.returncode == 3 and b"closed/p.svg" in err
    assert not list((quorate.folder / "closed").iterdir())


def test_without_the_program_or_matplotlib_the_message_says_what_to_install(compare, quorate, monkeypatch):
    (quorate.folder / "bin").mkdir()
    monkeypatch.setenv("PATH", str(quorate.folder / "bin"))
    for said, missing in (("", "quorate-plot, a program of the Python package"), ("pictures need matplotlib: ", "pip install matplotlib")):
        assert f"p.svg: cannot be drawn{': ' + said if said else ''}" in compare("--plot", "p.svg", code=3).err
        result = compare("--plot", "p.svg", code=3)
        assert missing in result.err and result.err.count("\n") == 1
        assert names(quorate) == ["a.csv", "bin", "test.csv"]
        program = quorate.folder / "bin/quorate-plot"
        program.write_text("#!/bin/sh\necho a warning >&2\necho \"pictures need matplotlib: pip install matplotlib\" >&2\nexit 1\n")
        program.chmod(0o700)


@pytest.mark.parametrize("path", ["p.gif", "p", "svg", "p.svg.gz"])
def test_a_picture_of_another_ending_is_bad_usage(compare, quorate, path):
    result = compare("--plot", path, code=2)
    assert result.out == "" and path in result.err and "expected" in result.err and ".svg" in result.err
    assert names(quorate) == ["a.csv", "test.csv"]


@pytest.mark.usefixtures("plot_program")
@pytest.mark.parametrize("name", ["$x$", "$\\frac{1}$", "<&>", "a\nb"], ids=repr)
def test_a_task_is_only_a_name_to_the_picture(quorate, name):
    rows = samples.rows(60, K=3, seed=5)
    for r in rows:
        r.task = name if r.task == "t0" else r.task
    (quorate.folder / "n.jsonl").write_text(samples.jsonl(rows))
    quorate.ok("train", "--data", "n.jsonl", "--learner", "amlc", "--model", "m")
    quorate.ok("inspect", "m", "--plot", "n.svg")
    words = words_of(quorate.folder / "n.svg")
    assert words.count("t1") == 2 and words.count(name.replace("\n", " ")) == 2 and "weights of peers" in words


# ---- influence, as inspect shows them

@pytest.mark.parametrize("learner, total, own", [("perceptron", 1, "one"), ("cmtl", 1, "some"), ("amlc", 4, "some"),
                                                 ("amlc(rows=one)", 1, "some"), ("peer", 1, "none")])
def test_inspect_shows_how_much_each_task_takes_from_the_others(quorate, learner, total, own):
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", learner)
    found = quorate.ok("inspect", "m", "--json").json()
    assert [task["task"] for task in found["tasks"]] == ["t0", "t1", "t2", "t3"]
    for i, row in enumerate(found["influence"]):
        assert len(row) == 4 and all(v >= 0 for v in row)
        assert sum(row) == pytest.approx(total, rel=1e-9)
        assert {"one": row[i] == 1, "none": row[i] == 0, "some": 0 < row[i] < total}[own]
    text = quorate.ok("inspect", "m").out.splitlines()[-4:]
    assert [line.split() for line in text] == [[str(i + 1), f"t{i}", *(f"{v:.3f}" for v in row)]
                                               for i, row in enumerate(found["influence"])]
    part = quorate.ok("inspect", "m", "--json", "--tasks", 2).json()
    assert part["influence"] == [row[:2] for row in found["influence"][:2]]


def test_a_committee_listens_to_the_task_that_is_like_it(quorate):
    rows = samples.rows(400, K=2, seed=7, noise=0)
    twins = []
    for n, r in enumerate(r for r in rows if r.task == "t0"):  # t0 and t1 are one problem, t2 is its opposite
        task = n % 3
        twins.append(samples.Row(r.id, f"t{task}", str(int(r.label) * (-1 if task == 2 else 1)), r.x))
    (quorate.folder / "twins.csv").write_text(samples.csv(twins))
    for learner in ("amlc", "peer"):
        quorate.ok("train", "--data", "twins.csv", "--model", learner, "--learner", learner)
        tau = quorate.ok("inspect", learner, "--json").json()["influence"]
        assert tau[0][1] > 1.5 * tau[0][2] and tau[1][0] > 1.5 * tau[1][2], learner
