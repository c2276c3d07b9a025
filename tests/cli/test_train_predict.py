"""`quorate train`, `predict` and `inspect`: continuing equals never stopping, the model file is whole or untouched."""
import csv as csv_format
import io
import itertools
import json
import re
import signal
import threading
import time

import numpy as np
import pytest
import samples

from program import GUARD, wait_for_rest, wait_for_work
from reference import common
from reference.cmtl import Cmtl

ROWS = samples.rows(160, seed=4)
NEW = samples.rows(240, seed=4)[160:]  # of the same tasks
LEARNERS = ["perceptron", "cmtl(query=random(p=0.5))", "cmtl(graph=cliques(file=groups.csv), query=margin(b=0.5))",
            "cmtl(graph=edges(file=edges.csv))", "amtl(query=similarity)", "amtl(graph=disconnected, query=margin(b=1))"]


@pytest.fixture
def folder(quorate):
    """The data as files: all rows, their two halves, new rows, graphs."""
    at = quorate.folder
    for name, part in {"all": ROWS, "first": ROWS[:70], "second": ROWS[70:], "new": NEW}.items():
        (at / f"{name}.csv").write_text(samples.csv(part))
    (at / "groups.csv").write_text("task,group\nt1,a\nt3,a\nt0,b\n")
    (at / "edges.csv").write_text("from,to\nt0,t1\nt1,t2\n")
    return at


def train(quorate, data, model, *options, **kwargs):
    return quorate.ok("train", "--data", data, "--model", model, *options, **kwargs)


def predict(quorate, data, model, *options, **kwargs):
    return quorate.ok("predict", "--data", data, "--model", model, *options, **kwargs).lines()


def inspect(quorate, model, *options):
    return quorate.ok("inspect", model, "--json", *options).json()


def margins(lines):
    return [line["margin"] for line in lines]


# ---- predictions

def test_a_prediction_has_id_task_margin_and_label(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "cmtl")
    lines = predict(quorate, "new.csv", "m")
    model = Cmtl(4, 7)
    for r in ROWS:
        model.learn(int(r.task[1:]), common.prepare(list(r.x.values())), int(r.label))
    assert len(lines) == len(NEW)
    for line, r in zip(lines, NEW):
        assert list(line) == ["id", "task", "margin", "label"]
        assert (line["id"], line["task"]) == (r.id, r.task)
        expected = model.margin(int(r.task[1:]), common.prepare(list(r.x.values())))
        assert line["margin"] == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert line["label"] == ("1" if line["margin"] > 0 else "-1")
    assert sum(line["label"] == r.label for line, r in zip(lines, NEW)) > 0.75 * len(NEW)


def test_csv_predictions_say_the_same_as_json_lines(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "amtl")
    lines = predict(quorate, "new.csv", "m")
    text = quorate.ok("predict", "--data", "new.csv", "--model", "m", "--to", "csv").out
    assert text.startswith("id,task,margin,label\n")
    rows = list(csv_format.DictReader(io.StringIO(text)))
    assert [{**r, "margin": float(r["margin"])} for r in rows] == lines
    quorate.ok("predict", "--data", "new.csv", "--model", "m", "--to", "csv", "--out", "p.csv")
    assert (folder / "p.csv").read_text() == text


def test_names_with_commas_and_quotes_stay_whole_in_csv_predictions(quorate, folder):
    row = {"id": 'a "b", c', "task": "x,y", "label": "1", "x": {"f": 1.0}}
    (folder / "a.jsonl").write_text(json.dumps(row) + "\n")
    train(quorate, "a.jsonl", "m", "--learner", "perceptron", "--positive", "1")
    text = quorate.ok("predict", "--data", "a.jsonl", "--model", "m", "--to", "csv").out
    assert list(csv_format.reader(io.StringIO(text)))[1][:2] == [row["id"], row["task"]]


def test_examples_without_an_id_are_numbered(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "perceptron")
    (folder / "anonymous.csv").write_text(samples.csv(NEW, ["task", *NEW[0].x]))
    lines = predict(quorate, "anonymous.csv", "m")
    assert [line["id"] for line in lines] == [str(n + 1) for n in range(len(NEW))]
    assert margins(lines) == margins(predict(quorate, "new.csv", "m"))  # neither id nor label matters


def test_what_the_file_says_of_labels_is_not_asked(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "perceptron")
    strange = [samples.Row(r.id, r.task, "strange", r.x) for r in NEW]
    (folder / "strange.csv").write_text(samples.csv(strange))
    assert predict(quorate, "strange.csv", "m") == predict(quorate, "new.csv", "m")


def test_predictions_change_nothing(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "amtl(query=similarity)")
    before = (folder / "m").read_bytes()
    assert predict(quorate, "new.csv", "m") == predict(quorate, "new.csv", "m")
    assert (folder / "m").read_bytes() == before


