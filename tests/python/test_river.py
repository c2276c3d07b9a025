"""River's own checks on `quorate.river`, and learners in its pipelines and loops."""
import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("river")
import river.checks
from river import compose, datasets, evaluate, linear_model, metrics, multiclass, preprocessing, stream

import quorate
import quorate.river
from quorate.river import active, wrap


NUMBERS = tuple(map(int, river.__version__.split(".")[:2]))


def examples(n=300, keys=("a", "b", "c"), seed=0):
    """Dicts whose first two values decide the class, True or False."""
    values = np.random.default_rng(seed).normal(size=(n, len(keys)))
    return [(dict(zip(keys, row.tolist(), strict=True)), bool(row[0] > row[1])) for row in values]


def pipeline(learner, **kwargs):
    return compose.Pipeline(preprocessing.StandardScaler(), wrap(learner, **kwargs))


def state(model):
    return model.learner_.to_bytes()


# River's checks ------------------------------------------------------------------------------------------------------

BINARY = ["cohort", "perceptron", "cmtl(query=margin(b=0.1))", "peer", "shampo", "budget-random(budget=20)"]


@pytest.mark.parametrize("spec", BINARY)
def test_passes_every_check_of_river(spec):
    river.checks.check_estimator(wrap(quorate.from_spec(spec)))


@pytest.mark.parametrize("spec", ["cohort", "perceptron"])
def test_passes_every_check_of_river_with_seven_classes(spec, monkeypatch):
    # River hands binary data to a classifier of many classes, too; its labels are none of the seven.
    segments = datasets.ImageSegments()
    monkeypatch.setattr(river.checks, "_yield_datasets", lambda model, scale=1: iter([segments.take(200 * scale)]))
    model = wrap(quorate.from_spec(spec), classes=sorted({y for _, y in segments}))
    assert model._multiclass
    river.checks.check_estimator(model)


def test_many_rows_are_learned_as_one_after_the_other():
    pd = pytest.importorskip("pandas")
    rows = examples()
    one, many = wrap(quorate.Cohort()), wrap(quorate.Cohort())
    for x, y in rows:
        one.learn_one(x, y)
    X, y = pd.DataFrame([x for x, _ in rows], index=range(5, 305)), pd.Series([y for _, y in rows])
    for begin in range(0, 300, 70):
        many.learn_many(X[begin:begin + 70], y[begin:begin + 70])
    assert state(one) == state(many)
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x, _ in rows]
    chances = many.predict_proba_many(X)
    assert chances.index.equals(X.index) and chances.to_dict("records") == [one.predict_proba_one(x) for x, _ in rows]
    with pytest.raises(ValueError, match="y: 3 values; expected one for each of the 300 rows"):
        many.learn_many(X, [True] * 3)


def test_active_learner_passes_the_checks_of_river():
    model = active(wrap(quorate.Cohort()))
    # The only one left out: the check reads probabilities where River's active learners return (probabilities, ask).
    assert model._unit_test_skips() == {"check_predict_proba_one_binary"}
    river.checks.check_estimator(model)


def test_active_learner_of_a_pipeline_passes_the_checks_of_river():
    for check in river.checks.yield_checks(model := active(pipeline(quorate.Cohort()))):
        if check.__name__ not in model._unit_test_skips():
            check(model.clone())


# In River's loops ----------------------------------------------------------------------------------------------------


def test_progressive_validation_after_a_scaler():
    # River's logistic regression there: 0.893, 0.951, 0.330. Cohort does better by its own scaling: a scaler that learns on
    # line changes what the kept examples meant, and replay learns from them as they came.
    found = {}
    for metric in (metrics.Accuracy(), metrics.ROCAUC(), metrics.LogLoss()):
        for name, model in {"own": wrap(quorate.Cohort(query="always")),
                            "scaler": pipeline(quorate.Cohort(query="always", replays=0))}.items():
            found[name, type(metric).__name__] = evaluate.progressive_val_score(datasets.Phishing(), model, metric).get()
    for name in ("own", "scaler"):
        assert found[name, "Accuracy"] > 0.88
        assert found[name, "ROCAUC"] > 0.93
        assert found[name, "LogLoss"] < 0.32


def test_few_labels_do_as_well_as_all_do_for_rivers_perceptron():
    models = [wrap(quorate.Cohort(seed=seed)) for seed in range(1, 5)]
    other = preprocessing.StandardScaler() | linear_model.Perceptron()
    *ours, other = [evaluate.progressive_val_score(datasets.Phishing(), m, metrics.Accuracy()).get() for m in (*models, other)]
    assert sum(ours) / len(ours) > other + 0.005  # one seed differs by 0.008
    assert all(model.learner_.n_labels_ < 200 for model in models)


