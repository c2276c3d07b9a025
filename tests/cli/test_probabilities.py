"""`quorate predict --probabilities`: the chance of the positive label, calibrated on the labels that were bought."""
import csv as csv_format
import io
import random

import pytest
import samples

ROWS = samples.rows(900, seed=21, noise=1.0)


@pytest.fixture
def model(quorate):
    """A cohort in `m`, and data that it has not seen."""
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS[:600]))
    (quorate.folder / "new.csv").write_text(samples.csv(ROWS[600:]))
    quorate.ok("train", "--data", "a.csv", "--model", "m")
    return "m"


def predict(quorate, model, data, *options):
    return quorate.ok("predict", "--model", model, "--data", data, "--probabilities", *options).lines()


def calibration_error(chances, positive, bins=10):
    """Mean distance of what was said from what happened, over bins of what was said, by how many examples are in each."""
    error = 0.0
    for b in range(bins):
        inside = [(p, y) for p, y in zip(chances, positive) if min(int(p * bins), bins - 1) == b]
        error += abs(sum(p for p, _ in inside) - sum(y for _, y in inside)) / len(chances)
    return error


def test_a_chance_is_between_0_and_1_and_rises_with_the_margin(quorate, model):
    lines = predict(quorate, model, "new.csv")
    assert len(lines) == 300
    assert all(list(line) == ["id", "task", "margin", "probability", "label"] for line in lines)
    lines.sort(key=lambda line: line["margin"])
    chances = [line["probability"] for line in lines]
    assert all(0 <= p <= 1 for p in chances) and chances == sorted(chances)
    assert chances[0] < 0.3 and chances[-1] > 0.7 and len(set(chances)) > 100
    assert calibration_error(chances, [ROWS[int(line["id"][1:])].label == "1" for line in lines]) < 0.15


def test_nothing_else_changes(quorate, model):
    lines = predict(quorate, model, "new.csv")
    plain = quorate.ok("predict", "--model", model, "--data", "new.csv").lines()
    assert [{k: v for k, v in line.items() if k != "probability"} for line in lines] == plain


def test_csv_says_the_same_as_json_lines(quorate, model):
    text = quorate.ok("predict", "--model", model, "--data", "new.csv", "--probabilities", "--to", "csv").out
    assert text.startswith("id,task,margin,probability,label\n")
    rows = list(csv_format.DictReader(io.StringIO(text)))
    assert [{**r, "margin": float(r["margin"]), "probability": float(r["probability"])} for r in rows] == predict(
        quorate, model, "new.csv")


def test_the_positive_label_is_the_one_that_was_named(quorate, model):
    """With the labels' names exchanged the chances are those of the other label."""
    words = {"1": "spam", "-1": "ham"}
    for name, rows in {"words": ROWS[:600], "words-new": ROWS[600:]}.items():
        (quorate.folder / f"{name}.csv").write_text(
            samples.csv([samples.Row(r.id, r.task, words[r.label], r.x) for r in rows]))
    quorate.ok("train", "--data", "words.csv", "--model", "spam", "--positive", "spam")
    lines = predict(quorate, "spam", "words-new.csv")
    assert [line["probability"] for line in lines] == [line["probability"] for line in predict(quorate, model, "new.csv")]
    assert {line["label"] for line in lines if line["margin"] > 0} == {"spam"}


def test_a_task_never_seen_and_a_model_without_labels_have_a_chance_too(quorate, model):
    stranger = [samples.Row(r.id, "stranger", "", r.x) for r in ROWS[600:]]
    (quorate.folder / "strange.csv").write_text(samples.csv(stranger))
    quorate.ok("train", "--data", "a.csv", "--model", "empty", "--labels", 0)
    for which, data in ((model, "strange.csv"), ("empty", "new.csv")):
        assert all(0 <= line["probability"] <= 1 for line in predict(quorate, which, data))
    assert {line["probability"] for line in predict(quorate, "empty", "new.csv")} == {0.5}


def test_chances_are_honest_on_spam_b_with_300_labels(quorate, data):
    lines = (data("spam-b") / "all.svm").read_text().splitlines()
    random.Random(1).shuffle(lines)
    for name, part in {"learn.svm": lines[:1500], "new.svm": lines[1500:]}.items():
        (quorate.folder / name).write_text("".join(line + "\n" for line in part))
    found = quorate.ok("train", "--data", "learn.svm", "--model", "m", "--labels", 300, "--pace", "even", "--length", 1500,
                       "--json").json()
    assert found["report"]["labels"]["answered"] <= 300
    predictions = predict(quorate, "m", "new.svm")
    positive = [line.startswith("1 ") or line.startswith("+1 ") for line in lines[1500:]]
    assert 0.3 < sum(positive) / len(positive) < 0.7
    chances = [line["probability"] for line in predictions]
    assert calibration_error(chances, positive) < 0.1
    assert sum((p > 0.5) == y for p, y in zip(chances, positive)) > 0.9 * len(chances)


@pytest.mark.parametrize("learner", ["perceptron", "cmtl", "amtl", "peer", "amlc", "shampo", "kernel-perceptron"])
def test_learners_that_do_not_calibrate_have_none(quorate, model, learner):
    quorate.ok("train", "--data", "a.csv", "--model", "other", "--learner", learner, "--quiet")
    result = quorate("predict", "--model", "other", "--data", "new.csv", "--probabilities", "--out", "p.jsonl")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert all(word in result.err for word in ("--probabilities", "other", learner, "not calibrated", "cohort"))
    assert not (quorate.folder / "p.jsonl").exists()