@pytest.mark.parametrize("kind", ["csv", "jsonl", "vw"])  # SVMlight indices have one order
def test_columns_and_features_in_another_order_give_the_same_predictions(quorate, folder, kind):
    write = samples.WRITERS[kind]
    (folder / f"a.{kind}").write_text(write(ROWS))
    train(quorate, f"a.{kind}", "m", "--learner", "cmtl")
    turned = [samples.Row(r.id, r.task, r.label, dict(reversed(r.x.items()))) for r in NEW]
    (folder / f"b.{kind}").write_text(write(NEW))
    columns = {"columns": [*turned[0].x, "label", "task", "id"]} if kind == "csv" else {}
    (folder / f"c.{kind}").write_text(write(turned, **columns))
    assert predict(quorate, f"c.{kind}", "m") == predict(quorate, f"b.{kind}", "m")


def test_a_missing_or_new_column_is_refused_by_its_name(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "cmtl")
    before = (folder / "m").read_bytes()
    (folder / "less.csv").write_text(samples.csv(NEW, ["id", "task", "label", "f1", "f2", "f4", "f5", "f6"]))
    (folder / "more.csv").write_text(samples.csv([samples.Row(r.id, r.task, r.label, {**r.x, "extra": 1.0}) for r in NEW]))
    for name, column in [("less.csv", "'f3'"), ("more.csv", "'extra'")]:
        for command in ("predict", "train"):
            result = quorate(command, "--data", name, "--model", "m")
            assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
            assert name in result.err and column in result.err
    assert (folder / "m").read_bytes() == before
    lines = predict(quorate, "more.csv", "m", "--ignore-column", "extra")
    assert lines == predict(quorate, "new.csv", "m")


@pytest.mark.parametrize("learner, known", [("cmtl", True), ("perceptron", False), ("amtl", False),
                                            ("cmtl(graph=edges(file=edges.csv))", False)])
def test_a_task_never_seen_is_predicted_from_what_all_tasks_share(quorate, folder, learner, known):
    train(quorate, "all.csv", "m", "--learner", learner)
    rows = [samples.Row(r.id, "never seen", r.label, r.x) for r in NEW]
    (folder / "unseen.csv").write_text(samples.csv(rows))
    lines = predict(quorate, "unseen.csv", "m")
    assert {line["task"] for line in lines} == {"never seen"} and len(lines) == len(NEW)
    if known:
        assert sum(line["label"] == r.label for line, r in zip(lines, NEW)) > 0.7 * len(NEW)
    else:
        assert set(margins(lines)) == {0} and {line["label"] for line in lines} == {"-1"}
    assert inspect(quorate, "m")["task_count"] == 4


def test_label_words_come_back_in_predictions(quorate, folder):
    words = {"1": "spam", "-1": "ham"}
    rows = [samples.Row(r.id, r.task, words[r.label], r.x) for r in ROWS]
    (folder / "mails.csv").write_text(samples.csv(rows))
    train(quorate, "mails.csv", "m", "--learner", "cmtl", "--positive", "spam")
    train(quorate, "all.csv", "plain", "--learner", "cmtl")
    spoken, plain = predict(quorate, "new.csv", "m"), predict(quorate, "new.csv", "plain")
    assert [line["label"] for line in spoken] == [words[line["label"]] for line in plain]
    assert margins(spoken) == margins(plain) and {line["label"] for line in spoken} == {"spam", "ham"}
    assert inspect(quorate, "m")["classes"] == ["ham", "spam"]
    train(quorate, "mails.csv", "m")  # going on, the words are known
    rows[0].label = "neither"  # of three words, two are negative
    (folder / "mails.csv").write_text(samples.csv(rows))
    train(quorate, "mails.csv", "m3", "--learner", "cmtl", "--positive", "spam")
    assert {line["label"] for line in predict(quorate, "new.csv", "m3")} == {"spam", "not-spam"}


def test_labels_of_zero_and_one_come_back_as_such(quorate, folder):
    (folder / "zero.csv").write_text(samples.csv([samples.Row(r.id, r.task, r.label.replace("-1", "0"), r.x) for r in ROWS]))
    train(quorate, "zero.csv", "m", "--learner", "cmtl")
    train(quorate, "all.csv", "plain", "--learner", "cmtl")
    assert [line["label"] for line in predict(quorate, "new.csv", "m")] == [
        line["label"].replace("-1", "0") for line in predict(quorate, "new.csv", "plain")]


# ---- continuing

