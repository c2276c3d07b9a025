"""Limits of labels, pace and late answers, from outside."""
import json
from datetime import UTC, datetime

import numpy as np
import pytest
import samples

ROWS = samples.rows(600, seed=9)


@pytest.fixture
def simulate(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))

    def run(*options):
        return quorate.ok("simulate", "--data", "a.csv", "--json", "--trace", "trace", *options).json()

    return run


def asked(quorate):
    """Rounds in which a label was asked for."""
    lines = [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]
    return [t["round"] for t in lines if t["asked"] and not t.get("late")]


@pytest.mark.parametrize("learner", ["perceptron", "cmtl(query=margin(b=100))", "peer", "shampo", "amlc(query=random)"])
def test_no_window_holds_more_labels_than_the_rate(simulate, quorate, learner):
    document = simulate("--learner", learner, "--labels", "10/100", "--labels", 45, "--rounds", "each")
    at = asked(quorate)
    assert document["limits"] == {"total": 45, "rate": "10/100", "per_task": None, "pace": None}
    assert document["runs"][0]["labels"] == len(at) <= 45
    assert all(b - a >= 100 for a, b in zip(at, at[10:]))


def test_a_pace_spends_the_total_evenly(simulate, quorate):
    document = simulate("--learner", "perceptron(query=margin(b=50))", "--labels", 60, "--pace", "even")
    at = asked(quorate)
    assert document["limits"]["pace"] == "even" and 57 <= len(at) <= 60
    assert abs(sum(n < 300 for n in at) - len(at) / 2) <= 0.1 * len(at)
    simulate("--learner", "perceptron(query=margin(b=50))", "--labels", 60)
    assert asked(quorate)[-1] < 100  # as the rule asks


def test_every_task_has_a_limit(simulate):
    document = simulate("--learner", "cmtl", "--labels-per-task", 5, "--per-task")
    assert [one["labels"] for one in document["runs"][0]["per_task"].values()] == [5] * 4


def test_late_answers_are_pending_in_the_end(simulate, quorate):
    now, late = simulate("--learner", "cmtl"), simulate("--learner", "cmtl", "--delay", 100)
    assert "pending" not in now["runs"][0] and now["runs"][0]["labels"] == 600
    assert (late["runs"][0]["labels"], late["runs"][0]["pending"], late["runs"][0]["unanswered"]) == (500, 100, 0)
    lines = [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]
    answers = [t for t in lines if t.get("late")]
    assert [t["ticket"] for t in answers] == list(range(500)) and all(t["label"] in (1, -1) for t in answers)
    assert all(t["label"] is None for t in lines if not t.get("late"))
    lost = simulate("--learner", "cmtl", "--delay", "lognormal(20)", "--lost", 0.5, "--labels", 200)["mean"]
    assert lost["labels"] + lost["pending"] == 200 and 70 < lost["pending"] < 130


