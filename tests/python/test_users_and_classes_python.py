"""Users and classes at once in Python: as the program, whatever the verb."""

import json
import pickle

import multitask
import numpy as np
import pytest
from reference import classes as reference
from sklearn.base import clone

import quorate
from quorate import Cohort, Perceptron, Shampo

USERS = ["ann", "bob", "cid"]


def data(n=150, C=3, d=6, seed=1) -> multitask.Data:
    """Classes 1 to C about centres that every user moves."""
    rng = np.random.default_rng(seed)
    centre = 0.7 * np.random.default_rng(5).normal(size=(1, C, d)) + np.random.default_rng(6).normal(size=(len(USERS), C, d))
    user, y = np.arange(n) % len(USERS), rng.integers(C, size=n)
    return multitask.Data(centre[user, y] + 0.7 * rng.normal(size=(n, d)), y + 1, np.array(USERS)[user])


DATA, NEW = data(), data(seed=2)


@pytest.mark.parametrize("reduction", ["one-vs-rest", "one-vs-one"])
@pytest.mark.parametrize("spec", ["cohort", "perceptron(query=margin(b=0.5))", "shampo", "cohort(query=shared)"])
def test_fit_save_and_predict_are_those_of_the_program(quorate_in, tmp_path, spec, reduction):
    program = quorate_in(tmp_path)
    (tmp_path / "a.svm").write_text(multitask.svmlight(DATA))
    (tmp_path / "b.svm").write_text(multitask.svmlight(NEW))
    program.ok("train", "--data", "a.svm", "--model", "m", "--learner", spec, "--classes", reduction, "--labels", 100)
    model = quorate.from_spec(spec, reduction=reduction, labels=100)
    model.fit(DATA.X, DATA.y, task=DATA.task)
    loaded = quorate.load(tmp_path / "m")
    assert model.tasks_ == loaded.tasks_ == USERS and model.info_["users"] == loaded.info_["users"] == len(USERS)
    assert model.n_labels_ == loaded.n_labels_ and 0 < model.n_labels_ <= 100
    expected = [json.loads(line) for line in program.ok("predict", "--data", "b.svm", "--model", "m").out.splitlines()]
    for one in (model, loaded, pickle.loads(pickle.dumps(model)), model.snapshot()):
        found = one.predict(NEW.X, task=NEW.task)
        assert [str(c) for c in found] == [line["label"] for line in expected]
    model.save(tmp_path / "n")
    assert [json.loads(line)["label"] for line in program.ok("predict", "--data", "b.svm", "--model", "n").out.splitlines()] == [
        line["label"] for line in expected
    ]


def test_users_beat_one_model_for_all_and_strangers_have_what_all_share():
    train, new = data(900), data(600, seed=2)
    model = Cohort(query="always").fit(train.X, train.y, task=train.task)
    alone = Cohort(query="always").fit(train.X, train.y)
    assert model.score(new.X, new.y, task=new.task) > alone.score(new.X, new.y) + 0.03
    shared = model.predict(new.X)
    assert (model.predict(new.X, task="zoe") == shared).all() and (model.predict(new.X, task=new.task) != shared).any()
    assert model.score(new.X, new.y, task=new.task) > np.mean(shared == new.y) > 0.5
    parts = Cohort(query="always").partial_fit(train.X[:300], train.y[:300], task=train.task[:300])
    parts.partial_fit(train.X[300:], train.y[300:], task=train.task[300:])
    assert parts.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("reduction", ["one-vs-rest", "one-vs-one"])
def test_probabilities_sum_to_one_and_are_of_the_stated_rule(quorate_in, tmp_path, reduction):
    model = Cohort(reduction=reduction).fit(DATA.X, DATA.y, task=DATA.task)
    chance = model.predict_proba(NEW.X, task=NEW.task)
    assert chance.shape == (150, 3) and np.allclose(chance.sum(axis=1), 1, atol=1e-12)
    predicted = model.predict(NEW.X, task=NEW.task)
    assert (chance.max(axis=1) == chance[np.arange(150), predicted - 1]).all()
    assert np.allclose(model.predict_log_proba(NEW.X, task=NEW.task), np.log(chance))
    model.save(tmp_path / "m")
    (tmp_path / "b.svm").write_text(multitask.svmlight(NEW))
    lines = quorate_in(tmp_path).ok("predict", "--data", "b.svm", "--model", "m", "--probabilities").out.splitlines()
    assert np.allclose([list(json.loads(line)["probabilities"].values()) for line in lines], chance, atol=1e-12)
    if reduction == "one-vs-rest":
        margins = model.decision_function(NEW.X, task=NEW.task)
        odds = model._model.log_odds(np.ascontiguousarray(margins).ravel()).reshape(margins.shape)
        for row, log_odds, c in zip(chance, odds, predicted):
            assert row == pytest.approx(reference.probabilities(reference.OneVsRest(3), log_odds, c - 1), abs=1e-9)
    parts = model.predict_proba(iter([NEW.X[:50], NEW.X[50:]]))
    assert (parts == model.predict_proba(NEW.X)).all()