@pytest.mark.parametrize("learner", LEARNERS)
def test_two_halves_give_the_bytes_of_the_whole(quorate, folder, learner):
    start = ["--learner", learner, "--seed", 5]
    train(quorate, "all.csv", "whole", *start)
    train(quorate, "first.csv", "halves", *start)
    assert (folder / "halves").read_bytes() != (folder / "whole").read_bytes()
    train(quorate, "second.csv", "halves")
    assert (folder / "halves").read_bytes() == (folder / "whole").read_bytes()
    found = inspect(quorate, "whole")
    assert found["examples"] == 160 and 0 < found["updates"] < found["labels"]["bought"] <= 160


def text_rows():
    """Words that speak for or against, in files with a task each."""
    rng = np.random.default_rng(6)
    for i in range(80):
        label = ["1", "-1"][int(rng.integers(2))]
        words = rng.choice(["good", "fine", "nice", "well"] if label == "1" else ["bad", "poor", "dull", "sad"], 3)
        yield {"task": f"t{rng.integers(3)}", "label": label, "text": " ".join(words) + f" word{'abcdefgh'[i % 8]}"}


@pytest.mark.parametrize("options", [[], ["--bits", 0], ["--bits", 0, "--ngrams", "2", "--binary", "--no-bias", "--no-normalize"]])
def test_two_halves_of_text_give_the_bytes_of_the_whole(quorate, folder, options):
    lines = [json.dumps(row) + "\n" for row in text_rows()]
    for name, part in {"all": lines, "first": lines[:33], "second": lines[33:]}.items():
        (folder / f"{name}.jsonl").write_text("".join(part))
    start = ["--learner", "amtl(query=margin(b=0.1))", *options]
    train(quorate, "all.jsonl", "whole", *start)
    train(quorate, "first.jsonl", "halves", *start)
    train(quorate, "second.jsonl", "halves")
    assert (folder / "halves").read_bytes() == (folder / "whole").read_bytes()
    said = [json.loads(line)["label"] for line in lines]
    assert np.mean([p["label"] == y for p, y in zip(predict(quorate, "all.jsonl", "whole"), said)]) > 0.9


@pytest.mark.parametrize("kind, name", [("csv", "csv"), ("jsonl", "jsonl"), ("svm", "svmlight"), ("vw", "vw")])
def test_standard_input_gives_the_bytes_of_the_file(quorate, folder, kind, name):
    text = samples.WRITERS[kind](ROWS)
    (folder / f"a.{kind}").write_text(text)
    train(quorate, f"a.{kind}", "file", "--learner", "cmtl")
    train(quorate, "-", "stream", "--learner", "cmtl", "--format", name, stdin=text.encode())
    assert (folder / "stream").read_bytes() == (folder / "file").read_bytes()
    asked = samples.WRITERS[kind](NEW)
    (folder / f"b.{kind}").write_text(asked)
    assert predict(quorate, "-", "file", "--format", name, stdin=asked.encode()) == predict(quorate, f"b.{kind}", "file")


@pytest.mark.parametrize("kind", ["csv", "vw"])
def test_a_cache_gives_the_bytes_of_the_file(quorate, folder, kind):
    (folder / f"a.{kind}").write_text(samples.WRITERS[kind](ROWS))
    train(quorate, f"a.{kind}", "file", "--learner", "cmtl")
    for model in ("makes", "takes"):
        train(quorate, f"a.{kind}", model, "--learner", "cmtl", "--cache", "kept")
        assert (folder / model).read_bytes() == (folder / "file").read_bytes(), model
        assert len(list((folder / "kept").iterdir())) == 1


def test_a_cache_serves_simulations_of_files_of_training_and_test(quorate, folder):
    options = ["--data", "all.csv", "--test", "new.csv", "--learner", "cmtl", "--runs", "2", "--json"]
    told = [quorate.ok("simulate", *options, *more).json() for more in ([], ["--cache", "kept"], ["--cache", "kept"])]
    for run in (run for result in told for run in result["runs"]):
        run.pop("seconds")
    assert told[0]["runs"] == told[1]["runs"] == told[2]["runs"]
    assert len(list((folder / "kept").iterdir())) == 2


