"""Users and classes at once: each user has own weights for every class, and each class is shared by all users."""
import itertools
import json
import math
import re

import numpy as np
import pytest
import samples
from samples import without_progress, without_seconds

from program import one_in
from reference import classes as reference
from reference import common
from reference.cohort import Cohort, CohortOfClasses, by_margin, confidence
from reference.perceptron import Perceptron
from reference.scaling import scaled
from reference.shampo import Chooser, Shampo

FLOAT = dict(rel=1e-5, abs=1e-6)
D = 6
NAMES = ["ash", "elm", "oak"]
USERS = ["ann", "bob", "cid", "dan"]
REDUCTIONS = {"one-vs-rest": reference.OneVsRest, "one-vs-one": reference.OneVsOne}


def rows(n, seed, users=USERS, own=1.0, noise=0.6):
    """Examples of classes around centers that every user moves."""
    of_class = np.random.default_rng(5).normal(size=(len(NAMES), D))
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        u, c = i % len(users), int(rng.integers(len(NAMES)))
        moved = of_class[c] + own * np.random.default_rng(100 + 10 * USERS.index(users[u]) + c).normal(size=D)
        x = moved + noise * rng.normal(size=D)
        out.append(samples.Row(f"e{i}", users[u], NAMES[c], {f"f{j}": float(v) for j, v in enumerate(x)}))
    return out


TRAIN, TEST = rows(160, 1), rows(80, 2)


def text(data, tasks=True):
    return samples.csv(data, ["id", *(["task"] if tasks else []), "label", *data[0].x])


@pytest.fixture
def folder(quorate):
    for name, data in {"all": TRAIN, "first": TRAIN[:80], "second": TRAIN[80:], "test": TEST}.items():
        (quorate.folder / f"{name}.csv").write_text(text(data))
        (quorate.folder / f"{name}-alone.csv").write_text(text(data, tasks=False))
    return quorate.folder


def trace_of(quorate):
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


def rounds_of(lines):
    return [list(r) for _, r in itertools.groupby(lines, key=lambda t: (t["run"], t["pass"], t["round"]))]


def x_of(row):
    return common.prepare(list(row.x.values()))


def pair_of(row):
    return common.prepare(list(row.x.values())), np.array([*row.x.values(), 1.0])


def bad(result, code, *said):
    assert (result.code, without_progress(result.out)) == (code, ""), result.err
    errors = [line for line in result.err.splitlines() if not line.startswith("  ") and not line.endswith("(quorate look says more):")]
    assert len(errors) == 1 and errors[0].startswith("quorate: "), result.err
    for part in said:
        assert part in result.err, result.err


def far(numbers):
    return all(v == 0.0 or abs(v) > 2e-7 for v in numbers)


# ---- every step equals the literal reference

def cohort(scheme, query, **options):
    if isinstance(scheme, reference.OneVsRest):
        return CohortOfClasses(scheme.C, D + 1, users=len(USERS), query=query, **options)
    return Cohort(len(USERS) * scheme.K, D + 1, groups=scheme.K, query=query, **options)


def learn(model, scheme, tasks, asked, label, x, decision):
    """The answer to one question; returns whether it changed a weight. A class against the rest: that class is learned, once."""
    if isinstance(scheme, reference.OneVsRest):
        return model.learn(tasks[label], x, +1, decision)
    truth = scheme.feedback(asked, label)
    return truth != 0 and model.learn(tasks[asked], x, truth, decision)


QUERIES = {"confidence": lambda K: dict(query=confidence(0.5)), "always": lambda K: dict(query=by_margin(common.always)),
           "random(p=0.4)": lambda K: dict(query=by_margin(common.random(0.4))),
           "shared(b=0.3)": lambda K: dict(query=None, chooser=Chooser(K, b=0.3))}


