"""Every step of a traced run of shampo and shampo-second-order, and of every learner with query=shared, equals the literal
references, replayed with the draws the trace recorded."""
import copy
import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest
import samples

from program import one_in
from reference import common
from reference.amlc import Amlc
from reference.amtl import Amtl
from reference.classes import OneVsOne, OneVsRest
from reference.cmtl import Cmtl
from reference.perceptron import Perceptron
from reference.shampo import Chooser, SecondOrder, Shampo

D = 5
NAMES = ["ash", "beech", "elm", "oak"]


@dataclass
class Stream:
    """A data file and what the references need to know of it."""
    text: str
    options: list[str]
    tasks: list[str]
    x: list
    answers: list[dict]  # per example, task -> +1, -1 or 0
    questions: dict  # task -> what the annotator is asked; without classes there is none


def by_task():
    """Tasks of unequal length: t3 leaves early, t0 goes on alone."""
    left = {"t0": 30, "t1": 18, "t2": 14, "t3": 6}
    rows = []
    for r in samples.rows(160, 4, D, seed=43, noise=0.8):
        if left[r.task] > 0:
            left[r.task] -= 1
            rows.append(r)
    assert not any(left.values())
    return Stream(samples.csv(rows), ["--rounds", "per-task"], sorted(left), [common.prepare(list(r.x.values())) for r in rows],
                  [{r.task: int(r.label)} for r in rows], {})


def by_class(reduction):
    """Four classes around centers, told apart with errors."""
    rng = np.random.default_rng(43)
    centers = rng.normal(size=(4, D))
    rows, truths = [], []
    for i in range(45):
        truths.append(i % 4)
        x = centers[i % 4] + 0.9 * rng.normal(size=D)
        rows.append(samples.Row("", "", NAMES[i % 4], {f"f{j}": float(v) for j, v in enumerate(x)}))
    scheme = {"one-vs-rest": OneVsRest, "one-vs-one": OneVsOne}[reduction](4)
    if reduction == "one-vs-rest":
        tasks, questions = NAMES, {name: f"class = {name}?" for name in NAMES}
    else:
        tasks = [f"{NAMES[i]} or {NAMES[j]}" for i, j in scheme.pairs]
        questions = {task: task + "?" for task in tasks}
    answers = [{task: scheme.feedback(k, truth) for k, task in enumerate(tasks)} for truth in truths]
    return Stream(samples.csv(rows, ["label", *rows[0].x]), ["--classes", reduction], tasks,
                  [common.prepare(list(r.x.values())) for r in rows], answers, questions)


STREAMS = {"per-task": by_task(), "one-vs-rest": by_class("one-vs-rest"), "one-vs-one": by_class("one-vs-one")}

# Name: the words of the spec, what the reference calls it, how close the numbers are.
FLOAT, DOUBLE = dict(rel=1e-5, abs=1e-6), dict(rel=1e-9, abs=1e-12)
LEARNERS = {
    "first": ("shampo(", Shampo, {}, FLOAT),
    "first aggressive": ("shampo(aggressive=0.2", Shampo, dict(aggressive=0.2), FLOAT),
    "second": ("shampo-second-order(", SecondOrder, {}, DOUBLE),
    "second aggressive": ("shampo-second-order(aggressive=true", SecondOrder, dict(aggressive=True), DOUBLE),
    "diagonal": ("shampo-second-order(diagonal=true", SecondOrder, dict(diagonal=True), FLOAT),
    "diagonal aggressive": ("shampo-second-order(aggressive=true, diagonal=true", SecondOrder,
                            dict(aggressive=True, diagonal=True), FLOAT),
}
WEIGHTS = [0.5, 4.0, 1.0, 2.0, 0.25, 3.0]  # the third is not in the file: a task it does not name has 1
CHOICES = {
    "plain": ("b=0.1", {}),
    "weights": ("b=0.3, prior=weights(file=w.csv)", dict(b=0.3, prior="file")),
    "counts": ("b=0.1, prior=counts", dict(prior="counts")),
    "own": ("b=0.2, adaptive=counts(kappa=0.5, eta=-0.5, queries=own)", dict(b=0.2, adaptive=(0.5, -0.5, "own"))),
    "all": ("b=0.2, adaptive=counts(kappa=1.5, eta=-0.25, queries=all)", dict(b=0.2, adaptive=(1.5, -0.25, "all"))),
    "everything": ("b=0.4, prior=counts, adaptive=counts(queries=all)",
                   dict(b=0.4, prior="counts", adaptive=(0.5, -0.5, "all"))),
    "uniform": ("b=0.1, choose=uniform", dict(choose="uniform")),
    "uniform weights": ("choose=uniform, prior=weights(file=w.csv)", dict(choose="uniform", prior="file")),
    "uniform counts": ("choose=uniform, prior=counts", dict(choose="uniform", prior="counts")),
    "smallest": ("b=0.1, choose=smallest", dict(choose="smallest")),
    "watch all": ("b=0.1, choose=all", dict(choose="all")),
}
ZEROS = {"ignore": ("zero=ignore", "ignore"), "random": ("zero=random", "random"),
         "weak": ("zero=weak(eta=0.3)", ("weak", 0.3))}


