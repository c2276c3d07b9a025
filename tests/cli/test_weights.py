"""Importance weights: of a column, of a JSON key, of Vowpal Wabbit text."""
import json
import random

import pytest


def rows(n, seed=3):
    """(x, y, weight): the label is the sign of x but for a tenth, and a quarter of the examples weigh 3."""
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        x = [round(rng.gauss(0, 1), 3) for _ in range(4)]
        y = 1 if (x[0] + x[1] > 0) != (rng.random() < 0.1) else -1
        out.append((x, y, 3 if rng.random() < 0.25 else 1))
    return out


def csv(data, weights=True):
    head = "a,b,c,d,label" + (",importance" if weights else "")
    return "\n".join([head] + [",".join(map(str, [*x, y] + ([w] if weights else []))) for x, y, w in data]) + "\n"


def learned(quorate, name, *args, model="m"):
    (quorate.folder / model).unlink(missing_ok=True)
    quorate.ok("train", "--data", name, "--model", model, "--quiet", *args)
    return quorate.ok("predict", "--model", model, "--data", "test.csv", "--to", "csv").out


@pytest.fixture
def files(quorate):
    data = rows(200)
    (quorate.folder / "all.csv").write_text(csv(data))
    (quorate.folder / "test.csv").write_text("a,b,c,d\n" + "\n".join(",".join(map(str, x)) for x, _, _ in rows(30, 4)) + "\n")
    (quorate.folder / "repeated.csv").write_text(csv([row for row in data for _ in range(row[2])], weights=False))
    (quorate.folder / "all.jsonl").write_text(
        "".join(json.dumps(dict(zip("abcd", x), label=y, importance=w)) + "\n" for x, y, w in data))
    return data


@pytest.mark.parametrize("learner", ["perceptron", "cmtl", "kernel-perceptron"])
def test_a_weight_is_as_many_examples(quorate, files, learner):
    weighed = learned(quorate, "all.csv", "--weight-column", "importance", "--learner", learner)
    assert weighed == learned(quorate, "repeated.csv", "--learner", learner)
    assert weighed != learned(quorate, "all.csv", "--ignore-column", "importance", "--learner", learner)


def test_every_format_says_the_same(quorate, files):
    expected = learned(quorate, "all.csv", "--weight-column", "importance")
    assert learned(quorate, "all.jsonl", "--weight-column", "importance") == expected
    assert learned(quorate, "all.csv", "--ignore-column", "importance") != expected
    quorate.ok("convert", "all.csv", "all.vw", "--weight-column", "importance", "--quiet")
    assert " 3 |" in (quorate.folder / "all.vw").read_text()
    quorate.ok("convert", "all.vw", "again.jsonl", "--quiet")
    weights = [json.loads(line).get("weight", 1) for line in (quorate.folder / "again.jsonl").read_text().splitlines()]
    assert weights == [w for _, _, w in files]


def test_the_model_remembers_the_column(quorate, files):
    learned(quorate, "all.csv", "--weight-column", "importance", "--learner", "perceptron")
    quorate.ok("train", "--data", "all.csv", "--model", "m", "--quiet")
    more = quorate.ok("predict", "--model", "m", "--data", "test.csv", "--to", "csv").out
    learned(quorate, "all.csv", "--weight-column", "importance", "--learner", "perceptron")
    quorate.ok("train", "--data", "all.csv", "--model", "m", "--weight-column", "importance", "--quiet")
    assert quorate.ok("predict", "--model", "m", "--data", "test.csv", "--to", "csv").out == more


def test_weight_0_is_no_label(quorate, files):
    lines = csv(files).splitlines()
    (quorate.folder / "zero.csv").write_text("\n".join([lines[0]] + [line[: line.rindex(",")] + ",0" for line in lines[1:101]]) + "\n")
    done = quorate("train", "--data", "zero.csv", "--model", "zero", "--weight-column", "importance")
    assert done.code == 1 and "label" in done.err


@pytest.mark.parametrize("weight", ["-1", "1001", "nan", "much"])
def test_a_bad_weight_is_named_with_its_place(quorate, files, weight):
    (quorate.folder / "bad.csv").write_text(f"a,label,importance\n1,1,1\n2,-1,{weight}\n")
    done = quorate("train", "--data", "bad.csv", "--model", "bad", "--weight-column", "importance")
    if weight == "nan":  # a missing value
        assert done.code == 0
        return
    assert done.code == 1
    assert f"bad.csv:3:6: '{weight}'; expected a number from 0 to 1000, the weight" in done.err


def test_simulate_weighs_too(quorate, files):
    def margins(*args):
        quorate.ok("simulate", "--data", "all.csv", "--learner", "perceptron", "--trace", "t.jsonl", "--quiet", *args)
        return (quorate.folder / "t.jsonl").read_text()

    assert margins("--weight-column", "importance") != margins("--ignore-column", "importance")


def test_svmlight_refuses_a_weight(quorate, files):
    done = quorate("convert", "all.csv", "all.svm", "--weight-column", "importance")
    assert done.code == 1 and "SVMlight cannot hold the weight 3" in done.err