def test_counts_influence_and_trace_are_of_users():
    model = Cohort(trace=True).fit(DATA.X, DATA.y, task=DATA.task)
    assert model.counts_["examples"].tolist() == [50, 50, 50] and model.counts_["labels"].sum() == model.n_labels_
    influence = model.influence()
    assert influence.shape == (3, 3) and (np.diag(influence) == 1).all() and 0 < influence[0, 1] < 1
    assert model.trace_.task.tolist() == np.repeat(np.arange(150) % 3, 3).tolist()
    assert model.trace_.question.tolist() == [0, 1, 2] * 150
    assert "question" not in Cohort(trace=True).fit(DATA.X, DATA.y).trace_.dtype.names


def test_asking_and_learning_are_two_calls():
    model = Cohort(query="always")
    decided = model.decide(DATA.X[:60], task=DATA.task[:60], classes=[1, 2, 3])
    assert decided.margin.shape == (60, 3) and (decided.ask.sum(axis=1) == 1).all()
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.learn(decided.ids[decided.ask], DATA.y[:60])
    assert model.to_bytes() == copy.to_bytes() and model.tasks_ == USERS and model.n_labels_ == 60
    assert (model.predict(NEW.X, task=NEW.task) != model.predict(NEW.X)).any()


def test_ask_next_names_the_user_and_the_class():
    model = Shampo(labels_per_round=4).fit(DATA.X, DATA.y, task=DATA.task)
    found = model.ask_next(NEW.X, task=NEW.task)
    assert len(found.task) == 4
    for index, question in zip(found.index, found.task):
        user, asked = question.split(": ")
        assert user == NEW.task[index] and asked in ("class = 1?", "class = 2?", "class = 3?")
    pairs = Shampo(reduction="one-vs-one").fit(DATA.X, DATA.y, task=DATA.task).ask_next(NEW.X, task="cid")
    assert pairs.task[0].startswith("cid: ") and " or " in pairs.task[0]


def test_one_example_at_a_time_is_as_many():
    many = Cohort().fit(DATA.X, DATA.y, task=DATA.task)
    one = Cohort().start([1, 2, 3])
    for x, y, task in zip(DATA.X, DATA.y.tolist(), DATA.task):
        one.learn_one(x, y, str(task))
    assert one.to_bytes() == many.to_bytes()
    assert [one.predict_one(x, str(t)) for x, t in zip(NEW.X, NEW.task)] == many.predict(NEW.X, task=NEW.task).tolist()


def test_a_column_names_the_users():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(DATA.X, columns=[f"f{j}" for j in range(6)]).assign(user=DATA.task)
    model = Cohort(task_column="user").fit(frame, DATA.y)
    assert model.tasks_ == USERS
    expected = Cohort().fit(frame.drop(columns="user"), DATA.y, task=DATA.task)
    assert (model.predict(frame) == expected.predict(frame.drop(columns="user"), task=DATA.task)).all()
    started = Cohort(task_column="user").start([1, 2, 3])
    row = {"f0": 1.0, "user": "ann"}
    started.learn_one(row, 2)
    assert started.tasks_ == ["ann"] and started.predict_one(row) == 2


def test_what_cannot_be_is_refused():
    for cls in (quorate.Cmtl, quorate.Amtl, quorate.Peer, quorate.KernelPerceptron):
        with pytest.raises(ValueError, match="users and classes at once.*cohort, perceptron"):
            cls().fit(DATA.X, DATA.y, task=DATA.task)
        cls().fit(DATA.X, DATA.y)
    alone = Perceptron().fit(DATA.X, DATA.y)
    before = alone.to_bytes()
    for call in (
        lambda: alone.partial_fit(DATA.X, DATA.y, task=DATA.task),
        lambda: alone.learn_one(DATA.X[0], 1, "ann"),
        lambda: alone.decide(DATA.X, task="ann"),
    ):
        with pytest.raises(ValueError, match="task: this model of several classes began without"):
            call()
    assert alone.to_bytes() == before
    assert clone(Cohort()).fit(DATA.X, np.where(DATA.y == 1, 1, -1), task=DATA.task).tasks_ == USERS  # two classes: as ever


def test_several_labels_in_one_are_refused():
    y = np.array(["spam", "urgent", "spam;urgent"])[DATA.y - 1]
    with pytest.raises(ValueError, match="'spam;urgent', beside 'spam' and 'urgent'.*yes and no"):
        Cohort().fit(DATA.X, y)


def test_experiments_take_users():
    both = (DATA.X, DATA.y, DATA.task)
    found = quorate.simulate(both, "cohort", classes="one-vs-rest", runs=2)
    assert found.attrs["tasks"] == 9
    per_user = quorate.simulate(both, "cohort", classes="one-vs-rest", runs=1, per_task=True)
    assert set(per_user.reset_index()["task"]) == set(USERS)
    assert quorate.simulate((DATA.X, DATA.y), "cohort", classes="one-vs-rest").attrs["tasks"] == 3
    with pytest.raises(ValueError, match="users and classes"):
        quorate.simulate(both, "cmtl", classes="one-vs-rest")
    steps = quorate.simulate(both, "cohort", classes="one-vs-one", trace=True)
    assert set(steps["task"]) == set(USERS) and "ann: 1 or 2?" in set(steps["question"])