def test_a_damaged_cache_is_named_and_the_model_left_alone(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "cmtl", "--cache", "kept")
    before = (folder / "m").read_bytes()
    kept, = (folder / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    result = quorate("train", "--data", "all.csv", "--model", "m", "--cache", "kept")
    assert result.code == 3 and kept.name in result.err and "delete it" in result.err
    assert (folder / "m").read_bytes() == before
    kept.unlink()
    train(quorate, "all.csv", "m", "--cache", "kept")


def test_standard_input_is_not_cached(quorate, folder):
    result = quorate("train", "--data", "-", "--format", "csv", "--model", "m", "--cache", "kept",
                     stdin=(folder / "all.csv").read_bytes())
    assert result.code == 2 and "can be read once only" in result.err and not (folder / "m").exists()


def test_standard_input_without_a_format_is_bad_usage(quorate, folder):
    result = quorate("train", "--data", "-", "--model", "m", "--learner", "cmtl", stdin=b"x\n")
    assert result.code == 2 and "--format" in result.err and not (folder / "m").exists()


def test_skip_passes_over_the_first_examples(quorate, folder):
    train(quorate, "first.csv", "m", "--learner", "amtl(query=similarity)")
    train(quorate, "second.csv", "n", "--learner", "amtl(query=similarity)")
    train(quorate, "all.csv", "m", "--skip", 70)
    train(quorate, "all.csv", "whole", "--learner", "amtl(query=similarity)")
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()
    train(quorate, "all.csv", "n2", "--learner", "amtl(query=similarity)", "--skip", 70)
    assert margins(predict(quorate, "new.csv", "n2")) == margins(predict(quorate, "new.csv", "n"))
    before = (folder / "m").read_bytes()
    assert quorate.ok("train", "--data", "all.csv", "--model", "m", "--skip", 1000, "--json").json()["examples"] == 0
    assert (folder / "m").read_bytes() == before


def test_skip_counts_no_feature_that_is_left_out_a_second_time(quorate, folder):
    lines = [f"{1 if i % 3 else -1} |f {' '.join(f'n{(7 * i + 13 * j) % 2000}' for j in range(10))}\n" for i in range(200)]
    (folder / "all.vw").write_text("".join(lines))
    (folder / "first.vw").write_text("".join(lines[:150]))
    options = ["--learner", "perceptron", "--bits", 0, "--memory", "30KB", "--quiet"]
    for data, model, more in [("all.vw", "whole", []), ("first.vw", "parts", []), ("all.vw", "parts", ["--skip", 150])]:
        quorate.ok("train", "--data", data, "--model", model, *options, *more)
    assert inspect(quorate, "parts")["names_left_out"] > 0
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()


def test_a_graph_of_tasks_that_are_no_questions_of_the_classes_is_refused(quorate, folder):
    (folder / "three.vw").write_text("".join(f"{i % 3} |f a{i % 3}\n" for i in range(30)))
    (folder / "graph.csv").write_text("task,group\n0,x\n1,x\nann,y\n")
    train = ["train", "--data", "three.vw", "--model", "k", "--classes", "one-vs-rest"]
    result = quorate(*train, "--learner", "cmtl(graph=cliques(file=graph.csv))")
    assert result.code == 2 and "'ann'" in result.err and "as '0'" in result.err and not (folder / "k").exists()
    (folder / "graph.csv").write_text("task,group\n0,x\n1,x\n2,y\n")
    quorate.ok(*train, "--learner", "cmtl(graph=cliques(file=graph.csv))")
    assert len(inspect(quorate, "k")["tasks"]) == 3


NO_MORE = {"rate": None, "per_task": None, "pace": None, "pending": 0, "too_late": 0}  # limits, late answers


def test_the_label_limit_holds_for_the_model_not_for_the_run(quorate, folder):
    train(quorate, "first.csv", "m", "--learner", "cmtl", "--labels", 100)
    assert inspect(quorate, "m")["labels"] == {**NO_MORE, "bought": 70, "answered": 70, "limit": 100, "unanswered": 0}
    train(quorate, "second.csv", "m")
    assert inspect(quorate, "m")["labels"] == {**NO_MORE, "bought": 100, "answered": 100, "limit": 100, "unanswered": 0}
    train(quorate, "all.csv", "whole", "--learner", "cmtl", "--labels", 100)
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()
    train(quorate, "all.csv", "m", "--labels", 110)  # raised
    assert inspect(quorate, "m")["labels"]["bought"] == 110
    train(quorate, "all.csv", "m", "--labels", 30)  # lowered below what was bought: nothing more
    assert inspect(quorate, "m")["labels"] == {**NO_MORE, "bought": 110, "answered": 110, "limit": 30, "unanswered": 0}
    assert inspect(quorate, "m")["examples"] == 160 + 160 + 160


def test_labels_that_are_missing_are_counted_not_bought(quorate, folder):
    (folder / "some.csv").write_text(samples.csv([samples.Row(r.id, r.task, r.label if i % 4 else "", r.x)
                                                  for i, r in enumerate(ROWS)]))
    summary = quorate.ok("train", "--data", "some.csv", "--model", "m", "--learner", "cmtl", "--labels", 50, "--json").json()
    report = summary["report"]
    unanswered = report["labels"]["unanswered"]
    assert report["examples"] == 160 and 16 <= unanswered <= 17
    assert inspect(quorate, "m")["labels"] == report["labels"] == {**NO_MORE, "bought": 50, "answered": 50, "limit": 50, "unanswered": unanswered}
    text = quorate.ok("train", "--data", "some.csv", "--model", "n", "--learner", "cmtl", "--labels", 50).out
    assert f"{unanswered} labels asked for where the example has none" in text and "50 labels bought" in text


def test_the_summary_says_what_was_learned(quorate, folder):
    summary = quorate.ok("train", "--data", "first.csv", "--model", "m", "--learner", "cmtl", "--json").json()
    assert summary["report"]["learner"] == "cmtl(graph=complete, query=always, scale=none)" and summary["model"] == "m"
    assert (summary["examples"], summary["skipped_lines"], summary["report"]["task_count"], summary["interrupted"]) == (70, 0, 4, False)
    inside = inspect(quorate, "m")
    assert all(inside[key] == value for key, value in summary["report"].items() if key != "peak_bytes")
    assert (inside["examples"], inside["labels"]["answered"]) == (70, 70)
    assert summary["progressive_accuracy"] == pytest.approx(1 - inside["updates"] / 70, abs=0.03)
    assert quorate.ok("train", "--data", "second.csv", "--model", "m", "--json").json()["report"]["examples"] == 160


# ---- what is refused, and what it leaves behind

@pytest.mark.parametrize("options", [["--learner", "perceptron"], ["--learner", "cmtl(query=margin(b=2))"], ["--bits", 10],
                                     ["--no-bias"], ["--no-normalize"], ["--ngrams", "2"], ["--binary"], ["--positive", "1"],
                                     ["--seed", 3]])
def test_a_model_keeps_its_learner_and_its_reading(quorate, folder, options):
    train(quorate, "first.csv", "m", "--learner", "cmtl(query=margin(b=1))")
    before = (folder / "m").read_bytes()
    result = quorate("train", "--data", "second.csv", "--model", "m", *options)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert options[0] in result.err and (folder / "m").read_bytes() == before
    train(quorate, "second.csv", "m", "--learner", "cmtl(query=margin)")  # the same learner, said otherwise


def test_a_model_that_does_not_exist_is_file_trouble(quorate, folder):
    for result in (quorate("predict", "--data", "new.csv", "--model", "none"), quorate("inspect", "none")):
        assert (result.code, result.out, result.err.count("\n")) == (3, "", 1) and "none" in result.err


def test_a_new_model_without_a_learner_is_a_cohort(quorate, folder):
    for command in (["m"], ["said", "--learner", "cohort"]):
        train(quorate, "first.csv", *command)
    assert (folder / "m").read_bytes() == (folder / "said").read_bytes()
    assert inspect(quorate, "m")["learner"].startswith("cohort(")
    train(quorate, "second.csv", "m")  # goes on with what it holds
    train(quorate, "second.csv", "said", "--learner", "cohort")
    assert (folder / "m").read_bytes() == (folder / "said").read_bytes()
    result = quorate("train", "--data", "second.csv", "--model", "m", "--learner", "cohort(eta=1)")
    assert result.code == 2 and "cohort(eta=1)" in result.err


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "longer", "newer"])
def test_a_damaged_model_is_refused_with_the_reason(quorate, folder, damage):
    train(quorate, "all.csv", "m", "--learner", "cmtl")
    good = (folder / "m").read_bytes()
    middle = len(good) - 40
    bad = {"cut": good[:-9], "flipped": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:], "empty": b"",
           "text": b"id,task,label\n" * 9, "longer": good + b"\0",
           "newer": good.replace(b'"format_version":"1"', b'"format_version":"2"')}[damage]
    assert bad != good
    (folder / "bad").write_bytes(bad)
    for command in (["predict", "--data", "new.csv", "--model", "bad"], ["inspect", "bad"],
                    ["train", "--data", "new.csv", "--model", "bad"]):
        result = quorate(*command)
        assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
        assert "bad: model file" in result.err and ("newer" in result.err) == (damage == "newer")
    assert (folder / "bad").read_bytes() == bad