BAD = {
    "two totals": (["--labels", 5, "--labels", 6], ["--labels", "'6'", "second"]),
    "two rates": (["--labels", "5/7", "--labels", "6/day"], ["--labels", "'6/day'", "second"]),
    "an unknown time": (["--labels", "5/year"], ["--labels", "'5/year'", "day"]),
    "no label in a rate": (["--labels", "0/10"], ["--labels", "'0/10'"]),
    "a pace without a total": (["--pace", "even", "--learner", "amlc"], ["pace even", "500"]),
    "a pace without b": (["--pace", "even", "--labels", 5, "--learner", "shampo"], ["pace even", "shampo", "query=margin"]),
    "another pace": (["--pace", "odd", "--labels", 5], ["--pace", "odd", "even"]),
    "a day in shuffled data": (["--labels", "5/day"], ["5/day", "--in-order"]),
    "a delay that is none": (["--delay", "soon"], ["'soon'", "lognormal(100)"]),
    "lost above 1": (["--lost", 1.5], ["--lost", "1.5"]),
    "a limit of tasks below 0": (["--labels-per-task", -1], ["--labels-per-task", "-1"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_limits_are_named(quorate, case):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    options, said = BAD[case]
    result = quorate("simulate", "--data", "a.csv", *options)
    assert result.code == 2 and result.err.count("\n") == 1
    assert all(word in result.err for word in said), result.err


def test_a_rate_in_a_day_needs_a_time(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    for command in (["simulate", "--in-order"], ["train", "--model", "m", "--learner", "amlc"]):
        result = quorate(*command, "--data", "a.csv", "--labels", "5/day")
        assert result.code == 1 and "--time-column" in result.err
    assert not (quorate.folder / "m").exists()


def test_a_model_goes_on_with_its_limits_and_its_pace(quorate):
    parts = {"a.csv": ROWS[:300], "b.csv": ROWS[300:], "all.csv": ROWS}
    for name, rows in parts.items():
        (quorate.folder / name).write_text(samples.csv(rows))
    new = ["--learner", "cmtl(query=margin)", "--labels", 60, "--labels", "20/100", "--labels-per-task", 30, "--pace", "even",
           "--length", 600, "--json"]
    whole = quorate.ok("train", "--data", "all.csv", "--model", "whole", *new).json()
    first = quorate.ok("train", "--data", "a.csv", "--model", "m", *new).json()
    second = quorate.ok("train", "--data", "b.csv", "--model", "m", "--json").json()
    assert (quorate.folder / "m").read_bytes() == (quorate.folder / "whole").read_bytes()
    assert whole["report"]["labels"]["answered"] == second["report"]["labels"]["answered"] >= 57 and 24 <= first["report"]["labels"]["answered"] <= 36
    assert {key: second["report"]["labels"][key] for key in ("limit", "rate", "per_task", "pace")} == {
        "limit": 60, "rate": "20/100", "per_task": 30, "pace": "even"
    }
    inside = quorate.ok("inspect", "m", "--json").json()["labels"]
    assert {k: inside[k] for k in ("limit", "rate", "per_task", "pace", "pending", "too_late")} == {
        "limit": 60, "rate": "20/100", "per_task": 30, "pace": "even", "pending": 0, "too_late": 0}
    text = quorate.ok("inspect", "m").out
    assert "of at most 60, spent evenly, at most 20/100, at most 30 for each task" in text
    more = quorate.ok("train", "--data", "a.csv", "--model", "m", "--labels", 100, "--pace", "even", "--length", 300, "--json").json()
    assert more["report"]["labels"]["limit"] == 100 and more["report"]["labels"]["rate"] == "20/100"
    assert whole["report"]["labels"]["answered"] < more["report"]["labels"]["answered"] <= 100


def test_a_pace_of_a_stream_needs_a_length(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    for options in (["--pace", "even"], ["--length", 100]):
        result = quorate("train", "--data", "a.csv", "--model", "m", "--learner", "amlc", "--labels", 9, *options)
        assert result.code == 2 and "--length" in result.err


# ---- a day of stream time, and what goes with audits and cohort

def timed(quorate, form, n=3000, days=40, seed=5):
    """A stream in `timed.csv` with nights and bursts in column `when`, so many days long; its times in seconds."""
    rng = np.random.default_rng(seed)
    start = 1_760_000_000
    at = np.sort(start + rng.integers(0, days, n) * 86_400 + np.clip(rng.normal(43_200, 9_000, n), 0, 86_399).round())
    when = [form(int(t)) for t in at]
    lines = samples.csv(samples.rows(n, seed=9)).splitlines()
    (quorate.folder / "timed.csv").write_text("\n".join([f"when,{lines[0]}", *map(",".join, zip(when, lines[1:]))]) + "\n")
    return at


def seconds(t):
    return str(t)


def iso(t):
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def bought(quorate):
    lines = [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]
    return [t["example"] for t in lines if t["label"] is not None]


@pytest.mark.parametrize("form", [seconds, iso])
@pytest.mark.parametrize("options", [["--learner", "cohort"], ["--learner", "perceptron"], ["--learner", "amlc"],
                                     ["--learner", "shampo", "--rounds", "each"],
                                     ["--learner", "cohort", "--audit", 0.2, "--labels", 500],
                                     ["--learner", "cmtl(query=margin)", "--audit", 0.4]])
def test_no_day_of_stream_time_holds_more_labels_than_the_rate(quorate, form, options):
    at = timed(quorate, form)
    document = quorate.ok("simulate", "--data", "timed.csv", "--time-column", "when", "--in-order", "--labels", "20/day",
                          "--json", "--trace", "trace", *options).json()
    times = [at[n] for n in bought(quorate)]
    assert document["limits"]["rate"] == "20/day" and document["features"] == 7  # the time is no feature
    assert len(times) == document["runs"][0]["labels"] > 300  # of 800 that 40 days have
    assert all(later - first >= 86_400 for first, later in zip(times, times[20:]))


def test_train_keeps_to_a_rate_in_a_day_across_models(quorate):
    timed(quorate, seconds)
    lines = (quorate.folder / "timed.csv").read_text().splitlines(keepends=True)
    (quorate.folder / "first.csv").write_text("".join(lines[:1501]))
    new = ["--time-column", "when", "--labels", "20/day", "--audit", 0.2]
    whole = quorate.ok("train", "--data", "timed.csv", "--model", "whole", *new, "--json").json()
    quorate.ok("train", "--data", "first.csv", "--model", "m", *new)
    quorate.ok("train", "--data", "timed.csv", "--model", "m", "--skip", 1500, "--time-column", "when")
    assert (quorate.folder / "m").read_bytes() == (quorate.folder / "whole").read_bytes()
    assert 300 < whole["report"]["labels"]["answered"] <= 20 * 41


def test_a_time_that_is_none_is_named(quorate):
    timed(quorate, lambda t: "noon" if t % 50 == 7 else str(t))
    for command in (["simulate", "--in-order"], ["train", "--model", "m"]):
        result = quorate(*command, "--data", "timed.csv", "--time-column", "when", "--labels", "20/day")
        assert (result.code, result.err.count("\n")) == (1, 1) and "noon" in result.err, result.err
        result = quorate(*command, "--data", "timed.csv", "--time-column", "absent", "--labels", "20/day")
        assert (result.code, result.err.count("\n")) in ((1, 1), (2, 1)) and "absent" in result.err, result.err
    assert not (quorate.folder / "m").exists()


@pytest.mark.parametrize("learner", ["cohort", "cohort(query=margin(b=5))", "perceptron(query=margin(b=5))",
                                     "cmtl(query=margin(b=0.5))", "amlc", "peer"])
def test_an_even_pace_spends_nearly_all_and_half_of_it_in_each_half(quorate, learner):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(2000, seed=9, noise=1.0)))
    one = quorate.ok("simulate", "--data", "a.csv", "--learner", learner, "--labels", 200, "--pace", "even", "--trace",
                     "trace", "--json").json()["runs"][0]
    at = asked(quorate)
    assert one["labels"] == len(at) and 190 <= len(at) <= 200
    assert abs(2 * sum(n < 1000 for n in at) - len(at)) <= 0.2 * len(at)


def test_an_even_pace_leaves_audits_their_part(simulate):
    one = simulate("--labels", 100, "--pace", "even", "--audit", 0.2)["runs"][0]
    assert one["labels"] - one["audit_labels"] <= 80 and 10 <= one["audit_labels"] <= 20 and one["labels"] >= 90


@pytest.mark.parametrize("audit", [[], ["--audit", 0.3]])
def test_train_has_a_limit_for_every_task(quorate, audit):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--labels-per-task", 7, "--learner", "cmtl", *audit)
    found = quorate.ok("inspect", "m", "--json").json()
    assert [task["labels"] for task in found["tasks"]] == [7] * 4 and found["labels"]["per_task"] == 7


LIKE_TEXT = samples.rows(420, K=5, d=60, seed=4, noise=3)
for row in LIKE_TEXT:  # sparse, of different lengths, and tasks that arrive
    row.x = {name: value for n, (name, value) in enumerate(row.x.items()) if (n * 7 + int(row.id[1:]) * 11) % 13 < 5}
    row.task = f"t{int(row.id[1:]) % (2 + int(row.id[1:]) // 30)}"


@pytest.mark.parametrize("limit", ["30KB", "60KB", "120KB", "1MB"])
@pytest.mark.parametrize("learner", ["budget-random(budget=0)", "budget-forgetron(budget=0, kernel=polynomial)",
                                     "budget-projectron(budget=0, kernel=polynomial, query=margin(b=1))",
                                     "budget-projectron-shared(budget=0, graph=disconnected)", "cohort"])
def test_training_in_parts_is_training_at_once_under_a_memory_limit(quorate, learner, limit):
    def write(name, rows):
        (quorate.folder / name).write_text(samples.jsonl(rows))
        return name

    quorate.ok("train", "--data", write("all.jsonl", LIKE_TEXT), "--model", "once", "--learner", learner, "--memory", limit)
    new = ["--learner", learner, "--memory", limit]
    for begin, end in [(0, 90), (90, 200), (200, 333), (333, 420)]:
        quorate.ok("train", "--data", write("part.jsonl", LIKE_TEXT[begin:end]), "--model", "parts", *new)
        new = []
    assert (quorate.folder / "once").read_bytes() == (quorate.folder / "parts").read_bytes()