def test_limit_of_labels_holds_in_rivers_loops():
    model = pipeline(quorate.Cohort(query="always", labels=20))
    evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    learner = model["Classifier"].learner_
    assert learner.n_labels_ == 20
    assert learner.info_["examples"] == 1250


def test_classes_of_river_wrappers_for_many_classes():
    model = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(wrap(quorate.Cohort()))
    assert evaluate.progressive_val_score(datasets.ImageSegments().take(500), model, metrics.Accuracy()).get() > 0.6


def test_learns_as_the_learner_itself():
    model, learner = wrap(quorate.Cohort(labels=50)), quorate.Cohort(labels=50).start([False, True])
    for x, y in examples():
        assert model.predict_one(x) == learner.predict_one(x)
        model.learn_one(x, y)
        learner.learn_one(x, y)
    assert state(model) == learner.to_bytes()


def test_label_that_nobody_knows():
    model = wrap(quorate.Cohort())
    model.learn_one({"a": 1.0}, None)
    assert (model.learner_.info_["examples"], model.learner_.n_labels_) == (1, 0)


# Classes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [None, [False, True], ["ham", "spam"], [3, 5], (0, 1), np.array([-1, 1])])
def test_classes_of_any_type(classes):
    words = [False, True] if classes is None else list(classes)
    model = wrap(quorate.Cohort(), classes=classes)
    right = 0
    for x, y in examples():
        right += model.predict_one(x) == words[y]
        model.learn_one(x, words[y])
    assert right > 250
    x = {"a": 2.0, "b": -2.0, "c": 0.0}
    assert type(model.predict_one(x)) in (bool, str, int)
    assert set(model.predict_proba_one(x)) == set(words)
    assert model.predict_proba_one(x)[words[1]] > 0.9


@pytest.mark.parametrize("y", [np.bool_(True), 1])
def test_equals_of_true_are_true(y):
    model, other = wrap(quorate.Cohort()), wrap(quorate.Cohort())
    model.learn_one({"a": 1.0}, y)
    other.learn_one({"a": 1.0}, True)
    assert state(model) == state(other)


def test_three_classes():
    words = ["x", "y", "z"]
    rows = np.random.default_rng(0).normal(size=(600, 3))
    model = wrap(quorate.Cohort(), classes=words)
    right = []
    for row in rows:
        x, y = dict(zip("abc", row.tolist(), strict=True)), words[row.argmax()]
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(right[300:]) > 0.85
    chance = model.predict_proba_one({"a": 3.0, "b": 0.0, "c": 0.0})
    assert list(chance) == words
    assert sum(chance.values()) == pytest.approx(1)
    assert max(chance, key=chance.get) == "x"


def test_class_not_named_is_an_error_that_says_how_to_name_it():
    with pytest.raises(ValueError, match=r"y: 'spam'; expected True or False, or all classes named, as wrap\(learner,"):
        wrap(quorate.Cohort()).learn_one({"a": 1.0}, "spam")
    with pytest.raises(ValueError, match="y: 'eggs'; expected one of 'ham', 'spam'"):
        wrap(quorate.Cohort(), classes=["ham", "spam"]).learn_one({"a": 1.0}, "eggs")


def test_learner_without_probabilities():
    with pytest.raises(NotImplementedError, match="perceptron.* has no probabilities"):
        wrap(quorate.Perceptron()).predict_proba_one({"a": 1.0})
    pairs = wrap(quorate.Cohort(reduction="one-vs-one"), classes=[1, 2, 3]).predict_proba_one({"a": 1.0})
    assert set(pairs) == {1, 2, 3} and sum(pairs.values()) == pytest.approx(1)


# Features and tasks --------------------------------------------------------------------------------------------------


def test_whole_numbers_as_keys_are_columns():
    model, learner = wrap(quorate.Cohort()), quorate.Cohort()
    data = examples(keys=(0, 1, 2))
    for x, y in data:
        model.learn_one(x, y)
    X = np.array([list(x.values()) for x, _ in data])
    learner.fit(X, [y for _, y in data])
    assert [model.predict_one(x) for x, _ in data] == learner.predict(X).tolist()


