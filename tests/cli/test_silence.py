"""Nothing that was asked for, or that the data say, is left out in silence; and a model keeps what it was told."""
import json
import re

import pytest
import samples

ROWS = samples.rows(400, seed=5)
MAILS = [{"user": f"u{i % 4}", "verdict": "spam" if i % 3 == 0 else "ham", "mid": f"m{i}",
          "words": ("cheap pills buy now" if i % 3 == 0 else "lunch with the team") + f" week{'abcdefg'[i % 7]}",
          "x": {"links": i % 3}} for i in range(300)]
ROLES = ("--task-column", "user", "--label-column", "verdict", "--id-column", "mid", "--positive", "spam")


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def failed(quorate, code, *args):
    result = quorate(*args)
    assert result.code == code, result.err
    return result.err


@pytest.fixture
def folder(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    (quorate.folder / "a.jsonl").write_text(samples.jsonl(ROWS))
    (quorate.folder / "a.vw").write_text(samples.vw(ROWS))
    (quorate.folder / "m.jsonl").write_text(lines(MAILS))
    return quorate.folder


def test_keys_outside_x_are_said_to_be_left_out(quorate, folder):
    found = quorate.ok("train", "--data", "m.jsonl", "--model", "m", *ROLES)
    assert "m.jsonl: the key 'words' (line 1) is outside x; 300 values of such keys left out" in found.err
    assert "outside x" not in quorate.ok("train", "--data", "m.jsonl", "--model", "n", *ROLES, "--text-column", "words").err
    assert "outside x" not in quorate.ok("train", "--data", "m.jsonl", "--model", "o", *ROLES, "--ignore-column", "words").err


def test_what_convert_writes_is_learned_as_it_was(quorate, folder):
    """Texts of columns, too, which JSON lines name inside the key text."""
    rows = ["subject,body,n,label"] + [f"{m['words']},{m['words'][::-1]},{i % 5},{m['verdict']}" for i, m in enumerate(MAILS)]
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    options = ("--text-column", "subject", "--number-column", "n")
    quorate.ok("convert", "t.csv", "t.jsonl", *options)
    first = json.loads((folder / "t.jsonl").read_text().splitlines()[0])
    assert first["text"]["subject"] == MAILS[0]["words"] and first["x"]["n"] == 0
    assert quorate.ok("convert", "t.jsonl", "again.jsonl").err.count("left out") == 0
    assert (folder / "again.jsonl").read_text() == (folder / "t.jsonl").read_text()
    accuracy = [quorate.ok("simulate", "--data", name, "--test-share", 0.3, "--positive", "spam", "--json", *more)
                .json()["mean"]["accuracy"] for name, more in (("t.csv", options), ("t.jsonl", ()))]
    assert accuracy[0] == accuracy[1] == 1


@pytest.mark.parametrize("name", ["m.jsonl", "m.vw"])
def test_names_of_task_label_and_id_stay_in_the_model(quorate, folder, name):
    (folder / "m.vw").write_text("".join(f"{1 if m['verdict'] == 'spam' else -1} '{m['mid']} |user {m['user']} |w {m['words']}\n" for m in MAILS))
    jsonl = name.endswith("jsonl")
    roles = (*ROLES, "--text-column", "words") if jsonl else ("--task-column", "user")
    quorate.ok("train", "--data", name, "--model", "m", *roles)
    quorate.ok("train", "--data", name, "--model", "n", *roles)
    predicted = quorate.ok("predict", "--model", "m", "--data", name)
    first = json.loads(predicted.out.splitlines()[0])
    assert (first["id"], first["task"], predicted.err) == ("m0", "u0", "")
    assert quorate.ok("evaluate", "--model", "m", "--data", name, "--json").json()["measures"]["accuracy"]["value"] == 1
    quorate.ok("train", "--data", name, "--model", "m")
    quorate.ok("train", "--data", name, "--model", "n", *roles)
    assert (folder / "m").read_bytes() == (folder / "n").read_bytes()
    error = failed(quorate, 2, "train", "--data", name, "--model", "m", "--task-column", "usr")
    assert "--task-column usr: the model has its task in 'user'; leave it out" in error


def test_other_words_for_labels_are_noticed(quorate, folder):
    for name, words in (("sh", "spam ham"), ("SH", "SPAM HAM"), ("jf", "junk fine")):
        spam, ham = words.split()
        text = "".join(f"{m['words']},{spam if m['verdict'] == 'spam' else ham}\n" for m in MAILS)
        (folder / f"{name}.csv").write_text("text,label\n" + text)
    quorate.ok("train", "--data", "sh.csv", "--model", "m", "--positive", "spam")
    before = (folder / "m").read_bytes()
    for command in ("train", "evaluate"):
        error = failed(quorate, 1, command, "--data", "SH.csv", "--model", "m")
        assert "SH.csv:2: label 'SPAM'; expected 'spam', the label that means +1, written like that" in error
    assert (folder / "m").read_bytes() == before
    said = "labelled examples has the label 'spam', which means +1; the labels are 'fine', 'junk'"
    assert said in quorate.ok("evaluate", "--data", "jf.csv", "--model", "m").err
    assert said.replace("labelled ", "") in quorate.ok("train", "--data", "jf.csv", "--model", "m").err
    (folder / "ham.csv").write_text("text,label\nlunch,ham\n")  # no word that is new
    assert quorate.ok("train", "--data", "ham.csv", "--model", "m").err == ""


@pytest.mark.parametrize("command", [("simulate",), ("compare", "--learner", "perceptron"),
                                     ("tune", "--learner", "perceptron(query=margin)", "--grid", "query.b=1,2")])
def test_experiments_refuse_what_no_line_has(quorate, folder, command):
    name, *rest = command
    data = lambda file, *options: failed(quorate, 1, name, *rest, "--data", file, *options)  # noqa: E731
    assert "no example has the label 'yess', which means +1" in data("a.csv", "--positive", "yess")
    for option, word in (("--task-column", "usr"), ("--ignore-column", "metta"), ("--weight-column", "weigth"), ("--id-column", "zz")):
        assert f"a.jsonl: {option}: no key '{word}'" in data("a.jsonl", option, word)
    assert "a.vw: --time-column: no namespace 'tt' in any line" in data("a.vw", "--time-column", "tt")


def test_kinds_of_keys_outside_x_are_refused(quorate, folder):
    for option in ("--categorical-column", "--number-column"):
        assert f"{option} words: m.jsonl has its features in the key x" in failed(quorate, 2, 
            "train", "--data", "m.jsonl", "--model", "m", option, "words")


@pytest.mark.parametrize("given", ["each", "per-task"])
def test_rounds_stay_in_the_model(quorate, folder, given):
    half = len(ROWS) // 2
    (folder / "1.csv").write_text(samples.csv(ROWS[:half]))
    (folder / "2.csv").write_text(samples.csv(ROWS[half:]))
    for model, parts in (("whole", ["a.csv"]), ("parts", ["1.csv", "2.csv"])):
        for n, part in enumerate(parts):
            quorate.ok("train", "--data", part, "--model", model, *(("--learner", "shampo", "--rounds", given) if n == 0 else ()))
    if given == "each":  # else the end of the data ends a round
        assert (folder / "whole").read_bytes() == (folder / "parts").read_bytes()
    labels = quorate.ok("inspect", "--json", "parts").json()["labels"]["bought"]
    assert labels == 400 if given == "each" else labels < 200


def test_a_pace_counts_from_the_first_run_on(quorate, folder):
    half = len(ROWS) // 2
    (folder / "1.csv").write_text(samples.csv(ROWS[:half]))
    (folder / "2.csv").write_text(samples.csv(ROWS[half:]))
    pace = ("--labels", 60, "--pace", "even", "--length", 400)
    learner = ("--learner", "perceptron(query=margin(b=50))")
    quorate.ok("train", "--data", "a.csv", "--model", "whole", *learner, *pace)
    for model, again in (("left", ()), ("given", pace)):
        quorate.ok("train", "--data", "1.csv", "--model", model, *learner, *pace)
        quorate.ok("train", "--data", "2.csv", "--model", model, *again)
        assert (folder / model).read_bytes() == (folder / "whole").read_bytes()


def test_look_proposes_nothing_that_train_refuses(quorate, folder):
    (folder / "several.csv").write_text("text,label\n" + "".join(
        f"{m['words']},{m['verdict']}{';urgent' if i % 2 else ''}\n" for i, m in enumerate(MAILS)))
    (folder / "numbers.csv").write_text("text,label\n" + "".join(f"a,{i / 7}\n" for i in range(1200)))
    for name, why in (("several.csv", "are several in one"), ("numbers.csv", "more than 1,000 different labels")):
        out = quorate.ok("look", name).out
        assert why in out and "next:" not in out
        assert quorate.ok("look", name, "--json").json()["command"] is None
    (folder / "rare.csv").write_text("text,label\n" + "".join(f"{m['words']},{i % 20 == 0:d}\n" for i, m in enumerate(MAILS)))
    out = quorate.ok("look", "rare.csv").out
    assert "label '1' is rare (5.0 %)" in out and re.search(r"quorate train --data rare.csv .*", out)


def test_results_are_not_appended_to_what_they_come_from(quorate, folder):
    quorate.ok("train", "--data", "a.csv", "--model", "m")
    before = {name: (folder / name).read_bytes() for name in ("a.csv", "m")}
    for name, *command in (("a.csv", "train", "--data", "a.csv", "--model", "m", "--json"),
                           ("a.csv", "evaluate", "--data", "a.csv", "--model", "m"),
                           ("a.csv", "simulate", "--data", "a.csv"), ("m", "inspect", "m")):
        with (folder / name).open("ab") as out:
            assert quorate.start(*command, stdout=out).wait() == 2
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_interactions_that_no_line_has_are_refused(quorate, folder):
    vw = "".join(f"{1 if i % 2 else -1} |w word{i % 5} |n size:{i % 7}\n" for i in range(60))
    (folder / "w.vw").write_text(vw)
    bits = ("--data", "w.vw", "--model", "m", "--interactions")
    assert "--interactions nope*zip: no line has features of both; m is not written" in failed(quorate, 1, "train", *bits, "nope*zip")
    assert "--interactions w*zip" in failed(quorate, 1, "train", *bits, "w*n", "--interactions", "w*zip", "--bits", "0")
    assert not (folder / "m").exists()
    assert "interactions" not in quorate.ok("train", *bits, "w*n").err
    (folder / "other.vw").write_text("1 |n size:3\n-1 |n size:2\n")
    assert "--interactions w*n: no line has features of both" in quorate.ok("train", "--data", "other.vw", "--model", "m").err
    assert "--interactions w*zip" in failed(quorate, 1, "simulate", "--data", "w.vw", "--test-share", "0.5", "--interactions", "w*zip")
