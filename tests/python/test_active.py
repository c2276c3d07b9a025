"""Labels that come later: in any order, twice, never, after a file; limits hold whatever is answered."""

import copy
import pickle

import multitask
import numpy as np
import pytest

import quorate
from quorate import Cmtl, Cohort, Shampo

DATA = multitask.binary(60, seed=11)
RESPONSIVE = {name: learner for name, learner in multitask.learners(rounds="each").items()}


def text(model):
    """The model's tensors, those apart that count waiting: what a late answer leaves behind."""
    return {k: v for k, v in model.tensors.items() if k not in ("next_ticket",)}


def decided(model, data=DATA, **more):
    return model.decide(data.X, task=data.task, classes=[-1, 1], **more)


@pytest.mark.parametrize("name", RESPONSIVE)
def test_answered_at_once_one_by_one_is_the_immediate_way(name):
    at_once = copy.deepcopy(RESPONSIVE[name]).set_params(trace=True).fit(DATA.X, DATA.y, task=DATA.task)
    later = copy.deepcopy(RESPONSIVE[name])
    for n, (x, y, t) in enumerate(zip(DATA.X, DATA.y, DATA.task)):
        d = later.decide(x[None], task=[t], classes=[-1, 1])
        step = at_once.trace_[n]
        assert (d.margin[0], d.probability[0], d.ask[0]) == (step.margin, step.probability, step.asked)
        assert (d.ids[0] >= 0) == d.ask[0]
        if d.ask[0]:
            assert later.learn(d.ids, [y])[0] == step.updated
    assert multitask.differences(text(later), text(at_once)) == []
    assert later.n_labels_ == at_once.n_labels_ > 0


@pytest.mark.parametrize("reduction", ["one-vs-rest", "one-vs-one"])
@pytest.mark.parametrize("spec", ["cohort(query=margin(b=0.5))", "cmtl(query=margin(b=1))", "shampo"])
def test_answered_at_once_is_the_immediate_way_for_classes(spec, reduction):
    data = multitask.classes(40)
    at_once = quorate.from_spec(spec, reduction=reduction).fit(data.X, data.y)
    later = quorate.from_spec(spec, reduction=reduction)
    for x, y in zip(data.X, data.y):
        d = later.decide(x[None], classes=[1, 2, 3, 4])
        assert d.margin.shape == d.ask.shape == d.ids.shape == (1, len(later.tasks_))
        later.learn(d.ids[d.ask], y=np.full(d.ask.sum(), y))
    if reduction == "one-vs-rest":
        assert multitask.differences(text(later), text(at_once)) == []
    assert later.n_labels_ == at_once.n_labels_
    assert (later.predict(data.X) == at_once.predict(data.X)).all()


def test_feedback_is_the_answer_to_each_question():
    data = multitask.classes(30)
    by_class, by_feedback = (Cohort(query="always", reduction="one-vs-one") for _ in range(2))
    d, e = by_class.decide(data.X, classes=[1, 2, 3, 4]), by_feedback.decide(data.X, classes=[1, 2, 3, 4])
    by_class.learn(d.ids, y=np.repeat(data.y, 6))
    by_feedback.learn(e.ids, feedback=[int(y == i) - int(y == j) for y in data.y for i in range(1, 5) for j in range(i + 1, 5)])
    assert multitask.same_model(by_class, by_feedback)


def test_the_class_says_more_than_a_no():
    data, new = multitask.classes(100), multitask.classes(200)
    scores = []
    for feedback in (False, True):
        model = Cohort(query="always")
        for x, y in zip(data.X, data.y):
            d = model.decide([x], classes=[1, 2, 3, 4])
            assert d.ask.sum() == 1, "one question, and its answer is the class"
            asked = int(np.argmax(d.ask)) + 1
            model.learn(d.ids[d.ask], **({"feedback": [1 if y == asked else -1]} if feedback else {"y": [y]}))
        assert model.n_labels_ == 100
        scores.append(model.score(new.X, new.y))
    assert scores[0] > scores[1] > 0.3