def trace(quorate, stream, learner, *options):
    (quorate.folder / "data.csv").write_text(stream.text)
    named = [(t, a) for k, (t, a) in enumerate(zip(stream.tasks, WEIGHTS)) if k != 2]
    (quorate.folder / "w.csv").write_text("task,weight\n" + "".join(f"{t},{a}\n" for t, a in reversed(named)))
    quorate.ok("simulate", "--data", "data.csv", *stream.options, "--learner", learner, "--trace", "trace", *options)
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


def rounds_of(lines, stream):
    """The rounds of a trace, which are what they must be: with classes one instance and all tasks in order; else the next
    example of each task that has one left, in one order of the tasks."""
    rounds = [list(group) for _, group in itertools.groupby(lines, key=lambda t: (t["run"], t["pass"], t["round"]))]
    keys = [(r[0]["run"], r[0]["pass"], r[0]["round"]) for r in rounds]
    assert len(set(keys)) == len(keys) and keys == sorted(keys)
    for _, part in itertools.groupby(rounds, key=lambda r: (r[0]["run"], r[0]["pass"])):
        part = list(part)
        assert [r[0]["round"] for r in part] == list(range(part[0][0]["round"], part[0][0]["round"] + len(part)))
        seen = [t["example"] for r in part for t in (r[:1] if stream.questions else r)]
        assert sorted(seen) == list(range(len(stream.x))) and seen != sorted(seen)
        first = [t["task"] for t in part[0]]
        assert sorted(first) == sorted(stream.tasks)
        left = {task: sum(task in a for a in stream.answers) for task in stream.tasks}
        for r in part:
            assert [t["task"] for t in r] == [task for task in first if left[task] > 0]
            for t in r:
                left[t["task"]] -= 1
                assert t["task"] in stream.answers[t["example"]]
                assert t.get("question") == stream.questions.get(t["task"])
            if stream.questions:
                assert first == stream.tasks and len({t["example"] for t in r}) == 1
        assert not any(left.values())
    return rounds


def clear(model, tasks, decisions, doubts, draws, close):
    """No decision of the round hangs on the last bits of a number, those within `close`."""
    for p in [d["margin"] for d in decisions]:
        assert p == 0 or abs(p) > close, "a margin too near 0 to compare; take another seed"
    for p, doubt in zip(decisions, doubts):
        edge = doubt if getattr(model, "diagonal", None) is not None else abs(p["margin"]) - model.aggressive
        assert model.aggressive is False or doubt == 0 or abs(edge) > close, "an update too near to compare; take another seed"
    if draws:
        weights = model.chooser.weights(tasks, doubts, shift=not (hasattr(model, "doubt") and model.aggressive))
        left = list(range(len(tasks)))
        for u in draws:
            total = sum(weights[i] for i in left)
            edges = list(itertools.accumulate(weights[i] / total for i in left))
            assert all(abs(e - u) > close for e in edges[:-1]), "a draw too near to compare; take another seed"
            left.remove(left[next((k for k, e in enumerate(edges) if e > u), -1)])


