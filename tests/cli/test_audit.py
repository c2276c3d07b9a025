"""Audits from outside: labels bought at random that say how good a model really is, when to stop, how many labels more."""
import json
import statistics

import pytest
import samples
from samples import without_seconds

ROWS = samples.rows(3000, seed=11, noise=1.0)  # nobody can be right on more than about nine of ten
LEARNERS = ["cohort", "perceptron(query=margin(b=0.3))", "cmtl(query=margin(b=0.3))", "amlc", "peer", "shampo",
            "budget-random(budget=50, query=margin)"]


@pytest.fixture
def folder(quorate):
    for name, rows in {"a": ROWS, "small": ROWS[:600], "half": ROWS[:300]}.items():
        (quorate.folder / f"{name}.csv").write_text(samples.csv(rows))
    return quorate.folder


@pytest.fixture
def simulate(quorate, folder):
    return lambda *options: quorate.ok("simulate", "--data", "a.csv", "--json", *options).json()


def trace_of(quorate):
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


# ---- what is bought

@pytest.mark.parametrize("learner", LEARNERS)
def test_a_limit_is_for_learning_and_audits_together(simulate, quorate, learner):
    document = simulate("--learner", learner, "--audit", 0.25, "--labels", 120, "--labels", "30/500", "--labels-per-task", 45,
                        "--trace", "trace", "--per-task", "--rounds", "each")
    one, lines = document["runs"][0], trace_of(quorate)
    audited = [t for t in lines if t.get("audited") and t["label"] is not None]
    asked = [t for t in lines if t["asked"]]
    assert not any(t["asked"] or t["updated"] for t in audited)
    assert one["labels"] == len(audited) + len(asked) <= 120 and one["audit_labels"] == len(audited) > 5
    assert len(asked) <= 90 and len(audited) <= 0.25 * one["labels"] + 1
    at = sorted(t["round"] for t in audited + asked)
    assert all(b - a >= 500 for a, b in zip(at, at[30:]))
    assert all(task["labels"] <= 45 for task in one["per_task"].values())


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.7])
def test_audits_have_their_share_of_the_labels(simulate, share):
    for r in simulate("--learner", "perceptron(query=margin(b=0.3))", "--audit", share, "--runs", 3)["runs"]:
        assert 0.8 * share * r["labels"] - 1 <= r["audit_labels"] <= share * r["labels"] + 1


@pytest.mark.parametrize("rate", ["1/10", "3/40", "50/1000"])
def test_audits_have_their_share_of_the_labels_under_a_rate(simulate, rate):
    for learner in ("cohort", "perceptron"):
        for r in simulate("--learner", learner, "--in-order", "--audit", 0.3, "--labels", rate, "--runs", 3)["runs"]:
            assert 0.85 * 0.3 * r["labels"] - 1 <= r["audit_labels"] <= 0.3 * r["labels"] + 1, learner


def test_without_audit_nothing_is_said_of_it(simulate, quorate, folder):
    document = simulate("--trace", "trace")
    assert not any("audit" in key or "forecast" in key or key == "stopped" for key in document["runs"][0])
    assert not any("audited" in line for line in trace_of(quorate))
    quorate.ok("train", "--data", "half.csv", "--model", "m")
    assert quorate.ok("inspect", "m", "--json").json()["audit"] is None and "audit" not in quorate.ok("inspect", "m").out


# ---- what they say

def test_of_two_classes_none_is_positive(quorate, folder):
    quorate.ok("train", "--data", "half.csv", "--model", "m", "--classes", "one-vs-rest", "--audit", 0.5)
    now = quorate.ok("inspect", "m", "--json").json()["audit"]["now"]
    assert now["balanced_accuracy"]["value"] > 0.5
    assert all(now[name]["value"] is None for name in ("recall", "precision", "average_precision"))
    text = quorate.ok("inspect", "m").out
    assert "balanced accuracy" in text and "recall of" not in text and "average precision" not in text


