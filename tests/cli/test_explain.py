"""predict --explain: the features that decided."""
import json

import pytest
import samples

ROWS = "label,task,subject,channel,age\n" + "".join(
    f"{'spam' if n % 3 == 0 else 'ham'},u{n % 4},{['free cash offer', 'team lunch notes', 'project review agenda'][n % 3]} {n % 7},"
    f"{'mail' if n % 3 == 0 else 'chat'},{(37 * n) % 101}\n" for n in range(300))


@pytest.fixture
def model(quorate):
    (quorate.folder / "a.csv").write_text(ROWS)
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--positive", "spam", "--text-column", "subject", "--learner", "cohort(query=always)")
    return quorate


def test_reasons_have_the_names_of_the_data_and_sum_to_the_margin(model):
    lines = model.ok("predict", "--model", "m", "--data", "a.csv", "--explain", "50").lines()
    plain = model.ok("predict", "--model", "m", "--data", "a.csv").lines()
    for line, without in zip(lines, plain):
        reasons = line.pop("reasons")
        assert line == without
        assert sum(r["contribution"] for r in reasons) == pytest.approx(line["margin"], rel=1e-12, abs=1e-14)
        assert all(r["contribution"] == pytest.approx(r["shared"] + r["own"]) and r["uncertainty"] > 0 for r in reasons)
        assert all(r["value"] == 1 for r in reasons if r["feature"] not in ("age", "constant"))  # not 0.9999999999999999
        assert all(r["value"] == int(r["value"]) for r in reasons)
        sizes = [abs(r["contribution"]) for r in reasons]
        assert sizes == sorted(sizes, reverse=True)
    first = model.ok("predict", "--model", "m", "--data", "a.csv", "--explain", "3").lines()[0]["reasons"]
    assert len(first) == 3 and {r["feature"] for r in first} <= {"subject^free", "subject^cash", "subject^offer", "channel=mail", "age", "constant"}


def test_reasons_of_texts_sum_to_the_margin(quorate, data):
    lines = (data("spam-b") / "all.svm").read_text().splitlines(keepends=True)
    (quorate.folder / "a.svm").write_text("".join(lines[::4]))
    quorate.ok("train", "--data", "a.svm", "--model", "m", "--labels", 200)  # also with what unlabelled texts taught
    for line in quorate.ok("predict", "--model", "m", "--data", "a.svm", "--explain", 100_000).lines():
        assert sum(r["contribution"] for r in line["reasons"]) == pytest.approx(line["margin"], rel=1e-12, abs=1e-14)


def test_a_stranger_has_no_weights_of_its_own(model):
    (model.folder / "new.jsonl").write_text('{"task":"zoe","subject":"free lunch","channel":"mail","age":3}\n')
    for reason in model.ok("predict", "--model", "m", "--data", "new.jsonl", "--explain", "9").lines()[0]["reasons"]:
        assert reason["own"] == 0 and reason["shared"] != 0


def test_what_cannot_be_explained_is_refused(model):
    result = model("predict", "--model", "m", "--data", "a.csv", "--explain", "2", "--to", "csv")
    assert result.code == 2 and "--explain" in result.err and "jsonl" in result.err
    model.ok("train", "--data", "a.csv", "--model", "k", "--positive", "spam", "--learner", "kernel-perceptron", "--quiet")
    result = model("predict", "--model", "k", "--data", "a.csv", "--explain", "2")
    assert result.code == 2 and "kernel-perceptron" in result.err and "cohort" in result.err
    assert model("predict", "--model", "m", "--data", "a.csv", "--explain", "0").code == 2


def test_ngrams_letters_and_interactions_become_features(quorate):
    (quorate.folder / "a.csv").write_text(ROWS)
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--positive", "spam", "--text-column", "subject", "--ngrams", 2,
               "--char-ngrams", 4, "--interactions", "channel*age", "--learner", "cohort(query=always)", "--bits", 0)
    names = {r["feature"] for line in quorate.ok("predict", "--model", "m", "--data", "a.csv", "--explain", "99").lines() for r in line["reasons"]}
    assert {"subject^free cash", "subject# fre", "subject#cash", "channel=mail*age"} <= names
    assert "subject^free cash offer" not in names
    input_ = quorate.ok("inspect", "m", "--json").json()["input"]
    assert (input_["ngrams"], input_["char_ngrams"], input_["interactions"]) == (2, 4, ["channel*age"])
    bad = quorate("train", "--data", "a.csv", "--model", "n", "--positive", "spam", "--interactions", "chanel*age")
    assert bad.code == 2 and "'chanel'" in bad.err and "channel" in bad.err and not (quorate.folder / "n").exists()
    again = quorate("train", "--data", "a.csv", "--model", "m", "--ngrams", 3)
    assert again.code == 2 and "--ngrams" in again.err
