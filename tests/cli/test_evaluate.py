"""quorate evaluate: the measures of a saved model."""
import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score, roc_auc_score


def table(n, classes=2, seed=0, users=3):
    rng = np.random.default_rng(seed)
    rows = ["label,task,a,b"]
    for i in range(n):
        c = int(rng.integers(classes))
        x = rng.normal(size=2) + [2 * np.cos(c * 2), 2 * np.sin(c * 2)]
        rows.append(f"{'no yes maybe'.split()[c]},u{i % users},{x[0]:.4f},{x[1]:.4f}")
    return "\n".join(rows) + "\n"


@pytest.fixture
def folder(quorate):
    (quorate.folder / "train.csv").write_text(table(600))
    (quorate.folder / "test.csv").write_text(table(400, seed=1))
    quorate.ok("train", "--data", "train.csv", "--model", "m", "--learner", "cohort(query=always)")
    return quorate.folder


def test_measures_are_those_of_the_predictions(quorate, folder):
    found = quorate.ok("evaluate", "--model", "m", "--data", "test.csv", "--json", "--per-task").json()
    lines = quorate.ok("predict", "--model", "m", "--data", "test.csv", "--probabilities").lines()
    truth = [row.split(",")[0] for row in (folder / "test.csv").read_text().splitlines()[1:]]
    right = np.array([line["label"] == t for line, t in zip(lines, truth)])
    assert found["examples"] == 400
    measures = found["measures"]
    assert measures["accuracy"]["value"] == pytest.approx(right.mean())
    assert measures["auc"]["value"] == pytest.approx(roc_auc_score([t == "yes" for t in truth], [line["margin"] for line in lines]))
    assert measures["brier"]["value"] == pytest.approx(np.mean([(line["probability"] - (t == "yes")) ** 2 for line, t in zip(lines, truth)]))
    for measure in measures.values():
        assert measure["low"] <= measure["value"] <= measure["high"]
    for u in range(3):
        assert found["tasks"][f"u{u}"]["measures"]["accuracy"]["value"] == pytest.approx(right[u::3].mean())


@pytest.mark.parametrize("classes", [2, 3])
def test_measures_are_those_of_simulate(quorate, folder, classes):
    (folder / "some.csv").write_text(table(300, classes, seed=2))
    (folder / "others.csv").write_text(table(200, classes, seed=3))
    reduction = ["--classes", "one-vs-rest"] if classes > 2 else []
    simulated = quorate.ok("simulate", "--data", "some.csv", "--test", "others.csv", "--in-order", "--seed", 7, "--labels", 60, "--json", *reduction).json()
    quorate.ok("train", "--data", "some.csv", "--model", "s", "--seed", 7, "--labels", 60, *reduction)
    measures = quorate.ok("evaluate", "--model", "s", "--data", "others.csv", "--json").json()["measures"]
    same = [name for name in measures if name in simulated["mean"]]
    assert "accuracy" in same and len(same) >= 2
    for name in same:
        assert measures[name]["value"] == pytest.approx(simulated["mean"][name], rel=1e-12), name


def test_a_models_file_is_not_changed(quorate, folder):
    before = (folder / "m").read_bytes()
    quorate.ok("evaluate", "--model", "m", "--data", "test.csv")
    assert (folder / "m").read_bytes() == before


def test_classes_have_a_confusion_matrix_of_each_user(quorate, folder):
    (folder / "c.csv").write_text(table(600, 3))
    (folder / "d.csv").write_text(table(300, 3, seed=1))
    quorate.ok("train", "--data", "c.csv", "--model", "c", "--classes", "one-vs-rest", "--learner", "cohort(query=always)")
    found = quorate.ok("evaluate", "--model", "c", "--data", "d.csv", "--json", "--per-task").json()
    truth = [row.split(",")[0] for row in (folder / "d.csv").read_text().splitlines()[1:]]
    guess = [line["label"] for line in quorate.ok("predict", "--model", "c", "--data", "d.csv").lines()]
    names = ["maybe", "no", "yes"]
    assert found["labels"] == names
    assert found["confusion"] == confusion_matrix(truth, guess, labels=names).tolist()
    for u in range(3):
        assert found["tasks"][f"u{u}"]["confusion"] == confusion_matrix(truth[u::3], guess[u::3], labels=names).tolist()
    text = quorate.ok("evaluate", "--model", "c", "--data", "d.csv", "--per-task").out
    assert "maybe" in text and "accuracy" in text
    assert "rows: true label" in text and not any(line.endswith(" ") for line in text.splitlines())


def test_data_without_labels_are_refused(quorate, folder):
    (folder / "none.csv").write_text("task,a,b\nu0,1,2\n")
    result = quorate("evaluate", "--model", "m", "--data", "none.csv")
    assert result.code == 1 and "none.csv" in result.err and "label" in result.err


def test_two_labels_have_a_confusion_matrix_precision_and_recall(quorate, folder):
    found = quorate.ok("evaluate", "--model", "m", "--data", "test.csv", "--json", "--per-task").json()
    truth = [row.split(",")[0] for row in (folder / "test.csv").read_text().splitlines()[1:]]
    guess = [line["label"] for line in quorate.ok("predict", "--model", "m", "--data", "test.csv").lines()]
    assert found["labels"] == ["no", "yes"]
    assert found["confusion"] == confusion_matrix(truth, guess, labels=["no", "yes"]).tolist()
    assert found["tasks"]["u1"]["confusion"] == confusion_matrix(truth[1::3], guess[1::3], labels=["no", "yes"]).tolist()
    for name, expected in (("precision", precision_score), ("recall", recall_score)):
        measure = found["measures"][name]
        assert measure["value"] == pytest.approx(expected(truth, guess, pos_label="yes"))
        assert measure["low"] <= measure["value"] <= measure["high"]
    text = quorate.ok("evaluate", "--model", "m", "--data", "test.csv", "--per-task").out
    assert "rows: true label, columns: predicted label" in text and "precision" in text
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_instances_of_classes_are_counted_beside_their_examples(quorate, folder):
    (folder / "c.csv").write_text(table(600, 3))
    out = quorate.ok("train", "--data", "c.csv", "--model", "c", "--classes", "one-vs-rest").out
    assert "total: 600 instances, 1,800 examples of 9 tasks (3 users), " in out
    assert "600 instances, 1,800 examples of 9 tasks (3 users); " in quorate.ok("inspect", "c").out