def tied(doubts, n, lines, close):
    """Whether the doubts of the chosen are the smallest but for last bits that no two ways of summing share, as with the F of
    aggressive second order before the first update: -1/2 for every instance of unit length. What ties exactly is not meant."""
    order = sorted(doubts)
    if len(order) <= n:
        return False
    blurred = len({d for d in order if abs(d - order[n - 1]) <= close}) > 1
    chosen = [d for d, t in zip(doubts, lines) if t["asked"]]
    return blurred and len(chosen) == n and max(chosen) <= order[n - 1] + close


def decided(model, members, xs, lines, near):
    """The decisions of the reference if they are the trace's; None if they are not. The draws of a round stand at the examples
    they chose; in which order they were drawn it does not say: one order must fit."""
    found = [t["draw"] for t in lines if t["draw"] is not None]
    for draws in itertools.permutations(found):
        spare = list(draws) + [0.5] * (model.chooser.labels_per_round - len(draws))
        decisions = model.decide(members, xs, spare)
        doubts = [model.doubt(k, x) if hasattr(model, "doubt") else abs(d["margin"]) for k, x, d in zip(members, xs, decisions)]
        if model.chooser.mode == "smallest" and tied(doubts, model.chooser.labels_per_round, lines, near["rel"]):
            decisions = [{**d, "asked": t["asked"], "probability": float(t["asked"])} for d, t in zip(decisions, lines)]
        fits = all((d["asked"], d["draw"]) == (t["asked"], t["draw"]) and t["margin"] == pytest.approx(d["margin"], **near)
                   and t["probability"] == pytest.approx(d["probability"], **near) for d, t in zip(decisions, lines))
        if fits:
            clear(model, members, decisions, doubts, draws, near["rel"])
            return decisions
    return None


def check(lines, stream, model, near):
    """Replays the trace. A coin that zero=random tossed is not in it: both sides are followed until one of them no longer fits.
    Returns the coins that became known."""
    worlds = [(model, [])]
    for n, r in enumerate(rounds_of(lines, stream)):
        members = [stream.tasks.index(t["task"]) for t in r]
        xs = [stream.x[t["example"]] for t in r]
        kept = [(world, coins) for world, coins in worlds if decided(world, members, xs, r, near) is not None]
        assert kept, (f"round {n}: the trace has {r}, the reference "
                      f"{[world.decide(members, xs, [0.5] * 9) for world, _ in worlds]} but for the draws")
        worlds = kept
        for t, k, x in zip(r, members, xs):
            if not t["asked"]:
                assert (t["label"], t["updated"]) == (None, False), f"round {n}"
                continue
            answer = stream.answers[t["example"]][t["task"]]
            assert t["label"] == answer, f"round {n}"
            tossed = (0.0, 0.9) if answer == 0 and model.zero == "random" else (None,)
            after = []
            for (world, coins), draw in itertools.product(worlds, tossed):
                world = copy.deepcopy(world)
                if world.learn(k, x, answer, draw) == t["updated"]:
                    after.append((world, coins if draw is None else [*coins, draw]))
            assert after, f"round {n}: updated is {t['updated']} against the reference"
            worlds = after
        assert len(worlds) <= 64, f"round {n}: the coins cannot be told from what followed"
    return worlds[0][1]


def built(learner, choice, stream, labels_per_round, zero="ignore"):
    """The spec and the reference of one case."""
    start, twin, settings, near = LEARNERS[learner]
    words, options = CHOICES[choice]
    options = {"b": 0.1, **options}
    K = len(stream.tasks)
    if options.get("prior") == "file":
        options["prior"] = [1.0 if k == 2 else WEIGHTS[k] for k in range(K)]
    spec = start + (", " if not start.endswith("(") else "") + ", ".join([words, ZEROS[zero][0]]) + ")"
    return spec, twin(K, D + 1, **settings, **options, zero=ZEROS[zero][1], labels_per_round=labels_per_round), near