@pytest.mark.parametrize("reduction, scale, query", one_in(2, REDUCTIONS, ["none", "auto"], QUERIES))
def test_every_step_of_cohort_equals_the_literal_reference(quorate, folder, reduction, scale, query):
    scheme = REDUCTIONS[reduction](3)
    model = scaled(cohort(scheme, **QUERIES[query](len(USERS) * scheme.K)), scale, D)
    document = quorate.ok("simulate", "--data", "all.csv", "--classes", reduction, "--learner",
                          f"cohort(query={query}, scale={scale})", "--trace", "trace", "--json").json()
    assert (document["users"], document["tasks"], document["classes"]) == (4, 4 * scheme.K, NAMES)
    questions = [f"class = {n}?" for n in NAMES] if reduction == "one-vs-rest" else ["ash or elm?", "ash or oak?", "elm or oak?"]
    rounds = rounds_of(trace_of(quorate))
    assert len(rounds) == 160
    answers = set()
    order = list(dict.fromkeys(r.task for r in TRAIN))  # users in the order in which the file names them
    for r in rounds:
        row = TRAIN[r[0]["example"]]
        tasks = [order.index(row.task) * scheme.K + c for c in range(scheme.K)]
        assert [t["task"] for t in r] == [row.task] * scheme.K
        assert [t["question"] for t in r] == [f"{row.task}: {q}" for q in questions]
        pair = pair_of(row)
        decisions = model.decide_instance(tasks, pair, [t["draw"] for t in r])
        assert far(model.learner.compared), "too near to compare; take another seed"
        assert reduction == "one-vs-rest" or far(d["margin"] for d in decisions), "too near to compare; take another seed"
        assert reduction == "one-vs-one" or sum(t["asked"] for t in r) <= 1
        for t, d in zip(r, decisions):
            assert t["margin"] == pytest.approx(d["margin"], **FLOAT)
            assert t["probability"] == pytest.approx(d["probability"], rel=3e-5, abs=1e-6)
            assert t["asked"] == d["asked"]
        for c, (t, d) in enumerate(zip(r, decisions)):
            label = NAMES.index(row.label)
            assert t["label"] == (scheme.feedback(c, label) if t["asked"] else None)
            answers.add(t["label"])
            updated = t["asked"] and learn(model, scheme, tasks, c, label, pair, d)
            assert far(model.learner.compared), "too near to compare; take another seed"
            assert t["updated"] == updated
    assert {1, -1} <= answers and (0 in answers) == (reduction == "one-vs-one")
    everywhere = query == "always" or (query.startswith("shared") and reduction == "one-vs-rest")  # asked about: no guesses
    assert (model.learner.taught == 0) == everywhere


@pytest.mark.parametrize("query", QUERIES)
def test_every_step_of_cohort_without_users_equals_the_literal_reference(quorate, folder, query):
    scheme = reference.OneVsRest(3)
    model = scaled(CohortOfClasses(3, D + 1, **QUERIES[query](3)), "auto", D)
    quorate.ok("simulate", "--data", "all.csv", "--classes", "one-vs-rest", "--no-users", "--learner", f"cohort(query={query})",
               "--trace", "trace")
    floored = 0
    for r in rounds_of(trace_of(quorate)):
        row = TRAIN[r[0]["example"]]
        decisions = model.decide_instance([0, 1, 2], pair_of(row), [t["draw"] for t in r])
        assert far(model.learner.compared), "too near to compare; take another seed"
        for c, (t, d) in enumerate(zip(r, decisions)):
            assert t["margin"] == pytest.approx(d["margin"], **FLOAT)
            assert t["probability"] == pytest.approx(d["probability"], rel=9e-5, abs=1e-6)
            assert t["asked"] == d["asked"]
            floored += d["probability"] == model.learner.least(c)
        for c, (t, d) in enumerate(zip(r, decisions)):
            if t["asked"]:
                assert t["updated"] == learn(model, scheme, [0, 1, 2], c, NAMES.index(row.label), pair_of(row), d)
                assert far(model.learner.compared), "too near to compare; take another seed"
    assert (floored > 10) == (query == "confidence")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("learner, make", [("perceptron", lambda K: Perceptron(K, D + 1)),
                                           ("shampo(b=0.1)", lambda K: Shampo(K, D + 1, b=0.1))])
