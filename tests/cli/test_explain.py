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
    input_ = quorate.ok("inspect", "m", "--json").json()["settings"]
    assert (input_["ngrams"], input_["char_ngrams"], input_["interactions"]) == (2, 4, ["channel*age"])
    bad = quorate("train", "--data", "a.csv", "--model", "n", "--positive", "spam", "--interactions", "chanel*age")
    assert bad.code == 2 and "'chanel'" in bad.err and "channel" in bad.err and not (quorate.folder / "n").exists()
    again = quorate("train", "--data", "a.csv", "--model", "m", "--ngrams", 3)
    assert again.code == 2 and "--ngrams" in again.err


def test_features_that_decide_have_names_by_data(model):
    shown = model.ok("inspect", "m", "--features", 30, "--data", "a.csv", "--json").json()["features"]
    of_examples = {}
    for line in model.ok("predict", "--model", "m", "--data", "a.csv", "--explain", 100).lines():
        for reason in line["reasons"]:
            of_examples.setdefault(reason["feature"], []).append(abs(reason["contribution"]))
    assert {f["feature"]: f["examples"] for f in shown}.items() <= {name: len(all) for name, all in of_examples.items()}.items()
    for f in shown:
        assert abs(f["contribution"]) == pytest.approx(sum(of_examples[f["feature"]]) / f["examples"], rel=1e-9, abs=1e-12)
        assert f["label"] == "spam"
    order = [abs(f["contribution"]) * f["examples"] for f in shown]
    assert order == sorted(order, reverse=True)
    sign = {f["feature"]: f["contribution"] > 0 for f in shown}
    assert sign["subject^free"] and sign["channel=mail"] and not sign["channel=chat"]
    table = model.ok("inspect", "m", "--features", 3, "--data", "a.csv").out.splitlines()
    assert table[0] == "features that decide most over 300 examples; contributions above 0 speak for the label"
    assert table[2].split() == ["feature", "label", "examples", "contribution", "shared", "own"] and len(table) == 6
    assert [row.split()[0] for row in table[3:]] == [f["feature"] for f in shown[:3]]


def test_features_that_decide_without_data_are_those_of_the_kept_labels(model):
    out = model.ok("inspect", "m", "--features", 20).out
    assert "over 300 kept labels" in out and "constant" in out and "#N: a name that the model does not keep" in out
    model.ok("train", "--data", "a.csv", "--model", "all", "--positive", "spam", "--text-column", "subject", "--bits", 0, "--quiet")
    out = model.ok("inspect", "all", "--features", 20).out
    assert "subject^free" in out and "#" not in out
    model.ok("train", "--data", "a.csv", "--model", "none", "--positive", "spam", "--keep-labels", 0, "--quiet")
    result = model("inspect", "none", "--features", 3)
    assert result.code == 1 and "keeps no labels" in result.err and "--data" in result.err


def test_features_of_one_task(model):
    one = model.ok("inspect", "m", "--features", 9, "--data", "a.csv", "--task", "u1", "--json").json()["features"]
    assert all(f["contribution"] == pytest.approx(f["shared"] + f["own"]) for f in one if f["feature"] != "age") and any(f["own"] for f in one)
    assert "with the weights of u1" in model.ok("inspect", "m", "--features", 1, "--task", "u1").out
    for wrong, said in ((("--features", 1, "--task", "u9"), "no such task"), (("--task", "u1"), "--features"),
                        (("--data", "a.csv"), "--features"), (("--features", 0), "--features")):
        result = model("inspect", "m", *wrong)
        assert result.code == 2 and said in result.err
    model.ok("train", "--data", "a.csv", "--model", "k", "--positive", "spam", "--learner", "kernel-perceptron", "--quiet")
    result = model("inspect", "k", "--features", 2)
    assert result.code == 2 and "kernel-perceptron" in result.err


def test_features_of_each_class_and_user(quorate):
    rows = ROWS.replace("ham,u0", "urgent,u0")
    (quorate.folder / "a.csv").write_text(rows)
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--classes", "one-vs-rest", "--text-column", "subject", "--quiet")
    found = quorate.ok("inspect", "m", "--features", 4, "--data", "a.csv", "--json").json()["features"]
    assert [f["label"] for f in found] == [c for c in ("ham", "spam", "urgent") for _ in range(4)]
    out = quorate.ok("inspect", "m", "--features", 2, "--task", "u0").out.splitlines()
    assert out[0].endswith("speak for the label") and out[2].split()[:3] == ["feature", "label", "examples"]
    quorate.ok("train", "--data", "a.csv", "--model", "n", "--classes", "one-vs-rest", "--no-users", "--quiet")
    assert quorate("inspect", "n", "--features", 2, "--task", "u0").code == 2
