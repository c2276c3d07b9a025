"""Every step of a traced run of cohort, and of other learners whose instances are scaled, equals the literal references."""
import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest
import samples

from program import one_in
from reference import common
from reference.cmtl import Cmtl
from reference.cohort import Cohort, by_margin, confidence
from reference.perceptron import Perceptron
from reference.scaling import scaled
from reference.shampo import Chooser

FLOAT = dict(rel=3e-5, abs=3e-6)  # weights are float, and every label changes them eleven times


@dataclass
class Stream:
    """A data file and what the references need to know of it."""
    name: str
    text: str
    K: int
    tasks: list[int]
    labels: list[int]
    raw: list  # instances as in the data, with the constant feature
    columns: int = 0  # features that are columns of a table

    def pair(self, n):
        return common.prepare(self.raw[n], bias=False), self.raw[n]

    @property
    def d(self):
        return len(self.raw[0])


def dense(K, n=130, d=6, seed=43):
    rows = samples.rows(n, K, d, seed, noise=0.6)
    return Stream("data.csv", samples.csv(rows), K, [int(r.task[1:]) for r in rows], [int(r.label) for r in rows],
                  [np.array([*r.x.values(), 1.0]) for r in rows], d)


def counts(K, n=130, words=150, seed=5, filled=7, odd=None):
    """Texts: word counts, few words common and most rare, related tasks; `odd`, if given, is one value that is no count."""
    rng = np.random.default_rng(seed)
    says = rng.normal(size=words) + 0.4 * rng.normal(size=(K, words))
    lines, tasks, labels, raw = [], [], [], []
    for i in range(n):
        task = i if i < K else int(rng.integers(K))
        x = np.zeros(words + 1)
        for f in (rng.random(filled) ** 2 * words).astype(int):
            x[f] += 1 + int(rng.integers(4) == 0) * int(rng.integers(1, 9))
        if odd is not None and i == n // 2:
            x[int(np.argmax(x))] = odd
        label = 1 if says[task] @ np.sign(x[:-1]) + 0.5 * rng.normal() > 0 else -1
        lines.append(f"{label} task:t{task} " + " ".join(f"{f + 1}:{samples.number(x[f])}" for f in np.flatnonzero(x)))
        x[-1] = 1.0
        tasks.append(task)
        labels.append(label)
        raw.append(x)
    return Stream("data.svm", "\n".join(lines) + "\n", K, tasks, labels, raw)


STREAMS = {"dense": dense(4), "dense alone": dense(1, seed=45), "counts": counts(4), "counts alone": counts(1, seed=6),
           # whole numbers and not below 0, but full; few enough features that the constant one and others make an eighth
           "full counts": counts(4, words=8, filled=12, seed=8),
           "counts but one": counts(4, odd=2.5, seed=11), "counts but one below": counts(4, odd=-1.0, seed=10)}


def trace(quorate, stream, learner, *options):
    (quorate.folder / stream.name).write_text(stream.text)
    quorate.ok("simulate", "--data", stream.name, "--learner", learner, "--trace", "trace", *options)
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


def apart(numbers):
    """No decision hangs on the last bits of one of these, unless both sides have exactly 0."""
    return all(v == 0.0 or abs(v) > 2e-7 for v in numbers)


def check(lines, stream, model, labels=None):
    """Replays the trace: the reference must agree with every line."""
    bought = 0
    learner = model.learner
    for n, (_, group) in enumerate(itertools.groupby(lines, key=lambda t: (t["run"], t["pass"], t.get("round", t["example"])))):
        r = list(group)
        tasks, pairs = [stream.tasks[t["example"]] for t in r], [stream.pair(t["example"]) for t in r]
        decisions = model.decide(tasks, pairs, [t["draw"] for t in r])
        assert apart(getattr(learner, "compared", [])), f"round {n}: too near to compare; take another seed"
        assert apart(d["margin"] for d in decisions), f"round {n}: a margin too near 0 to compare; take another seed"
        for t, d in zip(r, decisions):
            assert t["task"] == f"t{stream.tasks[t['example']]}"
            # the margin is p and a shift, which may cancel
            near = FLOAT["abs"] + FLOAT["rel"] * abs(learner.shift() if hasattr(learner, "shift") else 0.0)
            assert t["margin"] == pytest.approx(d["margin"], rel=FLOAT["rel"], abs=near), f"round {n}"
            # 1 / (1 + odds^3) has three times the relative error of the margin
            assert t["probability"] == pytest.approx(d["probability"], rel=9e-5, abs=1e-6), f"round {n}"
            if t["draw"] is not None and getattr(learner, "chooser", None) is None:
                assert abs(t["draw"] - d["probability"]) > 1e-6, f"round {n}: a draw too near; take another seed"
            asked = d["asked"] and (labels is None or bought < labels)
            assert t["asked"] == asked, f"round {n}"
            bought += asked
        for t, d, task, pair in zip(r, decisions, tasks, pairs):
            assert t["label"] == (stream.labels[t["example"]] if t["asked"] else None), f"round {n}"
            updated = t["asked"] and model.learn(task, pair, t["label"], d)
            assert apart(getattr(learner, "compared", [])), f"round {n}: too near to compare; take another seed"
            assert t["updated"] == updated, f"round {n}"
    return model