def test_a_bad_line_leaves_the_old_model_untouched(quorate, folder):
    train(quorate, "first.csv", "m", "--learner", "cmtl")
    before = (folder / "m").read_bytes()
    lines = samples.csv(ROWS[70:]).splitlines(keepends=True)
    (folder / "broken.csv").write_text("".join([*lines[:40], "e,t1,1,1,2,oops,4,5,6\n", *lines[40:]]))
    files = sorted(p.name for p in folder.iterdir())
    result = quorate("train", "--data", "broken.csv", "--model", "m")
    assert (result.code, samples.without_progress(result.out), result.err.count("\n")) == (1, "", 1) and "broken.csv:41:" in result.err
    assert (folder / "m").read_bytes() == before
    assert quorate("train", "--data", "broken.csv", "--model", "fresh", "--learner", "cmtl").code == 1
    assert sorted(p.name for p in folder.iterdir()) == files  # no new model, nothing half-written
    result = train(quorate, "broken.csv", "m", "--on-error", "skip")  # what is good in it is learned
    train(quorate, "all.csv", "whole", "--learner", "cmtl")
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()
    assert "1 bad line" in result.err and "broken.csv:41:" in result.err


def test_a_model_that_cannot_be_written_is_file_trouble(quorate, folder):
    result = quorate("train", "--data", "all.csv", "--model", "no/such/folder", "--learner", "cmtl")
    assert (result.code, result.out, result.err.count("\n")) == (3, "", 1) and "no/such/folder" in result.err