def test_words_and_flags_as_values():
    model = wrap(quorate.Perceptron())
    for _ in range(5):
        model.learn_one({"color": "red", "new": True}, True)
        model.learn_one({"color": "blue", "new": True}, False)
    assert model.predict_one({"color": "red"}) is True
    assert model.predict_one({"color": "blue"}) is False


def test_features_that_are_none_of_the_engines():
    with pytest.raises(ValueError, match="expected a name or a whole number, not tuple"):
        wrap(quorate.Cohort()).learn_one({("a", "b"): 1.0}, True)
    with pytest.raises(ValueError, match="feature 'a': infinity"):
        wrap(quorate.Cohort()).predict_one({"a": float("inf")})


def test_task_column_names_the_task_and_is_no_feature():
    model = wrap(quorate.Cohort(), task_column="user")
    named = wrap(quorate.Cohort())
    for n, (x, y) in enumerate(examples()):
        user = ["ann", 7][n % 2]
        with_user = {"user": user, **x} if n % 3 else {**x, "user": user}
        label = y if n % 2 else not y
        assert model.predict_one(with_user) == named.predict_one(x, task=user)
        assert model.predict_proba_one(with_user) == named.predict_proba_one(x, task=user)
        model.learn_one(with_user, label)
        named.learn_one(x, label, task=user)
    assert model.learner_.tasks_ == ["ann", "7"]
    assert state(model) == state(named)
    far = {"a": 3.0, "b": -3.0, "c": 0.0}
    assert (model.predict_one({**far, "user": 7}), model.predict_one({**far, "user": "ann"})) == (True, False)


def test_task_column_of_the_learner_counts_too():
    model = wrap(quorate.Cohort(task_column="user"))
    model.learn_one({"user": "ann", "a": 1.0}, True)
    assert model.learner_.tasks_ == ["ann"]


def test_task_missing_or_given_twice():
    model = wrap(quorate.Cohort(), task_column="user")
    for verb in (model.predict_one, model.predict_proba_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(ValueError, match="no 'user', which task_column names"):
            verb({"a": 1.0})
    with pytest.raises(ValueError, match="task: given twice"):
        model.predict_one({"user": 1, "a": 1.0}, task=2)


def test_task_that_a_union_lets_through():
    scaled = compose.Discard("user") | preprocessing.StandardScaler()
    model = (compose.Select("user") + scaled) | wrap(quorate.Cohort(), task_column="user")
    for n, (x, y) in enumerate(examples()):
        model.learn_one({"user": f"u{n % 3}", **x}, y)
    assert model["Classifier"].learner_.tasks_ == ["u0", "u1", "u2"]


@pytest.mark.skipif(NUMBERS < (0, 25), reason="before 0.25 River's pipelines drop what stands beside the example")
def test_task_beside_the_example():
    model = pipeline(quorate.Cohort())
    data = [(x, y, {"task": f"u{n % 2}"}) for n, (x, y) in enumerate(examples())]
    assert evaluate.progressive_val_score(data, model, metrics.Accuracy()).get() > 0.85
    assert model["Classifier"].learner_.tasks_ == ["u0", "u1"]


# Copies --------------------------------------------------------------------------------------------------------------


def test_clone_has_learned_nothing_and_parameters_as_before():
    model = wrap(quorate.Cohort(labels=7), classes=["x", "y"], task_column="t")
    fresh = state(model)
    model.learn_one({"t": 1, "a": 1.0}, "x")
    other = model.clone()
    assert state(other) == fresh
    assert (other.learner.labels, other.classes, other.task_column) == (7, ["x", "y"], "t")
    assert not hasattr(model.learner, "_model")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("model", [wrap(quorate.Cohort(labels=150)), pipeline(quorate.Cohort(labels=150))])
def test_copies_go_on_to_the_bit(model, copied):
    model = model.clone()
    data = examples()
    for x, y in data[:150]:
        model.learn_one(x, y)
    other = copied(model)
    for x, y in data[150:]:
        assert other.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, y)
        other.learn_one(x, y)
    last, of_other = (m["Classifier"] if isinstance(m, compose.Pipeline) else m for m in (model, other))
    assert state(last) == state(of_other)


def test_learner_that_has_learned_goes_on_from_there():
    data = examples()
    learner = quorate.Cohort().fit([x for x, _ in data], [y for _, y in data])
    before = learner.to_bytes()
    model = wrap(learner)
    assert [model.predict_one(x) for x, _ in data] == learner.predict([x for x, _ in data]).tolist()
    model.learn_one(*data[0])
    assert learner.to_bytes() == before
    assert state(model.clone()) == before
    with pytest.raises(ValueError, match="not those of the first call"):
        wrap(learner, classes=["ham", "spam"])