@pytest.mark.parametrize("learner", ["cohort(query=confidence(b=1))", "perceptron(query=margin(b=0.1))"])
def test_the_figures_are_near_the_truth(simulate, learner):
    """The truth: what the learner got right of all examples, before their labels were known."""
    runs = simulate("--learner", learner, "--audit", 0.3, "--runs", 20, "--threads", 2)["runs"]
    truth = [1 - r["mistakes"] / 3000 for r in runs]
    errors = [r["audit_stream"] - t for r, t in zip(runs, truth)]
    spread = statistics.stdev(errors)
    assert abs(statistics.mean(errors)) < max(3 * spread / 20 ** 0.5, 0.01) and spread < 0.1
    assert sum(r["audit_stream_low"] <= t <= r["audit_stream_high"] for r, t in zip(runs, truth)) >= 16
    for r in runs:
        for name in ("audit_accuracy", "audit_recall", "audit_precision", "audit_average_precision", "audit_stream", "audit_recent"):
            assert 0 <= r[f"{name}_low"] <= r[name] <= r[f"{name}_high"] <= 1


def test_what_is_learned_does_not_depend_on_the_audits_answers(quorate, folder):
    """Audited labels turned round: the same margins, questions and updates."""
    options = ["--audit", 0.3, "--labels", 200, "--in-order", "--trace", "trace"]
    quorate.ok("simulate", "--data", "small.csv", *options)
    first = trace_of(quorate)
    lied = [samples.Row(r.id, r.task, str(-int(r.label)) if t.get("audited") else r.label, r.x)
            for r, t in zip(ROWS, first)]
    (folder / "small.csv").write_text(samples.csv(lied))
    quorate.ok("simulate", "--data", "small.csv", *options)
    second = trace_of(quorate)
    assert sum("audited" in t for t in first) > 10
    assert [t | {"label": None} for t in first] == [t | {"label": None} for t in second]


def test_the_text_has_the_figures_of_the_document(simulate, quorate, folder):
    options = ["--audit", 0.2, "--labels", 300, "--forecast", 0.85]
    one = simulate(*options)["runs"][0]
    text = quorate.ok("simulate", "--data", "a.csv", *options).out
    assert f"audit ({one['audit_labels']} labels), 95 % intervals: accuracy now" in text and "; always " in text
    for name in ("audit_accuracy", "audit_recall", "audit_precision", "audit_balanced_accuracy", "audit_stream", "audit_recent"):
        assert f"{one[name]:.3f} [{one[name + '_low']:.3f}, {one[name + '_high']:.3f}]" in text
    assert "95 %" in text and "forecast of 0.85" in text and "stopped" not in text


def test_runs_differ_in_their_audits_and_not_by_threads(simulate):
    options = ["--audit", 0.2, "--labels", 200, "--runs", 4]
    document = simulate(*options)
    assert len({r["audit_stream"] for r in document["runs"]}) > 1
    assert without_seconds(simulate(*options, "--threads", 2)) == without_seconds(document)
    assert document["mean"]["audit_stream"] == pytest.approx(statistics.mean(r["audit_stream"] for r in document["runs"]))


def test_audits_without_any_label_say_nothing(simulate, quorate):
    one = simulate("--audit", 0.2, "--labels", 0)["runs"][0]
    assert (one["audit_labels"], one["audit_accuracy"], one["audit_recent_low"], one["labels"]) == (0, None, None, 0)
    assert "nothing measured yet\n" in quorate.ok("simulate", "--data", "a.csv", "--audit", 0.2, "--labels", 0).out


# ---- when to stop, and how many labels more