def test_learners_whose_tasks_are_alone_have_a_task_for_every_user_and_class(quorate, folder, learner, make, reduction):
    scheme = REDUCTIONS[reduction](3)
    model = make(4 * scheme.K)
    quorate.ok("simulate", "--data", "all.csv", "--classes", reduction, "--learner", learner, "--trace", "trace")
    order, bought = list(dict.fromkeys(r.task for r in TRAIN)), 0
    for r in rounds_of(trace_of(quorate)):
        row = TRAIN[r[0]["example"]]
        for c, t in enumerate(r):
            task = order.index(row.task) * scheme.K + c
            if c == 0:
                margins = [model.margin(task + k, x_of(row)) for k in range(scheme.K)]
            assert t["margin"] == pytest.approx(margins[c], **FLOAT)
            if t["asked"] and t["label"] != 0:
                model.learn(task, x_of(row), t["label"])
            bought += t["asked"]
    assert bought == (160 if "shampo" in learner else 160 * scheme.K)


# ---- measures

def test_users_classify_better_than_one_model_for_all(quorate, folder):
    (folder / "long.csv").write_text(text(rows(800, 3, own=1.5)))
    (folder / "new.csv").write_text(text(rows(400, 4, own=1.5)))
    options = ["simulate", "--data", "long.csv", "--test", "new.csv", "--classes", "one-vs-rest", "--json", "--runs", 5]
    for more in (["--learner", "cohort(query=always)"], ["--labels", 240, "--pace", "even"]):
        users, alone = (quorate.ok(*options, *more, *no).json()["mean"]["accuracy"] for no in ([], ["--no-users"]))
        assert users > alone + 0.03


def test_without_a_task_or_with_no_users_results_are_as_without_users(quorate, folder):
    common_options = ["--classes", "one-vs-one", "--json", "--per-task"]
    alone = quorate.ok("simulate", "--data", "all-alone.csv", *common_options).json()
    ignored = quorate.ok("simulate", "--data", "all.csv", "--no-users", *common_options).json()
    assert without_seconds(alone) == without_seconds(ignored) and "users" not in alone
    assert list(alone["runs"][0]["per_task"]) == ["ash or elm", "ash or oak", "elm or oak"]
    quorate.ok("train", "--data", "all-alone.csv", "--model", "a", "--classes", "one-vs-rest")
    quorate.ok("train", "--data", "all.csv", "--model", "b", "--classes", "one-vs-rest", "--no-users")
    # Their files differ in the schema: one has a task column.
    assert predict(quorate, "test-alone.csv", "a") == predict(quorate, "test-alone.csv", "b")


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_measures_of_a_task_are_those_of_a_user(quorate, folder, reduction):
    one = quorate.ok("simulate", "--data", "all.csv", "--test", "test.csv", "--classes", reduction, "--json", "--per-task",
                     "--trace", "trace", "--learner", "perceptron(query=margin(b=0.3))").json()["runs"][0]
    scheme = REDUCTIONS[reduction](3)
    rounds = rounds_of(trace_of(quorate))
    assert set(one["per_task"]) == set(USERS)
    for user, found in one["per_task"].items():
        mine = [r for r in rounds if r[0]["task"] == user]
        truths = [NAMES.index(TRAIN[r[0]["example"]].label) for r in mine]
        guesses = [scheme.predict([t["margin"] for t in r]) for r in mine]
        assert found["examples"] == len(mine) == 40
        assert found["mistakes"] == sum(t != g for t, g in zip(truths, guesses))
        assert found["labels"] == sum(t["asked"] for r in mine for t in r)
        assert found["updates"] == sum(t["updated"] for r in mine for t in r)
        assert 0 < found["accuracy"] <= 1
    assert sum(f["labels"] for f in one["per_task"].values()) == one["labels"]
    assert np.mean([f["accuracy"] for f in one["per_task"].values()]) == pytest.approx(one["accuracy"], rel=1e-12)
    shown = quorate.ok("simulate", "--data", "all.csv", "--classes", reduction, "--per-task").out
    assert f"{4 * scheme.K} tasks (4 users)" in shown and "\nuser " in shown