def test_the_order_of_questions_is_that_of_tickets_not_of_answers():
    one, other = Cohort(query="always"), Cohort(query="always")
    d, e = decided(one), decided(other)
    order = np.random.default_rng(1).permutation(len(DATA))
    one.learn(d.ids[order], DATA.y[order])
    for n in order:  # the same order, one by one, as scalars
        other.learn(int(e.ids[n]), int(DATA.y[n]))
    assert multitask.same_model(one, other)
    assert one.n_labels_ == len(DATA) and one.info_["labels"]["pending"] == 0


def test_a_second_answer_and_one_after_withdrawal_change_nothing():
    model = Cohort(query="always")
    d = decided(model)
    assert model.info_["labels"]["pending"] == len(DATA) and model.n_labels_ == 0
    model.learn(d.ids[:10], DATA.y[:10])
    assert model.withdraw(d.ids[5:20]).tolist() == [False] * 5 + [True] * 10
    before = {k: v for k, v in model.tensors.items() if k != "too_late"}
    assert not model.learn(d.ids[:20], -DATA.y[:20]).any()
    assert not model.withdraw(d.ids[:20]).any()
    assert multitask.differences({k: v for k, v in model.tensors.items() if k != "too_late"}, before) == []
    assert (model.n_labels_, model.info_["labels"]["pending"], model.info_["labels"]["too_late"]) == (10, 40, 20)
    # The same id twice in one call: the first counts.
    twice = model.learn([d.ids[30], d.ids[30]], [DATA.y[30], -DATA.y[30]])
    assert not twice[1] and model.n_labels_ == 11


@pytest.mark.parametrize("through", ["bytes", "file", "pickle", "deepcopy", "snapshot"])
def test_what_is_awaited_outlives_the_process(through, tmp_path):
    model = Cohort(query="margin(b=1)", labels=30)
    d = decided(model)
    if through == "file":
        model.save(tmp_path / "m")
        other = quorate.load(tmp_path / "m")
    else:
        other = {
            "bytes": lambda: pickle.loads(pickle.dumps(model, protocol=2)),
            "pickle": lambda: pickle.loads(pickle.dumps(model)),
            "deepcopy": lambda: copy.deepcopy(model),
            "snapshot": model.snapshot,
        }[through]()
    for m in (model, other):
        m.learn(d.ids[d.ask][::-1], DATA.y[d.ask][::-1])
        m.partial_fit(DATA.X, DATA.y, task=DATA.task)
    assert multitask.same_model(model, other)


def test_bad_answers_are_refused_and_nothing_is_learned():
    model = Cohort(query="always")
    d = decided(model)
    before = model.to_bytes()
    good = d.ids[:2].tolist()
    for ids, kwargs in [
        ([*good, -1], {"y": [1, 1, 1]}),
        ([*good, 60], {"y": [1, 1, 1]}),
        ([*good, 2**63], {"y": [1, 1, 1]}),
        ([*good, 2**80], {"y": [1, 1, 1]}),
        ([0.5, 1.0], {"y": [1, 1]}),
        ([True, False], {"y": [1, 1]}),
        (["0"], {"y": [1]}),
        ([None], {"y": [1]}),
        (d.ask, {"y": DATA.y}),
        (good, {"y": [1]}),
        (good, {"y": [1, 5]}),
        (good, {"y": [1, "x"]}),
        (good, {"y": [1, None]}),
        (good, {"y": [1, np.nan]}),
        (good, {}),
        (good, {"y": [1, 1], "feedback": [1, 1]}),
        (good, {"feedback": [1, 2]}),
        (good, {"feedback": [1, 0.5]}),
        (good, {"feedback": [True, False]}),
        (good, {"feedback": np.array([1, 65537])}),
        (good, {"feedback": ["yes", "no"]}),
        (good, {"feedback": [1, None]}),
    ]:
        with pytest.raises(ValueError):
            model.learn(ids, **kwargs)
        assert model.to_bytes() == before, (ids, kwargs)
    for ids in ([*good, -1], [*good, 60], [0.5]):
        with pytest.raises(ValueError):
            model.withdraw(ids)
        assert model.to_bytes() == before
    assert model.learn([], []).shape == model.withdraw([]).shape == (0,)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.learn([0], [1]),
        lambda m: m.withdraw([0]),
        lambda m: m.predict(DATA.X),
        lambda m: m.learn_one(DATA.X[0], 1),
        lambda m: m.score_one(DATA.X[0]),
        lambda m: m.info_,
        lambda m: m.to_bytes(),
        lambda m: m.snapshot(),
        lambda m: m.tensors,
    ],
)
def test_without_a_model_that_is_said(call):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        call(Cohort())
    with pytest.raises(ValueError, match="classes"):
        Cohort().decide(DATA.X)