@pytest.mark.parametrize("rule", ["accuracy>=0.6", "error<=0.4", "recall>=0.6", "precision>=0.5"])
def test_a_run_ends_when_its_audits_say_so(simulate, quorate, rule):
    options = ["--learner", "cmtl(query=random)", "--audit", 0.3, "--trace", "trace"]
    whole = simulate(*options)["runs"][0]
    assert whole["stopped"] is False and len(trace_of(quorate)) == 3000
    one = simulate(*options, "--stop-when", rule)["runs"][0]
    lines = trace_of(quorate)
    assert one["stopped"] is True and len(lines) < 1500 and one["labels"] < whole["labels"] / 2
    measure = {"error": "accuracy"}.get(rule.split("<")[0], rule.split(">")[0])
    assert one[f"audit_{measure}_low"] >= (0.49 if measure == "precision" else 0.59)  # the rule is stricter than the interval: it looks many times
    assert one["labels"] == sum(t["label"] is not None for t in lines)
    assert ("forecast" in one) == (measure == "accuracy")  # of the rule's
    assert "stopped: target reached" in quorate.ok("simulate", "--data", "a.csv", *options, "--stop-when", rule).out


def test_a_target_that_is_not_reached_stops_nothing(simulate, quorate):
    one = simulate("--audit", 0.3, "--stop-when", "accuracy>=0.999", "--trace", "trace")["runs"][0]
    assert one["stopped"] is False and len(trace_of(quorate)) == 3000


def test_a_forecast_or_why_there_is_none(simulate, quorate, folder):
    rows = samples.rows(12000, K=2, d=60, seed=7, noise=0.3)  # learned slowly
    (folder / "a.csv").write_text(samples.csv(rows))
    options = ["--learner", "cmtl", "--audit", 0.3, "--forecast"]
    given = simulate(*options, 0.88)["runs"][0]
    assert given["forecast_none"] is None and isinstance(given["forecast_floor_possible"], bool)
    assert 0 < given["forecast_low"] < given["forecast"] < given["forecast_high"]
    none = simulate(*options, 0.88, "--labels", 20)["runs"][0]
    assert "mistakes" in none["forecast_none"] and none["forecast"] is none["forecast_low"] is None
    text = quorate.ok("simulate", "--data", "a.csv", *options, 0.88).out
    assert f"forecast of 0.88    {given['forecast']:.0f} labels [{given['forecast_low']:.0f}, " in text
    assert f"none: {none['forecast_none']}" in quorate.ok("simulate", "--data", "a.csv", *options, 0.88, "--labels", 20).out


# ---- models

def test_train_says_and_saves_what_audits_found(quorate, folder):
    found = quorate.ok("train", "--data", "a.csv", "--model", "m", "--audit", 0.2, "--labels", 300, "--json").json()
    audit, inside = found["report"]["audit"], quorate.ok("inspect", "m", "--json").json()
    assert inside["audit"] == audit and audit["share"] == 0.2
    assert 30 < audit["labels"] <= 60 and audit["labels"] < found["report"]["labels"]["answered"] <= 300
    for one in (audit["stream"], audit["recent"]):
        assert 0 <= one["low"] <= one["value"] <= one["high"] <= 1 and 0 < one["audits"] <= audit["labels"]
    assert audit["stream"]["audits"] == audit["labels"] == audit["now"]["accuracy"]["audits"]
    now = audit["now"]
    assert all(one["low"] <= one["value"] <= one["high"] for name, one in now.items() if name != "always")
    assert now["always"]["label"] in ("1", "-1") and 0.5 <= now["always"]["accuracy"] < 1
    assert audit["stream"]["low"] <= found["progressive_accuracy"] <= audit["stream"]["high"]
    assert sum(t["labels"] for t in inside["tasks"]) == inside["labels"]["bought"] == found["report"]["labels"]["answered"]
    shown = "{value:.3f} [{low:.3f}, {high:.3f}]"
    for text in (quorate.ok("inspect", "m").out,
                 quorate.ok("train", "--data", "a.csv", "--model", "n", "--audit", 0.2, "--labels", 300).out):
        assert "accuracy now " + shown.format(**now["accuracy"]) in text
        assert shown.format(**audit["stream"]) in text and shown.format(**audit["recent"]) in text and "95 %" in text


@pytest.mark.parametrize("learner", LEARNERS)
def test_in_two_halves_it_is_the_same_model_to_the_bit(quorate, folder, learner):
    new = ["--learner", learner, "--audit", 0.3, "--labels", 150, "--rounds", "each"]
    quorate.ok("train", "--data", "small.csv", "--model", "whole", *new)
    quorate.ok("train", "--data", "half.csv", "--model", "m", *new)
    assert quorate.ok("inspect", "m", "--json").json()["audit"]["labels"] > 0
    quorate.ok("train", "--data", "small.csv", "--model", "m", "--skip", 300, "--rounds", "each")
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()