QUERIES = {
    "confidence": dict(query=confidence(0.5)),
    "confidence(b=0.2)": dict(query=confidence(0.2)),
    "always": dict(query=by_margin(common.always)),
    "random(p=0.4)": dict(query=by_margin(common.random(0.4))),
    "margin(b=0.3)": dict(query=by_margin(common.margin(0.3))),
    "shared(b=0.3)": {},
    "shared(choose=smallest)": {},
}


def built(stream, query, scale, words="", **settings):
    """The spec and the reference of one case."""
    options = dict(QUERIES[query])
    if query.startswith("shared"):
        options["chooser"] = Chooser(stream.K, **(dict(b=0.3) if "b=" in query else dict(choose="smallest")))
    model = Cohort(stream.K, stream.d, **options, **settings)
    return f"cohort(query={query}, scale={scale}{words})", scaled(model, scale, stream.columns)


def went_everywhere(lines, stream, model, query):
    """The run took every branch it could."""
    asked = [t for t in lines if t["asked"]]
    # A round of one task is asked about in any case.
    everything = query == "always" or (query.startswith("shared") and stream.K == 1)
    assert (len(asked) == len(lines)) == everything
    assert any(t["updated"] for t in asked)
    assert (model.learner.taught > 0) == (model.learner.guess > 0 and not everything)
    # One ratio is not yet better than another where few labels are bought.
    assert len(set(model.learner.m)) > 1 or stream.K == 1 or len(asked) < 100


@pytest.mark.parametrize("query, scale, guess, stream",
                         one_in(3, QUERIES, ["none", "auto"], [0, 1], ["dense", "dense alone", "counts", "counts alone"]))
def test_every_step_equals_the_literal_reference(quorate, query, scale, guess, stream):
    stream = STREAMS[stream]
    spec, model = built(stream, query, scale, f", guess={guess}", guess=float(guess))
    options = ["--rounds", "per-task"] if query.startswith("shared") else []
    lines = trace(quorate, stream, spec, *options)
    check(lines, stream, model)
    went_everywhere(lines, stream, model, query)


@pytest.mark.parametrize("stream", ["dense", "counts"])
@pytest.mark.parametrize("words, settings", [
    (", eta=0", dict(eta=0.0)), (", eta=2", dict(eta=2.0)), (", eta=100", dict(eta=100.0)),
    (", noise=0.01", dict(noise=0.01)), (", noise=3", dict(noise=3.0)),
    (", guess=0.5, noise=1, eta=1", dict(guess=0.5, noise=1.0, eta=1.0))])
def test_eta_noise_and_guess_do_what_the_reference_does(quorate, words, settings, stream):
    stream = STREAMS[stream]
    spec, model = built(stream, "confidence", "auto", words, **settings)
    check(trace(quorate, stream, spec), stream, model)


@pytest.mark.parametrize("stream", ["dense", "counts"])
@pytest.mark.parametrize("query", ["confidence", "margin(b=0.3)", "shared(b=0.3)"])
def test_examples_of_one_round_are_judged_together_and_guessed_in_order(quorate, query, stream):
    stream = STREAMS[stream]
    spec, model = built(stream, query, "auto")
    lines = trace(quorate, stream, spec, "--rounds", "per-task", "--passes", 2)
    check(lines, stream, model)
    went_everywhere(lines, stream, model, query)


@pytest.mark.parametrize("stream", ["dense", "dense alone", "counts", "counts alone"])
@pytest.mark.parametrize("query", ["confidence", "random(p=0.4)"])
def test_when_labels_are_spent_guesses_go_on_until_sixty_four_taught(quorate, query, stream):
    stream = STREAMS[stream]
    spec, model = built(stream, query, "auto")
    lines = trace(quorate, stream, spec, "--labels", 12, "--passes", 3)
    check(lines, stream, model, labels=12)
    assert sum(t["asked"] for t in lines) == 12
    # What "confidence" wants to ask about is not guessed, label left or not.
    assert model.learner.taught > (5 if query == "confidence" else 63)
    assert query == "confidence" or model.learner.left == 0


def with_few(y, n=300, share=0.2):
    """A stream whose labels y are rare: the others of them are changed."""
    stream = dense(3, n=n, seed=47)
    other = np.random.default_rng(3).random(n) >= share
    stream.labels = [-y if o else label for o, label in zip(other, stream.labels)]
    rows = stream.text.splitlines()
    at = rows[0].split(",").index("label")
    for k, label in enumerate(stream.labels):
        cells = rows[k + 1].split(",")
        cells[at] = str(label)
        rows[k + 1] = ",".join(cells)
    stream.text = "\n".join(rows) + "\n"
    return stream


@pytest.mark.parametrize("y", [1, -1])
def test_where_a_class_is_rare_its_side_is_asked_about_more_often(quorate, y):
    stream = with_few(y)
    spec, model = built(stream, "confidence", "none", ", cost=balanced", cost="balanced")
    lines = trace(quorate, stream, spec)
    check(lines, stream, model)
    assert min(model.learner.most) < 0.5 < 10 < max(model.learner.most)


