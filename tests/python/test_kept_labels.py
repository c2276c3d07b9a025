"""The labels that a model keeps: listed as they were bought, taken back, corrected, forgotten; and learning again from them."""

import multitask
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import quorate
from quorate import Cohort, KeptLabels, Peer

DATA = multitask.binary(80, seed=5)


def learned(**parameters):
    return Cohort(**({"query": "always"} | parameters)).fit(DATA.X, DATA.y, task=DATA.task)


def test_labels_are_listed_as_they_were_bought():
    kept = learned(query="margin(b=0.3)", trace=True, audit=0.1, seed=3)
    labels, trace = kept.kept_labels(), kept.trace_
    bought = trace[trace.label != 2]
    assert isinstance(labels, KeptLabels) and 10 < len(bought) < len(DATA)
    assert labels.id.tolist() == list(range(len(bought)))
    assert labels.label == [int(y) for y in bought.label] == [int(y) for y in DATA.y[trace.label != 2]]
    assert labels.task == [kept.tasks_[t] for t in bought.task]
    assert (labels.margin == bought.margin).all() and (labels.probability == bought.probability).all()
    assert (labels.audit == bought.audited).all() and labels.audit.any() and np.isnan(labels.time).all()
    timed = Cohort(query="always").fit(DATA.X, DATA.y, time=np.arange(80.0)).kept_labels()
    assert timed.time.tolist() == list(range(80))


def test_a_rebuild_is_repeatable_and_predicts_as_the_model():
    model = learned()
    before = model.predict(DATA.X, task=DATA.task)
    once = model.rebuild().to_bytes()
    assert model.rebuild().to_bytes() == once and (model.predict(DATA.X, task=DATA.task) == before).mean() > 0.95
    assert model.n_labels_ == 80


@pytest.mark.parametrize("strict", [False, True])
def test_undo_is_a_rebuild_without_the_labels(strict):
    at_once, one_by_one = learned(), learned()
    at_once.undo([3, 17], strict=strict)
    one_by_one.undo(17, strict=strict).undo(np.array([3]), strict=strict)
    assert multitask.same_model(at_once, one_by_one)
    assert 3 not in at_once.kept_labels().id and len(at_once.kept_labels().id) == 78
    assert at_once.n_labels_ == 80, "they stay bought"
    assert (at_once.decision_function(DATA.X) != learned().rebuild().decision_function(DATA.X)).any()


def test_a_correction_is_the_label_from_the_beginning():
    y = DATA.y.copy()
    y[7] = -y[7]
    wrong = Cohort(query="always").fit(DATA.X, y, task=DATA.task)
    assert wrong.kept_labels().label[7] == y[7]
    wrong.correct(7, DATA.y[7])
    assert wrong.kept_labels().label == DATA.y.tolist()
    assert (wrong.decision_function(DATA.X, task=DATA.task) == learned().rebuild().decision_function(DATA.X, task=DATA.task)).all()


def test_a_forgotten_task_is_gone():
    model = learned()
    model.forget("t1", strict=True)
    assert "t1" not in model.kept_labels().task and "t1" not in model.tasks_ and b'"t1"' not in model.to_bytes()
    others = DATA.task != "t1"
    same = Cohort(query="always").fit(DATA.X[others], DATA.y[others], task=DATA.task[others]).rebuild(strict=True)
    assert (model.decision_function(DATA.X) == same.decision_function(DATA.X)).all()


def test_a_label_of_classes_is_a_yes_about_the_class():
    data = multitask.classes(40)
    model = Cohort(query="always").fit(data.X, data.y)
    labels = model.kept_labels()
    assert labels.task == [f"class = {y}?" for y in data.y] and labels.label == [1] * 40
    wrong = data.y.copy()
    wrong[5] = data.y[5] % 4 + 1
    other = Cohort(query="always").fit(data.X, wrong)
    other.correct(5, data.y[5])
    assert other.kept_labels().task == labels.task and other.kept_labels().label == labels.label
    assert (other.decision_function(data.X) == model.rebuild().decision_function(data.X)).all()
    with pytest.raises(ValueError, match="its classes; expected a model with tasks or users"):
        model.forget("1")


def test_neither_is_none():
    model = Cohort(query="always")
    d = model.decide(DATA.X[:4], classes=["ham", "spam"])
    model.learn(d.ids, feedback=[1, -1, 0, 1])
    assert model.kept_labels().label == ["spam", "ham", None, "spam"]


def test_annotators_that_are_known_are_kept(tmp_path):
    model = Cohort(query="always")
    d = model.decide(DATA.X[:4], classes=["ham", "spam"])
    model.learn(d.ids[:2], ["ham", "spam"], annotator="eve")
    model.learn(d.ids[2], ["ham"])
    model.learn(d.ids[3], feedback=[0], annotator="bob")
    model.save(tmp_path / "m")
    assert quorate.load(tmp_path / "m").kept_labels().annotator == ["eve", "eve", None, "bob"]
    for annotator in ("", 3):
        with pytest.raises(ValueError, match="annotator=.*expected a name"):
            model.learn(d.ids[0], ["ham"], annotator=annotator)


def test_a_refused_change_changes_nothing():
    model = learned()
    before = model.to_bytes()
    for change, expected in [
        (lambda: model.undo([0, 80]), "label 80 was never bought"),
        (lambda: model.undo("3"), "expected whole numbers, as `kept_labels` lists them"),
        (lambda: model.undo(-1), "expected ids from 0"),
        (lambda: model.correct([1, 2], 1), "2 ids; expected one"),
        (lambda: model.correct(1, 5), "5; expected one of -1, 1"),
        (lambda: model.correct(1, None), "missing"),
        (lambda: model.correct(80, 1), "label 80 was never bought"),
        (lambda: model.forget("zoe"), "no such task"),
    ]:
        with pytest.raises(ValueError, match=expected):
            change()
    assert model.to_bytes() == before
    for none in (learned(keep_labels="0"), learned(keep_labels=0)):
        with pytest.raises(ValueError, match="keeps no labels"):
            none.kept_labels()
        with pytest.raises(ValueError, match="keeps no labels"):
            none.rebuild()
    peer = Peer().fit(DATA.X, DATA.y, task=DATA.task)
    with pytest.raises(ValueError, match="cannot learn again from kept labels"):
        peer.rebuild()
    assert len(peer.kept_labels().id) > 0
    with pytest.raises(NotFittedError):
        Cohort().kept_labels()


def test_the_file_has_them_and_the_program_rebuilds_the_same(tmp_path):
    model = learned()
    model.save(tmp_path / "m")
    loaded = quorate.load(tmp_path / "m")
    for a, b in zip(loaded.kept_labels(), model.kept_labels(), strict=True):
        assert [str(x) for x in a] == [str(x) for x in b]
    assert loaded.undo(5).to_bytes() == model.undo(5).to_bytes()


def test_labels_beyond_the_room_are_a_sample():
    kept = learned(keep_labels="6KB").kept_labels()
    assert 3 < len(kept.id) < 80 and sorted(kept.id) == kept.id.tolist() and kept.id.max() > 40