@pytest.mark.parametrize(
    "limits, total, per_task",
    [
        ({"labels": 7}, 7, 60),
        ({"labels_per_task": 2}, 8, 2),
        ({"labels": 7, "labels_per_task": 2}, 7, 2),
        ({"labels": 0}, 0, 0),
    ],
    ids=str,
)
@pytest.mark.parametrize("answers", ["all", "none", "some", "withdrawn"])
def test_limits_hold_whatever_is_answered(limits, total, per_task, answers):
    model = Cohort(query="always", **limits)
    rng = np.random.default_rng(2)
    for begin in range(0, 60, 6):
        part = slice(begin, begin + 6)
        d = model.decide(DATA.X[part], task=DATA.task[part], classes=[-1, 1])
        asked = np.flatnonzero(d.ask)
        assert (d.ask == (d.ids >= 0)).all()
        if answers == "some":
            asked = asked[rng.random(len(asked)) < 0.5]
        if answers in ("all", "some"):
            model.learn(d.ids[asked], DATA.y[part][asked])
        if answers == "withdrawn":
            model.withdraw(d.ids[asked])
        assert model.n_labels_ + model.info_["labels"]["pending"] <= total
        assert (model.counts_["labels"] <= per_task).all()
    bought = model.n_labels_ + model.info_["labels"]["pending"]
    assert bought == (0 if answers == "withdrawn" else total)


def test_audits_do_not_wait():
    model = Cohort(audit=0.3, query="shared")
    for call in (model.decide, model.ask_next):
        with pytest.raises(ValueError, match="audit=0.3"):
            call(DATA.X, classes=[-1, 1])
    assert model.fit(DATA.X, DATA.y, task=DATA.task).info_["audit"]["labels"] > 0


def test_a_rate_holds_in_every_window():
    model = Cohort(query="always", labels="3/10")
    asked = np.concatenate([model.decide(DATA.X[n : n + 1], classes=[-1, 1]).ask for n in range(60)])
    assert max(asked[n : n + 10].sum() for n in range(51)) == 3


def test_max_pending_withdraws_the_longest_awaited():
    model = Cohort(query="always", max_pending=5)
    d = decided(model)
    assert model.info_["labels"]["pending"] == 5
    model.learn(d.ids, DATA.y)
    assert (model.n_labels_, model.info_["labels"]["too_late"]) == (5, 55)


@pytest.mark.parametrize("kind", ["datetime64", "seconds", "datetime", "pandas", "polars", "text", "zone"])
def test_a_limit_by_time_counts_days(kind):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    dates = np.datetime64("2026-11-20T00:00:00") + np.arange(60) * np.timedelta64(2, "h")
    times = {
        "datetime64": dates,
        "seconds": dates.astype("datetime64[s]").astype(np.int64),
        "datetime": dates.tolist(),
        "text": [f"{date}Z" for date in dates],
        "zone": pandas.Series(dates).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        "pandas": pandas.Series(dates),
        "polars": polars.Series(dates.astype("datetime64[us]")),
    }[kind]
    model = Cohort(query="always", labels="4/day")
    ask = decided(model, time=times).ask
    assert max(ask[n : n + 12].sum() for n in range(49)) == 4 and ask.sum() == 20
    fitted = Cohort(query="always", labels="4/day").fit(DATA.X, DATA.y, task=DATA.task, time=times)
    assert fitted.n_labels_ == 20
    single = Cohort(query="always", labels="4/day").start([-1, 1])
    for x, y, t, time in zip(DATA.X, DATA.y, DATA.task, dates.astype("datetime64[s]").astype(float)):
        single.learn_one(x, y, t, time)
    assert multitask.same_model(single, fitted)
    by_date = Cohort(query="always", labels="4/day").start([-1, 1])
    for x, y, t, time in zip(DATA.X, DATA.y, DATA.task, dates):
        by_date.learn_one(x, y, t, time)
    assert multitask.same_model(by_date, fitted)
    with pytest.raises(ValueError, match="time"):
        by_date.learn_one(DATA.X[0], 1, "t0", float("nan"))