# ---- inspect

def test_inspect_counts_what_happened_to_each_task(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "perceptron(query=random(p=0.5))", "--bits", 12, "--no-bias", "--keep-labels", 0)
    found = inspect(quorate, "m")
    assert found["learner"] == "perceptron(query=random(p=0.5), scale=none)" and found["scale"] == "none"
    assert found["audit"] is None
    assert {key: found["settings"][key] for key in ("bits", "bias", "normalize", "ngrams", "char_ngrams", "binary", "interactions")} == {
        "bits": 12, "bias": False, "normalize": True, "ngrams": 1, "char_ngrams": 0, "binary": False, "interactions": None
    }
    assert found["task_count"] == 4 and [t["task"] for t in found["tasks"]] == ["t0", "t1", "t2", "t3"]
    for t in found["tasks"]:
        assert t["examples"] == sum(r.task == t["task"] for r in ROWS)
        assert 0 < t["mistakes"] <= t["updates"] <= t["labels"] < t["examples"]
    for key, total in [("examples", 160), ("labels", found["labels"]["bought"]), ("updates", found["updates"])]:
        assert sum(t[key] for t in found["tasks"]) == total
    assert found["labels"]["limit"] is None
    assert 4 * 6 * 4 <= found["model_bytes"] < 10_000  # at least 24 weights
    text = quorate.ok("inspect", "m").out
    for word in (found["learner"], "160 examples", "4 tasks", f"{found['labels']['bought']} labels bought", "12 bits",
                 f"{found['model_bytes']:,} bytes"):
        assert word in text
    for t in found["tasks"]:
        row = [str(t[key]) for key in ("task", "examples", "labels", "mistakes", "updates")]
        assert row in [line.split() for line in text.splitlines()]


@pytest.mark.parametrize("graph, names, expected", [
    ("complete", ["t0", "t1", "t2", "t3"], common.complete(4)),
    ("disconnected", ["t0", "t1", "t2", "t3"], common.disconnected(4)),
    ("cliques(file=groups.csv)", ["t1", "t3", "t0", "t2"], common.cliques("aabc")),
    ("edges(file=edges.csv)", ["t0", "t1", "t2", "t3"], common.edges(4, [(0, 1), (1, 2)]))])
def test_inspect_shows_the_interaction_matrix(quorate, folder, graph, names, expected):
    train(quorate, "all.csv", "m", "--learner", f"cmtl(graph={graph})")
    found = inspect(quorate, "m")
    assert [t["task"] for t in found["tasks"]] == names  # a graph's file names its tasks first
    assert np.array(found["influence"]) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    text = quorate.ok("inspect", "m").out
    for i, name in enumerate(names):
        row = [str(i + 1), name, *(f"{v:.3f}" for v in expected[i])]
        assert row in [line.split() for line in text.splitlines()]


def test_inspect_shows_as_many_tasks_as_asked_for(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "cmtl")
    found = inspect(quorate, "m", "--tasks", 2)
    assert found["task_count"] == 4 and [t["task"] for t in found["tasks"]] == ["t0", "t1"]
    assert np.shape(found["influence"]) == (2, 2)
    assert "2 more" in quorate.ok("inspect", "m", "--tasks", 2).out


# ---- streams that stop and go

def test_a_model_is_used_while_its_stream_is_open(quorate, folder):
    lines = samples.svmlight(ROWS).splitlines(keepends=True)
    process = quorate.start("train", "--data", "-", "--format", "svmlight", "--model", "live", "--learner", "cmtl", "--save-every", 20)
    process.stdin.write("".join(lines[:50]).encode())
    process.stdin.flush()
    wait_for_rest(process)
    assert inspect(quorate, "live")["examples"] == 40
    (folder / "first.svm").write_text("".join(lines[:40]))
    train(quorate, "first.svm", "until", "--learner", "cmtl")
    assert predict(quorate, "first.svm", "live") == predict(quorate, "first.svm", "until")
    process.communicate("".join(lines[50:]).encode(), timeout=GUARD)
    assert process.returncode == 0 and inspect(quorate, "live")["examples"] == len(lines)


def stopped(process) -> str:
    """Ctrl-C; the program must end although its input is still open. Returns its standard error."""
    process.send_signal(signal.SIGINT)
    process.wait(GUARD)
    return process.stderr.read().decode()