def went_everywhere(lines, stream, labels_per_round, choice):
    """The run took every branch it could."""
    asked = [t for t in lines if t["asked"]]
    assert {t["updated"] for t in asked} == {True, False}
    assert {t["label"] for t in asked} == ({1, -1, 0} if any(0 in a.values() for a in stream.answers) else {1, -1})
    for r in rounds_of(lines, stream):
        wanted = len(r) if choice == "watch all" else min(labels_per_round, len(r))
        assert sum(t["asked"] for t in r) == wanted
        drawn = 0 if choice in ("watch all", "smallest") or len(r) <= labels_per_round else labels_per_round
        assert sum(t["draw"] is not None for t in r) == drawn
        assert all(t["asked"] for t in r if t["draw"] is not None)


CASES = [(c, n) for c in CHOICES for n in (1, 2) if (c, n) != ("watch all", 2)]


@pytest.mark.parametrize("learner, choice, labels_per_round, stream", one_in(3, LEARNERS, CASES, STREAMS))
def test_every_step_equals_the_literal_reference(quorate, learner, choice, stream, labels_per_round):
    stream = STREAMS[stream]
    spec, model, near = built(learner, choice, stream, labels_per_round)
    lines = trace(quorate, stream, spec, "--labels-per-round", labels_per_round)
    check(lines, stream, model, near)
    went_everywhere(lines, stream, labels_per_round, choice)


@pytest.mark.parametrize("learner, choice, labels_per_round, zero", one_in(3, LEARNERS, [
    ("plain", 1), ("plain", 2), ("counts", 1), ("counts", 2), ("all", 1), ("all", 2), ("watch all", 1)], ["random", "weak"]))
def test_an_answer_of_neither_teaches_what_zero_says(quorate, learner, choice, zero, labels_per_round):
    stream = STREAMS["one-vs-one"]
    spec, model, near = built(learner, choice, stream, labels_per_round, zero)
    lines = trace(quorate, stream, spec, "--labels-per-round", labels_per_round)
    coins = check(lines, stream, model, near)
    went_everywhere(lines, stream, labels_per_round, choice)
    neither = [t["updated"] for t in lines if t["label"] == 0]
    if zero == "weak":
        assert all(neither)
    else:
        assert len(coins) == len(neither) > 10 and 0.2 < sum(c < 0.5 for c in coins) / len(coins) < 0.8
        assert set(neither) == {True, False}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("learner", ["first", "second", "diagonal aggressive"])
def test_passes_go_on_learning_and_runs_start_anew(quorate, learner, stream):
    stream = STREAMS[stream]
    lines = trace(quorate, stream, built(learner, "everything", stream, 1)[0], "--runs", 2, "--passes", 2)
    runs = [[t for t in lines if t["run"] == r] for r in range(2)]
    assert [t["example"] for t in runs[0]] != [t["example"] for t in runs[1]]
    for run in runs:
        assert {t["pass"] for t in run} == {0, 1}
        _, model, near = built(learner, "everything", stream, 1)
        check(run, stream, model, near)


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_example_by_itself_is_a_round_of_one_and_always_asked(quorate, learner):
    stream = STREAMS["per-task"]
    spec, model, near = built(learner, "plain", stream, 1)
    (quorate.folder / "data.csv").write_text(stream.text)
    quorate.ok("simulate", "--data", "data.csv", "--rounds", "each", "--learner", spec, "--trace", "trace")
    lines = [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]
    assert sorted(t["example"] for t in lines) == list(range(len(stream.x)))
    for t in lines:
        k, x = stream.tasks.index(t["task"]), stream.x[t["example"]]
        assert decided(model, [k], [x], [t], near) is not None, t
        assert (t["asked"], t["probability"], t["draw"]) == (True, 1, None)
        assert model.learn(k, x, t["label"]) == t["updated"] and t["label"] == stream.answers[t["example"]][t["task"]]
    assert {t["updated"] for t in lines} == {True, False}


