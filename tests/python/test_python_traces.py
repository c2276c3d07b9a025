"""The same spec, data and seed give the same steps from Python as from the program, to the bit."""

import json

import multitask
import numpy as np
import pytest

import quorate

LATER = 2  # the engine's word for a label that nobody gave


def program_trace(quorate_cli, folder, text, spec, *options):
    (folder / "data.svm").write_text(text)
    quorate_cli.ok(
        "simulate", "--data", "data.svm", "--learner", spec, "--in-order", "--trace", "trace", "--quiet", *options
    )
    return [json.loads(line) for line in (folder / "trace").read_text().splitlines()]


def check(trace, lines, model):
    names = model.tasks_
    assert len(trace) == len(lines) > 0
    for n, (step, line) in enumerate(zip(trace, lines)):
        assert names[step.task] == line["task"], n
        for name in ("margin", "probability"):
            assert float(step[name]).hex() == float(line[name]).hex(), (n, name)
        draw = None if np.isnan(step.draw) else float(step.draw)
        assert draw == line["draw"], n
        assert (bool(step.asked), bool(step.updated)) == (line["asked"], line["updated"]), n
        assert (None if step.label == LATER else int(step.label)) == line["label"], n


VARIANTS = [
    "cohort(query=always)",
    "cohort(query=random(p=0.5))",
    "cohort(query=margin(b=0.5))",
    "cohort(query=shared)",
    "cohort(store=hashed)",
    "cohort(scale=log-idf)",
    "perceptron(query=margin(b=1))",
    "cmtl(query=margin(b=1))",
    "cmtl(graph=disconnected, query=random(p=0.3))",
    "cmtl(query=shared)",
    "amtl(query=margin(b=1))",
    "amtl(query=similarity)",
    "peer(share=peers)",
    "peer(share=all)",
    "amlc(share=prediction)",
    "shampo(choose=uniform)",
    "shampo(prior=counts)",
    "shampo-second-order(diagonal=true)",
    "kernel-perceptron(query=margin(b=1), kernel=polynomial)",
    "budget-random(budget=8, query=margin(b=1))",
    "budget-forgetron(budget=8)",
    "budget-projectron(budget=8)",
    "budget-projectron-shared(budget=8)",
]


@pytest.mark.parametrize("seed", [1, 7])
@pytest.mark.parametrize("spec", [*quorate.LEARNERS, *VARIANTS])
def test_steps_equal_the_programs(program, quorate_in, tmp_path, spec, seed):
    data = multitask.in_turns(seed=seed)
    lines = program_trace(quorate_in(tmp_path), tmp_path, multitask.svmlight(data), spec, "--seed", seed)
    names = sorted(set(data.task))
    model = quorate.from_spec(spec, tasks=names, seed=seed, trace=True).fit(data.X, data.y, task=data.task)
    check(model.trace_, lines, model)


@pytest.mark.parametrize(
    "options, shared",
    [
        (["--labels", 10], {"labels": 10}),
        (["--labels", "5/40"], {"labels": "5/40"}),
        (["--labels", 20, "--labels", "5/40"], {"labels": [20, "5/40"]}),
        (["--labels-per-task", 3], {"labels_per_task": 3}),
        (["--labels", 12, "--pace", "even"], {"labels": 12, "pace": "even"}),
        (["--audit", 0.2], {"audit": 0.2}),
        (["--audit", 0.2, "--labels", 15], {"audit": 0.2, "labels": 15}),
        (["--no-bias", "--no-normalize"], {"bias": False, "normalize": False}),
        (["--memory", "1MB"], {"memory": "1MB"}),
        (["--passes", 3], {"passes": 3}),
    ],
    ids=str,
)
@pytest.mark.parametrize("spec", ["cohort", "cmtl(query=margin(b=0.5))"])
def test_limits_and_settings_do_the_same(quorate_in, tmp_path, spec, options, shared):
    data = multitask.in_turns(seed=3)
    lines = program_trace(quorate_in(tmp_path), tmp_path, multitask.svmlight(data), spec, *options)
    names = sorted(set(data.task))
    model = quorate.from_spec(spec, tasks=names, trace=True, **shared).fit(data.X, data.y, task=data.task)
    check(model.trace_, lines[-len(data) :], model)  # of several passes the last


@pytest.mark.parametrize("labels_per_round", [1, 2])
@pytest.mark.parametrize("spec", ["shampo", "cohort(query=shared)"])
def test_several_labels_a_round(quorate_in, tmp_path, spec, labels_per_round):
    data = multitask.in_turns(seed=4)
    lines = program_trace(
        quorate_in(tmp_path), tmp_path, multitask.svmlight(data), spec, "--labels-per-round", labels_per_round
    )
    model = quorate.from_spec(spec, tasks=sorted(set(data.task)), labels_per_round=labels_per_round, trace=True)
    check(model.fit(data.X, data.y, task=data.task).trace_, lines, model)
    assert model.trace_.asked.reshape(-1, 4).sum(axis=1).max() == labels_per_round


@pytest.mark.parametrize("reduction", ["one-vs-rest", "one-vs-one"])
@pytest.mark.parametrize("spec", ["cohort", "cmtl(query=margin(b=1))", "shampo", "perceptron", "cohort(query=shared)"])
def test_classes_do_the_same(quorate_in, tmp_path, spec, reduction):
    data = multitask.classes()
    lines = program_trace(quorate_in(tmp_path), tmp_path, multitask.svmlight(data), spec, "--classes", reduction)
    model = quorate.from_spec(spec, reduction=reduction, trace=True).fit(data.X, data.y)
    check(model.trace_, lines, model)


@pytest.mark.parametrize("reduction", ["one-vs-rest", "one-vs-one"])
@pytest.mark.parametrize(
    "options, shared",
    [
        (["--labels", 40], {"labels": 40}),
        (["--audit", 0.2], {"audit": 0.2}),
        (["--labels", 40, "--pace", "even"], {"labels": 40, "pace": "even"}),
    ],
    ids=str,
)
def test_limits_of_classes_do_the_same(quorate_in, tmp_path, reduction, options, shared):
    data = multitask.classes(seed=2)
    spec = "cohort(query=margin(b=0.5))"
    lines = program_trace(
        quorate_in(tmp_path), tmp_path, multitask.svmlight(data), spec, "--classes", reduction, *options
    )
    model = quorate.from_spec(spec, reduction=reduction, trace=True, **shared).fit(data.X, data.y)
    check(model.trace_, lines, model)