def test_a_model_keeps_its_audit(quorate, folder):
    for made in ([], ["--audit", 0.1]):
        model = f"m{len(made)}"
        quorate.ok("train", "--data", "half.csv", "--model", model, *made)
        before = (folder / model).read_bytes()
        result = quorate("train", "--data", "half.csv", "--model", model, "--audit", 0.2)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert "--audit 0.2 cannot be changed" in result.err and ("m2 has 0.1" if made else "m0 has 0") in result.err
        assert (folder / model).read_bytes() == before
    quorate.ok("train", "--data", "half.csv", "--model", "m2", "--audit", 0.1)


def test_what_nobody_knows_is_counted_and_not_paid_for(quorate, folder):
    rows = [samples.Row(r.id, r.task, r.label if n % 2 else "", r.x) for n, r in enumerate(ROWS[:600])]
    (folder / "holes.csv").write_text(samples.csv(rows))
    found = quorate.ok("train", "--data", "holes.csv", "--model", "m", "--learner", "perceptron", "--audit", 0.3,
                       "--json").json()
    assert found["report"]["labels"]["answered"] == 300 and found["report"]["labels"]["unanswered"] == 300  # it asks for all that is not audited
    assert 60 <= found["report"]["audit"]["labels"] <= 91


# ---- what is refused

BAD = {
    "below none": (["--audit", -0.1], ["--audit", "'-0.1'", "from 0 to below 1"]),
    "all": (["--audit", 1], ["--audit", "'1'", "from 0 to below 1"]),
    "percent": (["--audit", "10%"], ["--audit", "'10%'"]),
    "no number": (["--audit", "nan"], ["--audit", "'nan'"]),
    "a rule without audits": (["--stop-when", "accuracy>=0.9"], ["stop", "audit"]),
    "a forecast without audits": (["--forecast", 0.9], ["forecast", "audit"]),
    "another measure": (["--audit", 0.1, "--stop-when", "f1>=0.9"], ["'f1>=0.9'", "accuracy>=X"]),
    "the wrong way": (["--audit", 0.1, "--stop-when", "accuracy<=0.9"], ["'accuracy<=0.9'", "accuracy>=X"]),
    "a target of 1": (["--audit", 0.1, "--stop-when", "accuracy>=1"], ["'accuracy>=1'", "below 1"]),
    "a forecast of 1": (["--audit", 0.1, "--forecast", 1], ["forecast", "1", "below 1"]),
    "a forecast of percents": (["--audit", 0.1, "--forecast", 90], ["--forecast", "90"]),
    "a forecast of nothing": (["--audit", 0.1, "--forecast", "nan"], ["forecast", "nan"]),
    "late answers": (["--audit", 0.1, "--delay", 5], ["audit", "delay"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_audits_are_named(quorate, folder, case):
    options, said = BAD[case]
    result = quorate("simulate", "--data", "small.csv", "--trace", "trace", *options)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert all(word in result.err for word in said), result.err
    assert not (folder / "trace").exists()


@pytest.mark.parametrize("rate", ["50/1000", "5/100", "20/500"])
def test_audits_under_a_rate_get_their_share(quorate, rate):
    (quorate.folder / "long.csv").write_text(samples.csv(samples.rows(6000, seed=5)))
    for learner in ("perceptron", "perceptron(query=margin(b=1))"):
        run = quorate.ok("simulate", "--data", "long.csv", "--in-order", "--labels", rate, "--audit", 0.3, "--learner", learner,
                         "--json").json()["runs"][0]
        count, window = map(int, rate.split("/"))
        assert 0.24 * run["labels"] <= run["audit_labels"] <= 0.3 * run["labels"] + 1, (learner, run)
        assert run["labels"] >= 0.8 * 6000 * count / window