def test_a_limit_by_time_needs_the_time():
    model = Cohort(query="always", labels="4/day")
    for call in (
        lambda: model.fit(DATA.X, DATA.y),
        lambda: model.decide(DATA.X, classes=[-1, 1]),
        lambda: model.start([-1, 1]).learn_one(DATA.X[0], 1),
        lambda: Shampo(labels="4/day").ask_next(DATA.X, classes=[-1, 1]),
    ):
        with pytest.raises(ValueError, match="time"):
            call()
    for bad in (np.full(60, np.nan), np.zeros(59), ["soon"] * 60, np.full(60, np.datetime64("NaT"))):
        with pytest.raises((ValueError, TypeError), match="time|date|soon"):
            decided(Cohort(labels="4/day"), time=bad)


@pytest.mark.parametrize("spec", ["cohort(query=shared)", "cmtl(query=shared)", "shampo(choose=smallest)"])
@pytest.mark.parametrize("count", [1, 3])
def test_ask_next_chooses_from_a_pool(spec, count):
    model = quorate.from_spec(spec, labels_per_round=count, rounds="per-task").fit(DATA.X, DATA.y, task=DATA.task)
    pool = multitask.binary(40, seed=12)
    margins = np.abs(model.decision_function(pool.X, task=pool.task))
    found = model.ask_next(pool.X, task=pool.task)
    assert len(found.index) == len(found.task) == len(found.ids) == count
    assert found.task == pool.task[found.index].tolist()
    if spec.startswith("shampo"):  # the one with the smallest margin is the likeliest, and certain with choose=smallest
        assert set(found.index) == set(np.argsort(margins)[:count])
    labels = model.n_labels_
    model.learn(found.ids, pool.y[found.index])
    assert model.n_labels_ == labels + count and model.info_["labels"]["pending"] == 0


def test_ask_next_of_classes_tells_the_question():
    data = multitask.classes(30)
    model = Shampo(labels_per_round=5).fit(data.X, data.y)
    found = model.ask_next(data.X)
    assert all(q.startswith("class = ") for q in found.task) and len(found.ids) == 5
    assert ((found.index >= 0) & (found.index < 30)).all()
    model.learn(found.ids, y=data.y[found.index])
    pairs = Shampo(reduction="one-vs-one").fit(data.X, data.y).ask_next(data.X)
    assert " or " in pairs.task[0]


def test_ask_next_keeps_to_the_limits_and_to_learners_that_choose():
    model = Shampo(labels_per_round=4, labels=6)
    for expected in (4, 2, 0):
        found = model.ask_next(DATA.X, task=DATA.task, classes=[-1, 1])
        assert len(found.ids) == expected
        model.learn(found.ids, DATA.y[found.index])
    for cls in (Cohort, Cmtl, quorate.Peer, quorate.BudgetRandom):
        with pytest.raises(ValueError, match="does not select"):
            cls().ask_next(DATA.X, classes=[-1, 1])


def test_decide_goes_on_from_fit_and_fit_starts_anew():
    model = Cohort(query="always").fit(DATA.X, DATA.y, task=DATA.task)
    d = model.decide(DATA.X, task=DATA.task)
    assert (d.margin != 0).all()
    with pytest.raises(ValueError, match="classes"):
        model.decide(DATA.X, task=DATA.task, classes=["a", "b"])
    model.fit(DATA.X, DATA.y, task=DATA.task)
    with pytest.raises(ValueError, match="never asked"):
        model.learn(d.ids, DATA.y)


def test_an_empty_part_is_refused_without_harm():
    model = Cohort().fit(DATA.X, DATA.y, task=DATA.task)
    before = model.to_bytes()
    with pytest.raises(ValueError):
        model.decide(DATA.X[:0])
    assert model.to_bytes() == before