def test_results_do_not_depend_on_threads_and_compare_and_tune_take_users(quorate, folder):
    options = ["--data", "all.csv", "--test", "test.csv", "--classes", "one-vs-rest", "--runs", 4, "--labels", 20, "--json"]
    one, two = (quorate.ok("simulate", *options, "--threads", n).json() for n in (1, 2))
    assert without_seconds(one) == without_seconds(two) and 10 < one["mean"]["labels"] <= 20
    compared = quorate.ok("compare", *options, "--learner", "cohort", "--learner", "perceptron").json()["learners"]
    assert without_seconds(compared[0]["mean"]) == without_seconds(one["mean"])
    settings = quorate.ok("tune", "--data", "all.csv", "--classes", "one-vs-rest", "--learner", "cohort", "--grid", "noise=0.1,1",
                          "--folds", 4, "--json").json()["settings"]
    assert len(settings) == 2


def test_late_answers_reach_the_user_and_class_that_was_asked_about(quorate, folder):
    options = ["simulate", "--data", "all.csv", "--classes", "one-vs-one", "--delay", 10, "--trace", "trace"]
    quorate.ok(*options)
    asked = {}
    for t in trace_of(quorate):
        if t.get("late"):
            first = asked.pop(t["ticket"])
            assert (t["task"], t["question"], t["example"]) == first
            a, b = t["question"].split(": ")[1].rstrip("?").split(" or ")
            label = TRAIN[t["example"]].label
            assert t["label"] == (1 if label == a else -1 if label == b else 0)
        elif t["asked"]:
            asked[t["ticket"]] = (t["task"], t["question"], t["example"])
    assert len(asked) < 40  # the last ones


# ---- models

def predict(quorate, data, model, *options):
    return quorate.ok("predict", "--data", data, "--model", model, *options).lines()


def train(quorate, data, model, *options):
    return quorate.ok("train", "--data", data, "--model", model, *options)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_user_is_predicted_by_own_weights_and_an_unknown_one_by_the_shared(quorate, folder, reduction):
    train(quorate, "all.csv", "m", "--classes", reduction, "--learner", "cohort(query=always, scale=none)")
    scheme = REDUCTIONS[reduction](3)
    model = cohort(scheme, by_margin(common.always))
    for r in TRAIN:
        first = USERS.index(r.task) * scheme.K
        decisions = model.decide([first + c for c in range(scheme.K)], [x_of(r)] * scheme.K, [None] * scheme.K)
        for c, d in enumerate(decisions):
            if d["asked"]:
                learn(model, scheme, range(first, first + scheme.K), c, NAMES.index(r.label), x_of(r), d)

    def expected(r, user):
        margins = []
        (E, O), u = model.lean(), model.second()
        w, v = ((1.0 - u) * means[0] + u * means[1] for means in (model.w, model.v))
        for c in range(scheme.K):
            own = 0 if user is None else np.sum(v[USERS.index(user) * scheme.K + c] * x_of(r))
            margins.append(float(E * np.sum(w[c] * x_of(r)) + O * own))
        return margins

    strangers = [samples.Row(r.id, "zoe", r.label, r.x) for r in TEST]
    (folder / "strangers.csv").write_text(text(strangers))
    known, unknown, alone = (predict(quorate, f"{name}.csv", "m", "--probabilities")
                             for name in ("test", "strangers", "test-alone"))
    assert [line["task"] for line in unknown] == ["zoe"] * 80
    for line, r in zip(known, TEST):
        assert set(line) == {"id", "task", "margin", "probabilities", "label"} and line["task"] == r.task
    right = {}
    for name, lines, users in (("known", known, [r.task for r in TEST]), ("unknown", unknown, [None] * 80)):
        for line, r, user in zip(lines, TEST, users):
            margins = expected(r, user)
            winner = scheme.predict(margins)
            assert line["label"] == NAMES[winner]
            if reduction == "one-vs-rest":
                p = np.exp(model.slope * (np.array(margins) - max(margins)))
                p = p / np.sum(p)
            else:
                p = reference.probabilities(scheme, [calibrated(model.calibration, m) for m in margins], winner)
            assert list(line["probabilities"]) == NAMES
            assert list(line["probabilities"].values()) == pytest.approx(p.tolist(), rel=1e-3, abs=1e-5)
            assert sum(line["probabilities"].values()) == pytest.approx(1, abs=1e-12)
            assert line["probabilities"][line["label"]] == max(line["probabilities"].values())
        right[name] = sum(line["label"] == r.label for line, r in zip(lines, TEST))
    assert right["known"] > right["unknown"] > 30
    strip = [{k: v for k, v in line.items() if k != "task"} for line in unknown]
    assert strip == [{k: v for k, v in line.items() if k != "task"} for line in alone]