def test_memory_counts_the_model():
    model = wrap(quorate.Cohort(memory="4MB"))
    assert model._raw_memory_usage > model.learner_.info_["model_bytes"] > 1_000_000


def test_what_cannot_be_wrapped():
    with pytest.raises(TypeError, match="expected a learner of Quorate, not StandardScaler"):
        wrap(preprocessing.StandardScaler())
    with pytest.raises(TypeError, match="task_column=3: expected a string"):
        wrap(quorate.Cohort(), task_column=3)
    with pytest.raises(TypeError, match="or a pipeline that ends with it"):
        active(preprocessing.StandardScaler())


# Active learning -----------------------------------------------------------------------------------------------------


def test_active_learner_in_rivers_validation():
    model = active(pipeline(quorate.Cohort(labels=60)))
    steps = list(evaluate.iter_progressive_val_score(datasets.Phishing(), model, metrics.Accuracy(), step=1250))
    learner = model.classifier["Classifier"].learner_
    assert steps[-1]["Samples used"] == learner.n_labels_ <= 60
    assert steps[-1]["Accuracy"].get() > 0.8
    assert learner.info_["examples"] == 1250
    assert not model._awaited


def test_active_learner_decides_as_the_learner_does():
    model, learner = active(wrap(quorate.Cohort())), quorate.Cohort().start([False, True])
    for x, y in examples():
        decided = learner.decide([x])
        predicted, ask = model.predict_one(x)
        assert (predicted, ask) == (decided.margin[0] > 0, decided.ask[0])
        if ask:
            model.learn_one(x, y)
            learner.learn(decided.ids, [y])
    assert state(model._last) == learner.to_bytes()


@pytest.mark.parametrize("make", [wrap, pipeline])
def test_labels_come_late_and_in_any_order(make):
    model = active(make(quorate.Cohort(query="always")))
    data = examples(50)
    assert all(model.predict_one(x)[1] for x, _ in data)
    for x, y in reversed(data):
        model.learn_one(dict(reversed(x.items())), y)
    assert model._last.learner_.n_labels_ == 50
    assert model._last.learner_.info_["examples"] == 50
    assert not model._awaited


def test_questions_of_equal_examples_are_kept_apart():
    model = active(wrap(quorate.Cohort(query="always")))
    for _ in range(3):
        model.predict_one({"a": 1.0})
    for y in (True, False, True):
        model.learn_one({"a": 1.0}, y)
    assert model._last.learner_.info_["examples"] == 3
    assert model._last.learner_.n_labels_ == 3


def test_question_with_a_wrong_answer_stays_open():
    model = active(wrap(quorate.Cohort(query="always")))
    model.predict_one({"a": 1.0})
    with pytest.raises(ValueError, match="'spam'"):
        model.learn_one({"a": 1.0}, "spam")
    model.learn_one({"a": 1.0}, True)
    assert model._last.learner_.n_labels_ == 1


def test_what_was_not_asked_is_shown():
    model = active(wrap(quorate.Cohort()))
    model.learn_one({"a": 1.0}, True)
    assert model._last.learner_.info_["examples"] == 1


def test_questions_never_answered_are_given_up():
    model = active(wrap(quorate.Cohort(query="always", max_pending=5)))
    for x, _ in examples(20):
        model.predict_one(x)
    assert len(model._awaited) == 5
    assert model._last.learner_.info_["labels"]["pending"] == 5


def test_active_learner_of_many_classes_asks_of_each_in_doubt():
    model = active(wrap(quorate.Cohort(), classes=["x", "y", "z"]))
    right = []
    for row in np.random.default_rng(0).normal(size=(600, 3)):
        x, y = dict(zip("abc", row.tolist(), strict=True)), "xyz"[row.argmax()]
        predicted, ask = model.predict_one(x)
        right.append(predicted == y)
        if ask:
            model.learn_one(x, y)
    assert np.mean(right[300:]) > 0.85


def test_active_learner_with_late_labels_by_rivers_question_and_answer():
    model = active(wrap(quorate.Cohort(query="always")))
    asked = 0
    for _, x, y in stream.simulate_qa(examples(), None, 7):
        if y is None:
            asked += model.predict_one(x)[1]
        else:
            model.learn_one(x, y)
    assert asked == model._last.learner_.n_labels_ == 300