def place(err: str) -> int:
    """How many examples an interrupted run says it took, from its one line."""
    assert err.count("\n") == 1
    said = re.search(r"interrupted after example ([\d,]+)\b.*--skip (\d+)", err)
    assert said, err
    assert int(said[1].replace(",", "")) == int(said[2])
    return int(said[2])


START = ["train", "--data", "-", "--format", "svmlight", "--model", "m", "--learner", "amtl(query=similarity)"]


def goes_on_as_if_never_stopped(quorate, lines, taken):
    (quorate.folder / "all.svm").write_text("".join(lines))
    assert inspect(quorate, "m")["examples"] == taken
    quorate.ok("train", "--data", "all.svm", "--model", "m", "--skip", taken)
    quorate.ok("train", "--data", "all.svm", "--model", "whole", "--learner", "amtl(query=similarity)")
    assert (quorate.folder / "m").read_bytes() == (quorate.folder / "whole").read_bytes()


def test_ctrl_c_on_a_slow_stream_saves_what_was_learned(quorate):
    lines = samples.svmlight(ROWS).splitlines(keepends=True)
    process = quorate.start(*START)
    for line in lines[:20]:
        process.stdin.write(line.encode())
        process.stdin.flush()
        wait_for_rest(process)
    err = stopped(process)
    assert process.returncode == 130, err
    assert "m is saved" in err and "standard input" in err
    assert place(err) == 20
    goes_on_as_if_never_stopped(quorate, lines, 20)


@pytest.fixture
def busy(quorate):
    """Starts a run on an endless stream of the same 2,000 examples, stops it after some thousand; gives the examples and what
    the run said."""
    def run(*command):
        lines = samples.svmlight(samples.rows(2000, seed=8)).splitlines(keepends=True)
        block = "".join(lines).encode()
        process = quorate.start(*command)
        taken = threading.Event()

        def feed():
            try:
                for n in itertools.count():
                    process.stdin.write(block)
                    if n == 3:
                        taken.set()
                    time.sleep(0.02)  # so that not much comes behind it
            except (BrokenPipeError, ValueError):  # the program ended
                pass

        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            assert taken.wait(GUARD)
            err = stopped(process)
        finally:
            process.kill()
            feeder.join()
        assert process.returncode == 130, err
        return lines, err
    return run


