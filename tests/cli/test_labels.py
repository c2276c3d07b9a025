"""quorate labels and quorate rebuild: the labels that a model keeps, and learning again from them."""
import csv
import io
import json

import pytest

ROWS = [("ann", "spam", "win money now"), ("bob", "ham", "lunch at noon"), ("ann", "ham", "money for lunch"),
        ("bob", "spam", "win a prize now"), ("ann", "spam", "prize money"), ("bob", "ham", "see you at noon")]


@pytest.fixture
def model(quorate):
    with open(quorate.folder / "mails.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["task", "label", "text"])
        out.writerows(ROWS * 10)
    quorate.ok("train", "--data", "mails.csv", "--model", "m", "--positive", "spam", "--learner", "cohort(query=always)")
    return "m"


def listed(quorate, model):
    return list(csv.DictReader(io.StringIO(quorate.ok("labels", model).out)))


def predictions(quorate, model):
    lines = quorate.ok("predict", "--model", model, "--data", "mails.csv").out.splitlines()
    return [json.loads(line)["margin"] for line in lines]


def test_every_label_is_listed_as_it_was_bought(quorate, model):
    rows = listed(quorate, model)
    assert [(r["task"], r["label"]) for r in rows] == [(task, label) for task, label, _ in ROWS * 10]
    assert [int(r["id"]) for r in rows] == list(range(60)) and {r["audit"] for r in rows} == {"no"}
    assert all(float(r["probability"]) == 1 for r in rows)
    line = json.loads(quorate.ok("labels", model, "--to", "jsonl").out.splitlines()[1])
    assert line["task"] == "bob" and len(line["x"]) == 3 and set(line["x"].values()) == {1.0}


@pytest.mark.parametrize("options", [(), ("--learner", "shampo", "--labels-per-round", "1"), ("--classes", "one-vs-rest"), ("--memory", "4MB")])
def test_labels_say_which_example_they_are_of(quorate, options):
    mails = [(f"T-{i}\u00e4", *ROWS[i % 6]) for i in range(60)]
    with open(quorate.folder / "mails.csv", "w", newline="") as file:
        csv.writer(file).writerows([("id", "task", "label", "text"), *mails])
    first = [] if "--classes" in options else ["--positive", "spam"]
    if "--learner" not in options:
        first += ["--learner", "cohort(query=always)"]
    total = quorate.ok("train", "--data", "mails.csv", "--model", "m", *first, *options, "--json").json()["report"]
    rows = listed(quorate, "m")
    label_of = {mail[0]: mail[2] for mail in mails}
    assert len(rows) >= 20 and {row["example"] for row in rows} <= set(label_of)
    if "--classes" not in options:
        assert all(row["label"] == label_of[row["example"]] for row in rows)
    assert json.loads(quorate.ok("labels", "m", "--to", "jsonl").out.splitlines()[0])["example"] == rows[0]["example"]
    of_rows = len({row["example"] for row in rows})

    only_new = quorate.ok("train", "--data", "mails.csv", "--model", "m", "--new-only", "--json")
    assert f"{of_rows} examples have ids of labels that the model has; passed over" in only_new.err
    assert only_new.json()["examples_again"] == of_rows and only_new.json()["report"]["examples"] == total["examples"] + 60 - of_rows
    again = quorate.ok("train", "--data", "mails.csv", "--model", "m")
    assert "of labels that the model has; is this the same data again? --new-only passes them over" in again.err


def test_a_rebuild_is_exactly_repeatable_and_predicts_as_the_model(quorate, model):
    before = [m > 0 for m in predictions(quorate, model)]
    quorate.ok("rebuild", model, "--out", "once")
    quorate.ok("rebuild", "once", "--out", "twice")
    assert (quorate.folder / "once").read_bytes() == (quorate.folder / "twice").read_bytes()
    assert [m > 0 for m in predictions(quorate, "once")] == before


def test_undo_in_one_go_or_one_by_one(quorate, model):
    quorate.ok("rebuild", model, "--undo", "3,17", "--out", "both")
    quorate.ok("rebuild", model, "--undo", "3", "--out", "one")
    quorate.ok("rebuild", "one", "--undo", "17")
    assert (quorate.folder / "both").read_bytes() == (quorate.folder / "one").read_bytes()
    assert [int(r["id"]) for r in listed(quorate, "one")] == [i for i in range(60) if i not in (3, 17)]
    assert predictions(quorate, "one") != predictions(quorate, model)
    assert quorate.ok("inspect", "one", "--json").json()["labels"]["bought"] == 60, "they stay bought"


def test_a_correction_changes_one_answer(quorate, model):
    quorate.ok("rebuild", model, "--correct", "0=ham")
    assert [r["label"] for r in listed(quorate, model)][:2] == ["ham", "ham"]


@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_a_forgotten_task_leaves_nothing_in_the_file(quorate, model, strict):
    quorate.ok("rebuild", model, "--forget", "bob", *strict)
    assert {r["task"] for r in listed(quorate, model)} == {"ann"}
    assert b"bob" not in (quorate.folder / model).read_bytes()
    assert quorate.ok("train", "--data", "mails.csv", "--model", model, "--labels", "80").code == 0
    assert {"ann", "bob"} <= {t["task"] for t in quorate.ok("inspect", model, "--json").json()["tasks"]}


def test_a_task_gets_another_name_and_nothing_else_changes(quorate, model):
    before = predictions(quorate, model)
    (quorate.folder / "mails.csv").write_text((quorate.folder / "mails.csv").read_text().replace("bob", "rob=ert"))
    assert quorate.ok("rebuild", model, "--rename", "bob=rob=ert").out == f"{model}: 1 task renamed\n"
    assert predictions(quorate, model) == before and b"bob" not in (quorate.folder / model).read_bytes()
    assert {r["task"] for r in listed(quorate, model)} == {"ann", "rob=ert"}
    quorate.ok("rebuild", model, "--rename", "rob=ert=bob", "--rename", "ann=eve", "--rename", "bob=ann", "--undo", "3")
    assert {r["task"] for r in listed(quorate, model)} == {"eve", "ann"}


def test_other_settings_learn_from_the_same_labels(quorate, model):
    quorate.ok("rebuild", model, "--learner", "cmtl(query=margin)", "--out", "other")
    found = quorate.ok("inspect", "other", "--json").json()
    assert found["learner"].startswith("cmtl(") and len(listed(quorate, "other")) == 60
    assert [m > 0 for m in predictions(quorate, "other")] == [label == "spam" for _, label, _ in ROWS * 10]


def test_cross_validation(quorate, model):
    found = quorate.ok("labels", model, "--cross-validate", "5", "--json").json()
    assert found["labels"] == 60 and found["folds"] == 5
    for of in (found["asked"], found["stream"]):
        assert {of[name]["value"] for name in ("accuracy", "recall", "precision", "balanced_accuracy")} == {1.0}, "every line comes ten times"
        assert of["always"]["accuracy"] < 1
    text = quorate.ok("labels", model, "--cross-validate", "5").out
    assert "recall of spam" in text and "always " in text


def test_labels_beyond_the_room_are_a_sample_and_counted(quorate, model):
    found = quorate.ok("train", "--data", "mails.csv", "--model", "small", "--positive", "spam", "--learner",
                       "cohort(query=always)", "--keep-labels", "6KB")
    assert found.code == 0
    run = quorate.ok("labels", "small")
    kept = len(run.out.splitlines()) - 1
    assert 5 <= kept < 60 and f"{60 - kept} of 60 labels not kept" in run.err


@pytest.mark.parametrize("args, expected", [
    (["--undo", "60"], "label 60 was never bought; expected one below 60"),
    (["--undo", "x"], "--undo"),
    (["--undo", ""], "''; expected a whole number from 0"),
    (["--undo", "-1"], "'-1'; expected a whole number from 0"),
    (["--correct", "1=eggs"], "expected spam or ham"),
    (["--correct", "1"], "expected ID=LABEL"),
    (["--forget", "carl"], "the model knows no such task"),
    (["--rename", "carl=ann"], "the model knows no such task"),
    (["--rename", "bob=ann"], "has a task 'ann' already"),
    (["--rename", "bob="], "an empty name"),
    (["--rename", "bob"], "expected OLD=NEW"),
    (["--learner", "peer"], "cannot learn again from kept labels; expected one of "),
])
def test_a_refused_rebuild_changes_nothing(quorate, model, args, expected):
    before = (quorate.folder / model).read_bytes()
    run = quorate("rebuild", model, *args)
    assert run.code == 2 and expected in run.err
    assert (quorate.folder / model).read_bytes() == before


def test_models_that_keep_none_say_so(quorate, model):
    quorate.ok("train", "--data", "mails.csv", "--model", "none", "--positive", "spam", "--keep-labels", "0")
    assert "keeps no labels" in quorate("labels", "none").err and "keeps no labels" in quorate("rebuild", "none").err
    quorate.ok("train", "--data", "mails.csv", "--model", "peer", "--positive", "spam", "--learner", "peer")
    assert "peer" in quorate("rebuild", "peer").err
    assert len(listed(quorate, "peer")) > 0
