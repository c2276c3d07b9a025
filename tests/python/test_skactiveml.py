"""Learners as query strategies in scikit-activeml's own loops, and what its base classes promise."""
import warnings

import numpy as np
import pytest

pytest.importorskip("skactiveml")
from skactiveml.classifier import ParzenWindowClassifier, SklearnClassifier
from skactiveml.pool import RandomSampling, SubSamplingWrapper
from skactiveml.stream import StreamRandomSampling
from skactiveml.utils import call_func, is_unlabeled
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import quorate
from quorate.skactiveml import PoolQuery, StreamQuery


def linear(n, seed=0, d=10, classes=2):
    """Rows, and which of several directions they lie in."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=(d, classes))
    return X, (X @ w).argmax(axis=1)


def stream_loop(strategy, X, y, clf=None):
    """scikit-activeml's loop over a stream. Returns what was asked of each, and what the labels taught `clf`."""
    asked, X_train, y_train = np.zeros(len(X), dtype=bool), [], []
    for t in range(len(X)):
        candidates, known = X[t : t + 1], {}
        if X_train:
            known = {"X": np.array(X_train), "y": np.array(y_train)}
        indices, utilities = call_func(strategy.query, candidates=candidates, clf=clf, **known, return_utilities=True)
        parameters = {"utilities": utilities}
        call_func(strategy.update, candidates=candidates, queried_indices=indices, budget_manager_param_dict=parameters)
        asked[t] = len(indices) == 1
        if asked[t]:
            X_train.append(X[t])
            y_train.append(y[t])
    return asked, clf.fit(np.array(X_train), np.array(y_train)) if clf is not None else None


def logistic(classes=(0, 1)):
    return SklearnClassifier(LogisticRegression(), classes=list(classes))


# Streams -------------------------------------------------------------------------------------------------------------


def test_stream_fewer_labels_than_random_at_equal_accuracy():
    X, y = linear(1600)
    random, learned = stream_loop(StreamRandomSampling(budget=0.2, random_state=0), X[:1000], y[:1000], logistic())
    strategy = StreamQuery(budget=0.1, classes=[0, 1])
    asked, of_asked = stream_loop(strategy, X[:1000], y[:1000], logistic())
    assert asked.sum() < 0.6 * random.sum()
    assert of_asked.score(X[1000:], y[1000:]) >= learned.score(X[1000:], y[1000:])
    assert strategy.learner_.score(X[1000:], y[1000:]) > 0.93
    assert strategy.learner_.n_labels_ == asked.sum() or asked[-1]  # the last one's label never came


def test_stream_strategy_learns_as_the_learner_does():
    X, y = linear(300)
    strategy = StreamQuery(quorate.Cohort(labels=1000), classes=[0, 1])
    asked, _ = stream_loop(strategy, X, y)
    learner = quorate.Cohort(labels=1000).start([0, 1])
    for x, label, was_asked in zip(X, y, asked, strict=True):
        decided = learner.decide(x[None, :])
        assert decided.ask[0] == was_asked
        if was_asked:
            learner.learn(decided.ids, [label])
    strategy.query(X[:1], X=X, y=y)
    assert np.array_equal(strategy.learner_.decision_function(X), learner.decision_function(X))