def test_learners_of_one_seed_see_one_order_and_one_sequence_of_draws(quorate):
    for name, stream in STREAMS.items():
        first = trace(quorate, stream, built("first", "plain", stream, 1)[0])
        drawn = [[t["draw"] for t in r if t["draw"] is not None] for r in rounds_of(first, stream)]
        # Nothing else draws in these.
        for learner, choice in itertools.product(LEARNERS, ["weights", "uniform"]):
            other = trace(quorate, stream, built(learner, choice, stream, 1)[0])
            assert [t["example"] for t in other] == [t["example"] for t in first], name
            assert [[t["draw"] for t in r if t["draw"] is not None] for r in rounds_of(other, stream)] == drawn, name
        changed = trace(quorate, stream, built("first", "plain", stream, 1)[0], "--seed", 2)
        assert [t["example"] for t in changed] != [t["example"] for t in first]
        assert [[t["draw"] for t in r if t["draw"] is not None] for r in rounds_of(changed, stream)] != drawn


# ---- the same rule for learners of another kind

SHARED = {"perceptron": (Perceptron, "{}"), "cmtl": (Cmtl, "graph=complete, {}"), "amtl": (Amtl, "{}"), "amlc": (Amlc, "{}")}
RULES = {"shared(b=0.3)": {}, "shared": dict(b=1.0), "shared(b=0.3, prior=weights(file=w.csv))": dict(prior="file"),
         "shared(b=0.3, choose=uniform)": dict(choose="uniform"), "shared(choose=smallest)": dict(choose="smallest")}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("learner", SHARED)
def test_a_shared_annotator_is_asked_once_a_round_by_the_traced_margins(quorate, learner, rule, stream):
    stream = STREAMS[stream]
    twin, words = SHARED[learner]
    lines = trace(quorate, stream, f"{learner}({words.format('query=' + rule)})")
    K = len(stream.tasks)
    options = {"b": 0.3, **RULES[rule]}
    if options.get("prior") == "file":
        options["prior"] = [1.0 if k == 2 else WEIGHTS[k] for k in range(K)]
    chooser, model = Chooser(K, **options), twin(K, D + 1)
    for n, r in enumerate(rounds_of(lines, stream)):
        assert sum(t["asked"] for t in r) == 1, f"round {n}"
        members = [stream.tasks.index(t["task"]) for t in r]
        draws = [t["draw"] for t in r if t["draw"] is not None]
        assert len(draws) == (0 if len(r) == 1 or options.get("choose") == "smallest" else 1), f"round {n}"
        chosen = chooser.choose(members, [abs(t["margin"]) for t in r], draws)
        for t, c, k in zip(r, chosen, members):
            assert (t["asked"], t["draw"]) == (c["asked"], c["draw"]), f"round {n}"
            assert t["probability"] == pytest.approx(c["probability"], rel=1e-12), f"round {n}"
            x = stream.x[t["example"]]
            margin = model.score(k, x) if learner == "amlc" else model.margin(k, x)
            assert t["margin"] == pytest.approx(margin, **FLOAT), f"round {n}"
        for t, k in zip(r, members):
            answer = stream.answers[t["example"]][t["task"]]
            assert t["label"] == (answer if t["asked"] else None), f"round {n}"
            if t["asked"] and answer != 0:  # neither: nothing to learn for those that do not know it
                moved = model.learn(k, stream.x[t["example"]], answer)
                assert t["updated"] == (moved or bool(getattr(model, "shared", []))), f"round {n}"
            else:
                assert not t["updated"], f"round {n}"
    assert {t["updated"] for t in lines if t["asked"]} == {True, False}


@pytest.mark.parametrize("learner", SHARED)
def test_a_shared_annotator_gives_as_many_labels_a_round_as_one_asks_for(quorate, learner):
    for stream in STREAMS.values():
        lines = trace(quorate, stream, f"{learner}(query=shared(b=0.3))", "--labels-per-round", 3)
        for r in rounds_of(lines, stream):
            assert sum(t["asked"] for t in r) == min(3, len(r))