def test_ctrl_c_on_a_busy_stream_saves_what_was_learned(quorate, busy):
    lines, err = busy(*START)
    taken = place(err)
    assert taken > 1000
    goes_on_as_if_never_stopped(quorate, lines * (taken // len(lines) + 1), taken)


def test_ctrl_c_while_examples_are_passed_over_does_not_learn_them_again(quorate, folder, busy):
    (folder / "all.svm").write_text(samples.svmlight(ROWS))
    train(quorate, "all.svm", "m", "--learner", "amtl(query=similarity)")
    before = (folder / "m").read_bytes()
    _, err = busy("train", "--data", "-", "--format", "svmlight", "--model", "m", "--skip", 10**9)
    assert (folder / "m").read_bytes() == before
    assert re.search(r"--skip (\d+)", err)[1] == str(10**9), err


def test_ctrl_c_before_the_first_example_ends_at_once(quorate):
    process = quorate.start(*START)
    wait_for_rest(process)
    err = stopped(process)
    assert process.returncode == 130 and "interrupted" in err and err.count("\n") == 1


def test_predictions_stream_out_as_examples_come_in(quorate, folder):
    train(quorate, "all.csv", "m", "--learner", "cmtl")
    process = quorate.start("predict", "--data", "-", "--format", "csv", "--model", "m")
    lines = samples.csv(NEW).splitlines(keepends=True)
    process.stdin.write("".join(lines[:2]).encode())
    process.stdin.flush()
    answer = []
    reader = threading.Thread(target=lambda: answer.append(process.stdout.readline()))
    reader.start()
    reader.join(GUARD)  # the stream is still open
    streamed = bool(answer)
    process.stdin.close()
    reader.join()
    assert json.loads(answer[0])["id"] == NEW[0].id
    assert streamed, "the first prediction came only when the stream had ended"


@pytest.mark.parametrize("trace", ["trace", None])
def test_ctrl_c_on_a_simulation_leaves_nothing_behind(quorate, folder, trace):
    before = sorted(p.name for p in folder.iterdir())
    process = quorate.start("simulate", "--data", "all.csv", "--passes", 10**7, "--runs", 3, "--threads", 2,
                            *(["--trace", trace] if trace else []))
    wait_for_work(process, 0.2)
    assert (trace is None) == (sorted(p.name for p in folder.iterdir()) == before), "a trace has its temporary"
    err = stopped(process)
    assert process.returncode == 130, err
    assert process.stdout.read() == b"" and err.count("\n") == 1
    assert re.search(r"interrupted after [\d,]+ of [\d,]+ examples", err)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_ctrl_c_while_waiting_for_a_csv_header_ends_quietly(quorate):
    """Nothing has come yet, so there is nothing to say of the data."""
    child = quorate.start("train", "--data", "-", "--format", "csv", "--model", "m", "--learner", "perceptron")
    wait_for_rest(child)
    child.send_signal(signal.SIGINT)
    assert child.wait(GUARD) == 130
    assert b"interrupted" in child.stderr.read()


def test_every_row_has_its_line(quorate):
    """Without ids a prediction is joined by its place in the file."""
    (quorate.folder / "train.csv").write_text("label,a\n" + "".join(f"{n % 2},{n % 2 * 3 + n / 100}\n" for n in range(40)))
    (quorate.folder / "new.csv").write_text("a\n0.5\noops\n3.5\n")
    quorate.ok("train", "--data", "train.csv", "--model", "m")
    lines = quorate.ok("predict", "--data", "new.csv", "--model", "m", "--on-error", "skip").lines()
    assert [line["id"] for line in lines] == ["1", "2", "3"] and "new.csv:3:" in lines[1]["error"] and lines[2]["label"] == "1"
    rows = list(csv_format.DictReader(io.StringIO(quorate.ok("predict", "--data", "new.csv", "--model", "m", "--on-error", "skip", "--to", "csv").out)))
    assert [(row["id"], bool(row["label"]), bool(row["error"])) for row in rows] == [("1", True, False), ("2", False, True), ("3", True, False)]
    (quorate.folder / "bad.csv").write_text("a\nx\ny\n")
    assert len(quorate.ok("predict", "--data", "bad.csv", "--model", "m", "--on-error", "skip").lines()) == 2


def test_thresholds(quorate):
    rows = "".join(f"{int(n % 11 == 0)},{n % 7},{(n % 11 == 0) * 2 + n % 5}\n" for n in range(600))
    (quorate.folder / "rare.csv").write_text("label,a,b\n" + rows)
    quorate.ok("train", "--data", "rare.csv", "--model", "m")
    found = quorate.ok("evaluate", "--data", "rare.csv", "--model", "m", "--thresholds", "--json").json()
    assert found["always"] == {"label": "0", "accuracy": pytest.approx(545 / 600)} and 0 < found["threshold"] < 1
    alarms = [one["alarms_per_1000"] for one in found["thresholds"]]
    assert alarms == sorted(alarms, reverse=True) and alarms[0] > alarms[-1]
    assert quorate.ok("inspect", "m", "--json").json()["threshold"] == found["threshold"]
    assert "1 is predicted from a probability of" in quorate.ok("inspect", "m").out
    for one in found["thresholds"][::4]:
        at = quorate.ok("evaluate", "--data", "rare.csv", "--model", "m", "--threshold", one["threshold"], "--json").json()["measures"]
        assert at["recall"]["value"] == pytest.approx(one["recall"], abs=0.02)
        lines = quorate.ok("predict", "--data", "rare.csv", "--model", "m", "--threshold", one["threshold"], "--probabilities").lines()
        assert all((line["label"] == "1") == (line["probability"] >= one["threshold"]) for line in lines)
        assert 1000 * sum(line["label"] == "1" for line in lines) / 600 == pytest.approx(one["alarms_per_1000"])
    quorate.ok("train", "--data", "rare.csv", "--model", "p", "--learner", "perceptron")
    result = quorate("predict", "--data", "rare.csv", "--model", "p", "--threshold", "0.5")
    assert result.code == 2 and "calibrated" in result.err
    quorate.ok("train", "--data", "rare.csv", "--model", "c", "--classes", "one-vs-rest")
    result = quorate("predict", "--data", "rare.csv", "--model", "c", "--threshold", "0.5")
    assert result.code == 2 and "c was made with --classes" in result.err and "--positive" in result.err


def test_a_model_of_two_parts_has_the_bytes_of_one_whatever_the_order_of_its_limits(quorate):
    rows = [f"{n % 2},{n % 7}\n" for n in range(200)]
    for name, part in {"all": rows, "first": rows[:90], "second": rows[90:]}.items():
        (quorate.folder / f"{name}.csv").write_text("label,a\n" + "".join(part))
    options = ["--labels", "3/10", "--labels", "040", "--max-pending", 50]
    quorate.ok("train", "--data", "all.csv", "--model", "whole", *options)
    quorate.ok("train", "--data", "first.csv", "--model", "parts", *options)
    quorate.ok("train", "--data", "second.csv", "--model", "parts", *options)
    assert (quorate.folder / "whole").read_bytes() == (quorate.folder / "parts").read_bytes()
    result = quorate("train", "--data", "all.csv", "--model", "whole", "--max-pending", 5)
    assert result.code == 2 and "--max-pending 5 cannot be changed" in result.err