@pytest.mark.parametrize("budget", [0.02, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_stream_budget_holds_and_is_used(budget, classes):
    X, y = linear(1500, classes=classes)
    strategy = StreamQuery(quorate.Cohort(query="always"), classes=range(classes), budget=budget)
    asked = np.zeros(1500)
    for t in range(0, 1500, 50):
        indices = strategy.query(X[t : t + 50])
        strategy.update(X[t : t + 50], indices)
        asked[t + indices] = 1
    assert np.convolve(asked, np.ones(1000), "valid").max() <= 1000 * budget
    # Of three classes an example may need three questions, which count as three labels.
    assert asked[:1000].sum() >= 900 * budget / (3 if classes > 2 else 1)


def test_stream_budget_is_spent_evenly():
    X, _ = linear(1000)
    strategy = StreamQuery(classes=[0, 1], budget=0.1)
    asked = np.zeros(1000)
    for t in range(1000):
        indices = strategy.query(X[t : t + 1])
        strategy.update(X[t : t + 1], indices)
        asked[t] = len(indices)
    for quarter in asked.reshape(4, 250):
        assert 15 <= quarter.sum() <= 35


def test_stream_budget_by_default_is_a_tenth_as_elsewhere_in_scikit_activeml():
    X, _ = linear(1000)
    assert len(StreamQuery(quorate.Cohort(query="always"), classes=[0, 1]).query(X)) == 100


def test_stream_limits_of_the_learner_hold():
    X, y = linear(400)
    total = StreamQuery(quorate.Cohort(query="always", labels=13), classes=[0, 1])
    assert stream_loop(total, X, y)[0].sum() == 13
    both = StreamQuery(quorate.Cohort(query="always", labels=13), classes=[0, 1], budget=0.02)
    assert 6 <= stream_loop(both, X, y)[0].sum() <= 13
    with pytest.raises(ValueError, match="rate"):
        StreamQuery(quorate.Cohort(labels="5/100"), classes=[0, 1], budget=0.1).query(X[:1])


def test_stream_query_changes_nothing():
    X, y = linear(200)
    strategy = StreamQuery(quorate.Cohort(labels=1000), classes=[0, 1])
    stream_loop(strategy, X, y)
    before = strategy.learner_.to_bytes()
    indices, utilities = strategy.query(X, return_utilities=True)
    for _ in range(2):
        again, chances = strategy.query(X, return_utilities=True)
        assert np.array_equal(indices, again)
        assert np.array_equal(utilities, chances)
    assert strategy.learner_.to_bytes() == before
    assert utilities.shape == (200,)
    assert ((utilities >= 0) & (utilities <= 1)).all()
    assert 0 < utilities[indices].min() <= 1
    assert 0 < len(indices) < 200


def test_stream_one_by_one_or_all_at_once():
    X, _ = linear(60)
    one, all_at_once = (StreamQuery(quorate.Cmtl(query="random(p=0.3)", labels=999), classes=[0, 1]) for _ in range(2))
    asked = []
    for t in range(60):
        if len(one.query(X[t : t + 1])):
            asked.append(t)
        one.update(X[t : t + 1], one.query(X[t : t + 1]))
    assert all_at_once.query(X).tolist() == asked
    all_at_once.update(X, asked)
    assert np.array_equal(one.query(X), all_at_once.query(X))


def test_stream_update_may_come_first():
    X, y = linear(40)
    strategy = StreamQuery(quorate.Cohort(query="always", labels=30), classes=[0, 1])
    assert strategy.update(X[:20], np.arange(20)) is strategy
    assert strategy.query(X[20:], X=X[:20], y=y[:20]).tolist() == list(range(10))
    assert strategy.learner_.n_labels_ == 20


def test_stream_labels_come_late_some_never_and_some_from_elsewhere():
    X, y = linear(60)
    strategy = StreamQuery(quorate.Cohort(query="always", labels=100), classes=[0, 1])
    strategy.update(X[:40], strategy.query(X[:40]))
    missing = np.where(np.arange(60) % 2 == 0, y, np.nan)  # of 40 asked 20 are answered; of 20 not seen 10 are labeled
    strategy.query(X[40:41], X=X[::-1], y=missing[::-1])
    assert strategy.learner_.n_labels_ == 20
    strategy.query(X[40:41], X=X, y=missing)
    assert strategy.learner_.n_labels_ == 20
    strategy.query(X[40:41], X=X, y=y)
    assert strategy.learner_.n_labels_ == 40


def test_stream_candidates_that_the_caller_does_not_ask_for_cost_nothing():
    X, y = linear(40)
    strategy = StreamQuery(quorate.Cohort(query="always", labels=10), classes=[0, 1])
    strategy.update(X[:20], [])
    assert len(strategy.query(X[20:])) == 10
    assert strategy.learner_.info_["labels"]["pending"] == 0


def test_stream_labels_known_before_are_learned_and_not_counted():
    X, y = linear(1100)
    strategy = StreamQuery(quorate.Cohort(query="always"), classes=[0, 1], budget=0.1)
    strategy.query(X[:1], X=X[1000:], y=y[1000:])
    assert strategy.learner_.n_labels_ == 100
    assert strategy.learner_.score(X, y) > 0.8
    assert len(strategy.query(X[:1000])) == 100


def test_stream_learner_that_has_learned_goes_on_and_stays_as_it_is():
    X, y = linear(300)
    learner = quorate.Cohort(query="always", scale="none").fit(X, y)  # `auto` learns from every example seen
    before = learner.to_bytes()
    strategy = StreamQuery(learner, budget=0.5, random_state=1)
    strategy.update(X[:20], strategy.query(X[:20]))
    assert np.array_equal(strategy.learner_.decision_function(X), learner.decision_function(X))
    assert learner.to_bytes() == before


@pytest.mark.parametrize(("seeds", "least"), [(1, 0.6), pytest.param(4, 0.7, marks=pytest.mark.check)])
def test_stream_many_classes_and_words(seeds, least):
    scores = []
    for seed in range(seeds):  # single streams score from .65 to .86
        X, y = linear(700, classes=3, seed=seed)
        words = np.array(["a", "b", "c"])[y].astype(object)
        strategy = StreamQuery(quorate.Cohort(), classes=["a", "b", "c"], missing_label=None, budget=0.2)
        asked, _ = stream_loop(strategy, X[:500], words[:500])
        assert asked.sum() <= 100
        scores.append(strategy.learner_.score(X[500:], words[500:]))
    assert np.mean(scores) > least


def test_stream_tasks():
    X, y = linear(300)
    task = np.arange(300) % 3
    strategy = StreamQuery(quorate.Shampo(), classes=[0, 1], budget=0.5)
    asked = 0
    for t in range(0, 300, 3):  # of one example of each task one is labeled
        rows = X[t : t + 3]
        known = {"X": X[:t], "y": y[:t]} if t else {}
        indices = strategy.query(rows, **known, task=task[t : t + 3])
        assert len(indices) <= 1
        asked += len(indices)
        strategy.update(rows, indices, task=task[t : t + 3])
    assert strategy.learner_.tasks_ == ["0", "1", "2"]
    assert 80 < asked <= 100


def test_stream_questions_never_answered_are_given_up():
    X, _ = linear(50)
    strategy = StreamQuery(quorate.Cohort(query="always", max_pending=5, labels=1000), classes=[0, 1])
    strategy.update(X, np.arange(50))
    assert len(strategy._awaited) == strategy.learner_.info_["labels"]["pending"] == 5


def test_stream_clones_and_seeds():
    X, _ = linear(100)
    strategy = StreamQuery(quorate.Cmtl(query="random(p=0.5)", labels=1000), classes=[0, 1], random_state=3)
    first = strategy.query(X)
    assert np.array_equal(clone(strategy).query(X), first)
    assert not hasattr(clone(strategy), "learner_")
    other = StreamQuery(quorate.Cmtl(query="random(p=0.5)", labels=1000), classes=[0, 1], random_state=4)
    assert not np.array_equal(other.query(X), first)


@pytest.mark.parametrize(("given", "error"), [
    ({"budget": 0.0}, ValueError), ({"budget": 1.1}, ValueError), ({"budget": 1}, TypeError),
    ({"budget": "0.1"}, TypeError), ({"random_state": "state"}, ValueError),
    ({"learner": LogisticRegression()}, TypeError), ({"classes": [1]}, ValueError), ({"classes": None}, ValueError),
])
def test_stream_parameters_are_checked(given, error):
    with pytest.raises(error):
        StreamQuery(**{"classes": [0, 1], **given}).query(np.ones((1, 2)))


@pytest.mark.parametrize(("given", "error"), [
    ({"candidates": np.nan}, ValueError), ({"candidates": [[np.nan]]}, ValueError),
    ({"return_utilities": "yes"}, TypeError), ({"X": np.ones((3, 2)), "y": [0, 1]}, ValueError),
])
def test_stream_what_is_queried_is_checked(given, error):
    strategy = StreamQuery(quorate.Cohort(query="always"), classes=[0, 1])
    strategy.update(np.ones((1, 2)), [0])
    with pytest.raises(error):
        strategy.query(**{"candidates": np.ones((1, 2)), **given})


def test_stream_number_of_features_is_checked():
    strategy = StreamQuery(classes=[0, 1])
    strategy.query(np.ones((1, 2)))
    with pytest.raises(ValueError, match="features"):
        strategy.query(np.ones((1, 3)))
    with pytest.raises(ValueError, match="less than 1"):
        strategy.update(np.ones((1, 2)), [1])


# Pools ---------------------------------------------------------------------------------------------------------------


def pool_loop(strategy, X, y, cycles, clf, batch_size=1, missing=np.nan):
    """scikit-activeml's loop over a pool. Returns the labels bought and what they taught."""
    known = np.full(len(y), missing, dtype=object if missing is None else float)
    known[:4] = y[:4]
    for _ in range(cycles):
        clf.fit(X, known)
        drawn = call_func(strategy.query, X=X, y=known, clf=clf, batch_size=batch_size)
        assert len(set(drawn)) == batch_size
        assert is_unlabeled(known[drawn], missing).all()
        known[drawn] = y[drawn]
    return known, clf.fit(X, known)


@pytest.mark.parametrize("seeds", [8, pytest.param(20, marks=pytest.mark.check)])
def test_pool_sixty_labels_do_as_well_as_eighty_at_random(seeds):
    def score(strategy, labels):
        known = np.full(400, np.nan)
        for _ in range(labels // 4):
            drawn = strategy.query(X[:400], known, batch_size=4)
            known[drawn] = y[drawn]
        return logistic().fit(X[:400], known).score(X[400:], y[400:])

    scores = []
    for seed in range(seeds):
        X, y = linear(800, seed, d=5)
        pool = PoolQuery(quorate.Shampo(b=0.01), classes=[0, 1], random_state=seed)
        scores.append([score(pool, 60), *(score(RandomSampling(random_state=seed), labels) for labels in (60, 80))])
    of_pool, at_random, at_random_of_eighty = np.mean(scores, axis=0)
    assert of_pool > at_random + 0.004
    assert of_pool > at_random_of_eighty - 0.004


CHOOSES = ["shampo", "shampo-second-order", "perceptron(query=shared)", "cmtl(query=shared(b=0.1))"]


@pytest.mark.parametrize("spec", CHOOSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_pool_every_learner_that_chooses(spec, classes):
    X, y = linear(120, classes=classes)
    strategy = PoolQuery(quorate.from_spec(spec), random_state=0)
    _, clf = pool_loop(strategy, X, y, 8, logistic(range(classes)), batch_size=5)
    assert clf.score(X, y) > 0.7


def test_pool_of_words():
    X, y = linear(60)
    words = np.array(["no", "yes"])[y].astype(object)
    clf = ParzenWindowClassifier(classes=["no", "yes"], missing_label=None)
    known, _ = pool_loop(PoolQuery(missing_label=None, random_state=0), X, words, 5, clf, missing=None)
    assert sum(v is not None for v in known) == 9


def test_pool_draws_those_in_doubt():
    X, y = linear(500)
    known = np.where(np.arange(500) < 200, y, np.nan)
    strategy = PoolQuery(quorate.Shampo(b=0.001), random_state=0)
    drawn, chances = strategy.query(X, known, batch_size=10, return_utilities=True)
    learner = quorate.Shampo(rounds="each").fit(X[:200], y[:200])
    margins = np.abs(learner.decision_function(X))
    assert margins[drawn].max() < np.quantile(margins[200:], 0.2)
    assert chances.shape == (10, 500)
    assert np.isnan(chances[:, :200]).all()
    assert np.isfinite(chances[0, 200:]).all()
    assert np.nansum(chances, axis=1) == pytest.approx(1)
    for n in range(10):  # who was drawn is no candidate of the next draw
        assert np.isnan(chances[n + 1 :, drawn[n]]).all()
        assert chances[n, drawn[n]] > 0


def test_pool_candidates_as_indices_or_rows():
    X, y = linear(60)
    known = np.where(np.arange(60) < 20, y, np.nan)
    strategy = PoolQuery(random_state=0)
    drawn, chances = strategy.query(X, known, return_utilities=True)
    again, of_indices = strategy.query(X, known, candidates=np.arange(20, 60), return_utilities=True)
    rows, of_rows = strategy.query(X, known, candidates=X[20:], return_utilities=True)
    assert drawn == again == rows + 20
    assert np.array_equal(chances, of_indices, equal_nan=True)
    assert np.array_equal(chances[:, 20:], of_rows)
    assert strategy.query(X, known, candidates=[33]) == 33


def test_pool_without_any_label_and_to_the_last():
    X, y = linear(10)
    strategy = PoolQuery(classes=[0, 1], random_state=0)
    drawn, chances = strategy.query(X, np.full(10, np.nan), return_utilities=True)
    assert chances == pytest.approx(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sorted(strategy.query(X, np.full(10, np.nan), batch_size=11)) == list(range(10))
    with pytest.raises(ValueError, match="classes: not known"):
        PoolQuery().query(X, np.full(10, np.nan))


def test_pool_tasks():
    X, y = linear(120)
    task = np.array(["a", "b"])[np.arange(120) % 2]
    y[1::2] = 1 - y[1::2]  # the other way round
    known = np.where(np.arange(120) < 80, y, np.nan)
    strategy = PoolQuery(quorate.Shampo(b=0.001), random_state=0)
    drawn = strategy.query(X, known, task=task, batch_size=5)
    learner = quorate.Shampo(rounds="each").fit(X[:80], y[:80], task=task[:80])
    margins = np.abs(learner.decision_function(X, task=task))
    assert margins[drawn].max() < np.median(margins[80:])
    with pytest.raises(ValueError, match="expected candidates as indices"):
        strategy.query(X, known, task=task, candidates=X[80:])


def test_pool_of_sparse_rows_is_the_same():
    X, y = linear(60, seed=3)
    X[np.abs(X) < 0.5] = 0
    y = np.where(np.arange(60) < 20, y, np.nan)
    for candidates in (None, np.arange(30, 50)):
        found = [PoolQuery(classes=[0, 1], random_state=0).query(rows, y, candidates=candidates, batch_size=3, return_utilities=True)
                 for rows in (X, sparse.csr_matrix(X), sparse.coo_array(X))]
        for drawn, chances in found[1:]:
            assert drawn.tolist() == found[0][0].tolist()
            np.testing.assert_allclose(chances, found[0][1])


def test_pool_needs_a_learner_that_chooses():
    X, y = linear(10)
    with pytest.raises(ValueError, match="cohort.* does not select among examples"):
        PoolQuery(quorate.Cohort(), classes=[0, 1]).query(X, np.where(np.arange(10) < 5, y, np.nan))


def test_pool_works_in_scikit_activemls_wrapper():
    X, y = linear(60)
    strategy = SubSamplingWrapper(PoolQuery(classes=[0, 1]), max_candidates=10, random_state=0)
    drawn, utilities = strategy.query(X, np.where(np.arange(60) < 20, y, np.nan), return_utilities=True)
    assert np.isfinite(utilities).sum() == 10
    assert drawn[0] >= 20


# Classifiers ---------------------------------------------------------------------------------------------------------


def test_learner_is_a_classifier_of_scikit_activeml():
    X, y = linear(300)
    clf = SklearnClassifier(quorate.Cohort(query="always"), classes=[0, 1])
    clf.fit(X, np.where(np.arange(300) < 150, y, np.nan))
    assert clf.score(X[150:], y[150:]) > 0.85
    assert clf.predict_proba(X).sum(axis=1) == pytest.approx(1)
    before = clf.score(X[150:], y[150:])
    clf.partial_fit(X[150:], y[150:])
    assert clf.score(X[150:], y[150:]) > before