def calibrated(calibration, m):
    z = float(calibration.theta[0] * m + calibration.theta[1])
    return max(z, 1e-9) if m > 0 else min(z, 0.0)


@pytest.mark.parametrize("learner", ["cohort", "cohort(query=shared(b=0.5))", "perceptron(query=random(p=0.5))", "shampo(b=0.1)",
                                     "shampo-second-order(b=0.1)", "cohort(store=hashed(bits=12))"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_going_on_with_a_model_equals_never_stopping(quorate, folder, reduction, learner):
    train(quorate, "all.csv", "whole", "--classes", reduction, "--learner", learner, "--audit", 0.1)
    train(quorate, "first.csv", "parts", "--classes", reduction, "--learner", learner, "--audit", 0.1)
    half = quorate.ok("inspect", "parts", "--json").json()["labels"]["bought"]
    train(quorate, "second.csv", "parts")
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()
    document = quorate.ok("inspect", "parts", "--json").json()
    assert document["labels"]["bought"] > half > 0
    assert (document["classes"], document["users"], document["reduction"]) == (NAMES, 4, reduction)
    assert [t["task"] for t in document["tasks"]] == USERS and document["task_count"] == 4 * REDUCTIONS[reduction](3).K
    assert [t["examples"] for t in document["tasks"]] == [40] * 4
    assert sum(t["labels"] for t in document["tasks"]) == document["labels"]["bought"]
    shown = quorate.ok("inspect", "parts").out
    assert "(4 users)" in shown and "\nuser " in shown and all(f"\n{user} " in shown for user in USERS)


def test_a_new_user_comes_later_and_a_model_made_with_users_keeps_them(quorate, folder):
    (folder / "two.csv").write_text(text([r for r in TRAIN if r.task in ("ann", "bob")]))
    train(quorate, "two.csv", "m", "--classes", "one-vs-rest")
    train(quorate, "second.csv", "m")
    assert quorate.ok("inspect", "m", "--json").json()["users"] == 4
    bad(quorate("train", "--data", "all.csv", "--model", "m", "--no-users"), 2, "--no-users", "leave it out")
    summary = train(quorate, "second-alone.csv", "m", "--json").json()  # examples without a user are of one called "all"
    assert summary["report"]["users"] == 5 and summary["report"]["task_count"] == 15


def test_budgets_hold_in_all_for_each_task_and_by_pace(quorate, folder):
    train(quorate, "all.csv", "m", "--classes", "one-vs-rest", "--labels", 17)
    assert quorate.ok("inspect", "m", "--json").json()["labels"]["bought"] == 17
    train(quorate, "all.csv", "n", "--classes", "one-vs-rest", "--learner", "cohort(query=always)", "--labels-per-task", 5)
    # Three tasks each; only the class of the largest margin is asked about.
    assert all(5 <= t["labels"] <= 15 for t in quorate.ok("inspect", "n", "--json").json()["tasks"])
    train(quorate, "all.csv", "o", "--classes", "one-vs-one", "--learner", "cohort(query=always)", "--labels-per-task", 5)
    assert [t["labels"] for t in quorate.ok("inspect", "o", "--json").json()["tasks"]] == [15] * 4
    train(quorate, "all.csv", "p", "--classes", "one-vs-rest", "--labels", 60, "--pace", "even", "--length", 160)
    assert quorate.ok("inspect", "p", "--json").json()["labels"]["bought"] <= 60


def test_a_user_who_does_not_fit_into_memory_is_answered_by_what_all_share_and_counted(quorate, folder):
    many = []
    for i in range(3000):
        row = TRAIN[i % len(TRAIN)]
        many.append(samples.Row(f"e{i}", f"user-with-a-long-name-{i}", row.label, row.x))
    (folder / "many.csv").write_text(text(many))
    summary = train(quorate, "many.csv", "m", "--classes", "one-vs-rest", "--memory", "600kB", "--json").json()["report"]
    assert 0 < summary["users"] < 3000 and summary["untracked_examples"] == 3 * (3000 - summary["users"])
    assert summary["model_bytes"] <= 600_000 and summary["peak_bytes"] <= 600_000
    last = predict(quorate, "many.csv", "m")[-1]
    (folder / "many-alone.csv").write_text(text(many, tasks=False))
    alone = predict(quorate, "many-alone.csv", "m")[-1]
    assert (last["label"], last["margin"]) == (alone["label"], alone["margin"])
    (folder / "a.csv").write_text(text(many[:1500]))
    (folder / "b.csv").write_text(text(many[1500:]))
    train(quorate, "a.csv", "parts", "--classes", "one-vs-rest", "--memory", "600kB")
    train(quorate, "b.csv", "parts")
    assert (folder / "parts").read_bytes() == (folder / "m").read_bytes()


def test_other_learners_are_refused_with_those_that_can(quorate, folder):
    for learner in ("cmtl", "amtl", "peer", "amlc", "kernel-perceptron"):
        for command in (["simulate", "--data", "all.csv"], ["train", "--data", "all.csv", "--model", "m"],
                        ["compare", "--data", "all.csv", "--learner", "cohort"]):
            bad(quorate(*command, "--classes", "one-vs-rest", "--learner", learner), 2, learner, "users", "cohort", "perceptron",
                "--no-users")
    assert not (folder / "m").exists()
    quorate.ok("simulate", "--data", "all.csv", "--classes", "one-vs-rest", "--learner", "cmtl", "--no-users")
    learners = [row["name"] for row in quorate.ok("describe", "--json").json()]
    message = quorate("simulate", "--data", "all.csv", "--classes", "one-vs-rest", "--learner", "cmtl").err
    can = set(re.search(r"expected one of (.*?), or classes", message)[1].split(", "))
    assert {"cohort", "perceptron"} <= can < set(learners)
    codes = {name: quorate("simulate", "--data", "all.csv", "--classes", "one-vs-rest", "--learner", name).code for name in learners}
    assert {name for name, code in codes.items() if code == 0} == can
    assert {name for name, code in codes.items() if code == 2} == {name for name, code in codes.items() if code != 0}


def test_weights_of_the_prior_are_those_of_users(quorate, folder):
    (folder / "prior.csv").write_text("task,weight\nbob,1e9\nann,1e-9\n")
    options = ["simulate", "--data", "all.csv", "--classes", "one-vs-rest", "--trace", "trace", "--learner"]
    quorate.ok(*options, "cohort(query=shared(prior=weights(file=prior.csv)))")  # of one user's tasks all weigh alike
    first = trace_of(quorate)
    quorate.ok(*options, "cohort(query=shared)")
    assert [t["asked"] for t in first] == [t["asked"] for t in trace_of(quorate)]


# ---- probabilities of classes

@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_probabilities_of_classes_sum_to_one_with_and_without_users(quorate, folder, reduction):
    for data, columns in (("all.csv", ["id", "task", "margin"]), ("all-alone.csv", ["id", "margin"])):
        train(quorate, data, "m", "--classes", reduction)
        lines = quorate.ok("predict", "--data", "test.csv", "--model", "m", "--probabilities", "--to", "csv").out.splitlines()
        assert lines[0].split(",") == [*columns, *(f"probability_{n}" for n in NAMES), "label"]
        for line in lines[1:]:
            cells = dict(zip(lines[0].split(","), line.split(",")))
            p = [float(cells[f"probability_{n}"]) for n in NAMES]
            assert sum(p) == pytest.approx(1, abs=1e-12) and p[NAMES.index(cells["label"])] == max(p)
        plain = quorate.ok("predict", "--data", "test.csv", "--model", "m", "--to", "csv").out.splitlines()
        assert plain[0].split(",") == [*columns, "label"] and [l.split(",")[0] for l in plain] == [l.split(",")[0] for l in lines]
        (folder / "m").unlink()


def test_probabilities_are_calibrated(quorate, folder):
    """The mean probability of the predicted class is near the share of right predictions."""
    (folder / "long.csv").write_text(text(rows(1200, 7)))
    (folder / "new.csv").write_text(text(new := rows(800, 8)))
    for reduction in REDUCTIONS:
        train(quorate, "long.csv", reduction, "--classes", reduction, "--learner", "cohort(query=always)")
        lines = predict(quorate, "new.csv", reduction, "--probabilities")
        right = np.mean([line["label"] == r.label for line, r in zip(lines, new)])
        assert abs(np.mean([line["probabilities"][line["label"]] for line in lines]) - right) < 0.03
        assert -np.mean([math.log(max(line["probabilities"][r.label], 1e-12)) for line, r in zip(lines, new)]) < 0.6 * math.log(3)  # far below that of guessing


def test_learners_without_calibration_have_no_probabilities(quorate, folder):
    train(quorate, "all.csv", "m", "--classes", "one-vs-rest", "--learner", "perceptron")
    bad(quorate("predict", "--data", "all.csv", "--model", "m", "--probabilities"), 2, "--probabilities", "not calibrated",
        "cohort")


# ---- several labels in one

@pytest.mark.parametrize("separator", [";", ",", "|", "; "])
def test_several_labels_in_one_are_refused_with_the_way_out(quorate, separator):
    values = ["spam", "urgent", f"spam{separator}urgent", "spam", "private", f"private{separator}urgent"] * 5
    (quorate.folder / "a.csv").write_text("label,f\n" + "".join(f'"{v}",{i}\n' for i, v in enumerate(values)))
    way_out = ["a.csv", f"'private{separator}urgent'", "'private'", "'urgent'", "2 of 5", "column", "yes and no"]
    for command in (["simulate"], ["compare", "--learner", "cohort"], ["train", "--model", "m"]):
        bad(quorate(*command, "--data", "a.csv", "--classes", "one-vs-rest"), 1, *way_out)
    bad(quorate("train", "--data", "a.csv", "--model", "m", "--positive", "spam"), 1, "a.csv:4", f"'spam{separator}urgent'",
        "'spam' among several", "yes and no")
    assert not (quorate.folder / "m").exists()


def test_separators_in_the_names_of_classes_are_no_harm(quorate):
    for values in (["red", "white", "red, white and blue"], ["Smith, John", "Smith, Ann", "Smith"], ["a|b", "c|d"],
                   [*"abcdefghijklmnopqrstuvwxyz", "a;b"]):
        (quorate.folder / "a.csv").write_text("label,f\n" + "".join(f'"{v}",{i}\n' for i, v in enumerate(values * 3)))
        quorate.ok("simulate", "--data", "a.csv", "--classes", "one-vs-rest")
        quorate.ok("simulate", "--data", "a.csv", "--positive", values[0], *(["--labels-as-written"] if "red" in values or "a;b" in values else []))
    (quorate.folder / "a.csv").write_text('label,f\nred,1\nwhite,2\n"red, white and blue",3\n')
    bad(quorate("simulate", "--data", "a.csv", "--positive", "red"), 1, "a.csv:4", "'red' among several labels", "--labels-as-written")


def test_too_many_combinations_are_named_as_such_not_as_too_many_classes(quorate):
    names = [f"t{i}" for i in range(60)]
    values = names + [f"{a};{b}" for a, b in itertools.combinations(names, 2)]
    (quorate.folder / "a.csv").write_text("label,f\n" + "".join(f"{v},{i}\n" for i, v in enumerate(values)))
    bad(quorate("simulate", "--data", "a.csv", "--classes", "one-vs-rest"), 1, "a.csv", "several in one", "yes and no")