def test_of_more_labels_than_are_kept_those_of_a_rare_class_stay(quorate):
    stream = with_few(1)
    spec, model = built(stream, "always", "none", ", replays=3", replays=3)
    check(trace(quorate, stream, spec, "--passes", "3"), stream, model)
    kept = [label for _, _, label, _ in model.learner.kept]
    latest = (3 * stream.labels)[-512:]
    assert len(stream.labels) * 3 > 600 and len(kept) == 512 and latest.count(1) < kept.count(1) < 128


@pytest.mark.parametrize("cost, value", [("equal", "equal"), ("balanced", "balanced"), ("missed(times=20)", 20.0), ("missed(times=0.1)", 0.1)])
def test_what_is_predicted_of_a_rare_class_follows_its_odds_and_costs(quorate, cost, value):
    stream = with_few(1)
    spec, model = built(stream, "always", "none", f", cost={cost}", cost=value)
    lines = trace(quorate, stream, spec)
    check(lines, stream, model)
    assert model.learner.shift() != 0
    predicted = [t["margin"] > 0 for t in lines[100:]]
    assert {"equal": 0.0, "balanced": 0.15, "missed(times=20)": 0.3, "missed(times=0.1)": 0.0}[cost] <= np.mean(predicted)
    assert np.mean(predicted) <= {"equal": 0.2, "balanced": 0.6, "missed(times=20)": 0.9, "missed(times=0.1)": 0.05}[cost]


@pytest.mark.parametrize("cost, value", [("equal", "equal"), ("balanced", "balanced"), ("missed(times=3)", 3.0)])
def test_where_no_class_is_rare_the_offset_is_believed_as_far_as_it_is_sure(quorate, cost, value):
    """A third of the labels is positive, and says little of the features: the likelier answer is most often the other."""
    stream = with_few(1, n=500, share=0.65)
    spec, model = built(stream, "always", "none", f", cost={cost}", cost=value)
    lines = trace(quorate, stream, spec)
    check(lines, stream, model)
    labels = np.array([t["label"] for t in lines])
    assert 0.26 < np.mean(labels > 0) < 0.45
    margins = np.array([t["margin"] for t in lines])
    accuracy = lambda of: np.mean((margins[of] > 0) == (labels[of] > 0))  # noqa: E731
    if cost == "equal":
        assert model.learner.shift() < -0.01
        for some in (np.arange(100, 250), np.arange(400, 500)):
            assert accuracy(some) > max(np.mean(labels[some] < 0) - 0.05, 0.6)
    assert model.learner.shift() != 0


@pytest.mark.parametrize("stream", ["dense", "counts"])
def test_a_table_with_places_enough_is_exact_storage(quorate, stream):
    stream = STREAMS[stream]
    spec, model = built(stream, "confidence", "auto", ", store=hashed(bits=20)")
    hashed = trace(quorate, stream, spec)
    check(hashed, stream, model)
    exact = trace(quorate, stream, spec.replace("hashed(bits=20)", "exact"))
    assert hashed == exact


SCALES = ["none", "log", "idf", "log-idf", "auto"]
OTHERS = {"perceptron(query=margin(b=1), scale={})": lambda s: Perceptron(s.K, s.d, query=common.margin(1.0)),
          "cmtl(query=random(p=0.6), scale={})": lambda s: Cmtl(s.K, s.d, query=common.random(0.6))}


@pytest.mark.parametrize("learner, scale, stream", one_in(2, OTHERS, SCALES, STREAMS))
def test_scaled_instances_are_those_of_the_literal_formula(quorate, learner, scale, stream):
    stream = STREAMS[stream]
    lines = trace(quorate, stream, learner.format(scale))
    model = check(lines, stream, scaled(OTHERS[learner](stream), scale, stream.columns))
    assert {t["updated"] for t in lines if t["asked"]} == {True, False}
    if scale == "auto":
        assert model.scaling.dense == (stream is STREAMS["full counts"])
        assert model.scaling.numbers == (stream not in (STREAMS[name] for name in ("counts", "counts alone", "full counts")))


@pytest.mark.parametrize("scale", ["log-idf", "auto"])
def test_a_round_is_counted_before_it_is_scaled(quorate, scale):
    for stream in (counts(4, filled=12, seed=12), STREAMS["full counts"]):
        lines = trace(quorate, stream, f"perceptron(query=random(p=0.6), scale={scale})", "--rounds", "per-task")
        check(lines, stream, scaled(Perceptron(stream.K, stream.d, query=common.random(0.6)), scale, stream.columns))


def test_scale_is_of_the_values_of_the_data_with_and_without_unit_length(quorate):
    # What scales gives unit length itself; `none` does not.
    stream = STREAMS["counts"]
    spec = "perceptron(query=random(p=0.6), scale=log-idf)"
    assert trace(quorate, stream, spec) == trace(quorate, stream, spec, "--no-normalize")
