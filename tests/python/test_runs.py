"""What `quorate.runs` promises: the program's own results for data in files and for the same data in memory, its errors in the
caller's terms, progress, and nothing left behind."""
import importlib.util
import inspect
import json
import math
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from interpreter import ENOUGH, most_beats, signal_after

from program import CHECKOUT, TESTS, Program

pd = pytest.importorskip("pandas")
sys.path.append(f"{TESTS}/cli")
if importlib.util.find_spec("quorate") is None:
    sys.path.insert(0, str(CHECKOUT / "python"))
quorate_package = pytest.importorskip("quorate", reason="the package is neither installed nor built beside its sources")

import samples  # noqa: E402
from quorate import runs  # noqa: E402

ROWS = samples.rows(160, seed=3, noise=1.0)
X = np.array([list(row.x.values()) for row in ROWS])
Y = [int(row.label) for row in ROWS]
TASK = [row.task for row in ROWS]
OPTIONS = {"train_per_task": 12, "runs": 3, "seed": 5}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the data as files, and one for temporary files, which must stay empty."""
    for name, text in {"a.csv": samples.csv(ROWS), "a.jsonl": samples.jsonl(ROWS), "a.svm": zero_based(ROWS)}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    assert os.listdir(temporary) == []


@pytest.fixture
def cli(folder):
    return Program(Path(os.environ.get("QUORATE", CHECKOUT / "build/release/quorate")), folder)


def zero_based(rows):
    """SVMlight as matrices are written: the first column is feature 0."""
    features = [" ".join(f"{j}:{v!r}" for j, v in enumerate(row.x.values())) for row in rows]
    return "".join(f"{row.label} task:{row.task} {x}\n" for row, x in zip(rows, features))


def same(a, b):
    """Whether two results are the same but for the time they took."""
    def timeless(values):
        return {k: timeless(v) if isinstance(v, dict) else v for k, v in values.items() if "seconds" not in k}
    kept = [c for c in a.columns if "seconds" not in c]
    pd.testing.assert_frame_equal(pd.DataFrame(a[kept]), pd.DataFrame(b[[c for c in b.columns if "seconds" not in c]]))
    assert timeless(a.attrs) == timeless(b.attrs)
    return True


# ---- the program's numbers

def test_simulate_has_the_programs_runs(folder, cli):
    document = cli.ok("simulate", "--data", "a.csv", "--train-per-task", 12, "--runs", 3, "--seed", 5, "--json").json()
    frame = runs.simulate("a.csv", **OPTIONS)
    assert len(frame) == 3 and frame.index.name == "run" and list(frame.columns) == list(document["runs"][0])
    for found, row in zip(document["runs"], frame.to_dict("records")):
        assert samples.without_seconds(row) == samples.without_seconds(found)
    assert samples.without_seconds(frame.attrs["mean"]) == samples.without_seconds(document["mean"])
    assert frame.attrs["learner"] == document["learner"] and frame.attrs["tasks"] == 4
    assert frame["labels"].dtype.kind == "i" and frame["accuracy"].dtype == float


def test_what_is_not_defined_is_nan(folder):
    frame = runs.simulate(Path("a.csv"), "perceptron")
    assert frame["accuracy"].dtype == float and frame["accuracy"].isna().all() and frame["progressive_f1"].notna().all()


def test_simulate_by_task_and_by_step(folder, cli):
    document = cli.ok("simulate", "--data", "a.csv", "--learner", "cmtl", "--runs", 2, "--per-task", "--json").json()
    frame = runs.simulate("a.csv", "cmtl", runs=2, per_task=True)
    assert frame.index.names == ["run", "task"] and len(frame) == 8
    for run, found in enumerate(document["runs"]):
        for task, values in found["per_task"].items():
            assert frame.loc[(run, task), "mistakes"] == values["mistakes"]
            assert frame.loc[(run, task), "examples"] == values["examples"]
    cli.ok("simulate", "--data", "a.csv", "--learner", "cmtl", "--runs", 2, "--trace", "steps")
    steps = [json.loads(line) for line in (folder / "steps").read_text().splitlines()]
    frame = runs.simulate("a.csv", "cmtl", runs=2, trace=True)
    assert len(frame) == 320 and frame["margin"].tolist() == [step["margin"] for step in steps]
    assert frame["task"].tolist() == [step["task"] for step in steps] and set(frame["label"]) == {1, -1}
    with pytest.raises(ValueError, match="per_task and trace"):
        runs.simulate("a.csv", per_task=True, trace=True)


def test_classes_have_recalls_and_confusions(folder):
    digits = samples.rows(90, K=3)
    data = ([list(row.x.values()) for row in digits], [row.task for row in digits])
    frame = runs.simulate(data, "cmtl", classes="one-vs-rest", train_per_task=15, runs=2)
    [first, second] = frame.attrs["confusion"]
    assert frame.attrs["classes"] == ["t0", "t1", "t2"] and np.array(first).shape == (3, 3)
    assert frame["recall t1"][0] == first[1][1] / sum(first[1])
    assert np.array(second).sum() == 90 - 45


def test_audits_stop_and_forecast(folder):
    frame = runs.simulate("a.csv", audit=0.5, stop_when="accuracy>=0.5", forecast=0.99, passes=4)
    assert bool(frame["stopped"][0]) in (True, False) and "forecast" in frame and frame["audit_labels"][0] > 0


def test_compare_has_the_programs_means_and_differences(folder, cli):
    document = cli.ok("compare", "--data", "a.csv", "--learner", "perceptron", "--learner", "cohort", "--train-per-task", 12,
                      "--runs", 3, "--seed", 5, "--json").json()
    found = runs.compare("a.csv", {"alone": "perceptron", "house": "cohort"}, **OPTIONS)
    assert found.compared_by == "accuracy" and list(found.index) == ["alone", "house"]
    for name, entry in zip(("alone", "house"), document["learners"]):
        row = found.loc[name]
        for measure in ("accuracy", "labels", "progressive_f1"):
            assert (row[measure], row[f"{measure}_std"]) == (entry["mean"][measure], entry["std"][measure])
        assert [row[f"difference{end}"] for end in ("", "_low", "_high")] == list(entry["against_first"].values())
        assert [row[f"accuracy{end}"] for end in ("_low", "_high")] == list(entry["interval"].values())
        assert row["spec"] == entry["learner"]
        mine = found.runs[found.runs["learner"] == name]
        assert mine["accuracy"].tolist() == [run["accuracy"] for run in entry["runs"]] and mine["run"].tolist() == [0, 1, 2]
    assert math.isnan(found.loc["alone", "brier"]) and found.loc["house", "brier"] > 0
    assert type(found) is runs.Comparison and type(found[["accuracy"]]) is pd.DataFrame


def test_compare_at_label_budgets(folder):
    found = runs.compare("a.csv", ["perceptron", "cmtl"], label_budgets=[10, "50%"], **OPTIONS)
    assert found.index.tolist() == [("perceptron", 10), ("perceptron", 24), ("cmtl", 10), ("cmtl", 24)]
    assert found["labels"].tolist() == [10, 24, 10, 24]
    assert found.runs.groupby(["learner", "label_budget"])["labels"].agg(list)["cmtl", 10] == [10, 10, 10]
    one = runs.compare("a.csv", "perceptron", label_budgets="10", runs=1)
    assert one.index.tolist() == [("perceptron", 10)] and math.isnan(one["progressive_f1_low"].iloc[0])


def test_tune_has_the_best_first_and_of_equals_the_first(folder, cli):
    grid = {"query.b": [3, "0.1..1:2"], "scale": "none", "graph": ("complete", "disconnected")}
    text = "query.b=3,0.1..1:2,scale=none,graph=complete,disconnected"
    document = cli.ok("tune", "--data", "a.csv", "--learner", "cmtl(query=margin)", "--grid", text, "--folds", 3,
                      "--json").json()
    frame = runs.tune("a.csv", "cmtl(query=margin)", grid, folds=3)
    same(frame, runs.tune("a.csv", "cmtl(query=margin)", text, folds=3))
    assert frame.attrs["best"] == document["best"] == frame["learner"][0] and frame.attrs["measure"] == "accuracy"
    assert list(frame.columns) == ["query.b", "scale", "graph", "accuracy", "accuracy_std", "labels", "learner"]
    settings = sorted(document["settings"], key=lambda s: -s["mean"])  # stable
    assert frame["learner"].tolist() == [s["learner"] for s in settings]
    assert frame["accuracy"].tolist() == [s["mean"] for s in settings]
    tied = runs.tune("a.csv", "perceptron", {"scale": ["none", "none", "none"]}, folds=2, measure="progressive_f1")
    assert len(tied) == 3 and tied["progressive_f1"].nunique() == 1


def test_an_estimator_is_a_learner(folder):
    learner = quorate_package.Cohort(noise=0.3)
    same(runs.simulate("a.csv", learner), runs.simulate("a.csv", "cohort(noise=0.3)"))
    assert runs.compare("a.csv", [learner, "cmtl"]).index[0] == str(learner)
    same(runs.tune("a.csv", learner, "eta=0.1,0.3", folds=2), runs.tune("a.csv", str(learner), "eta=0.1,0.3", folds=2))


@pytest.mark.parametrize("options, same_as", [
    ({"labels": np.int64(7), "audit": np.float64(0.1)}, {"labels": "7", "audit": 0.1}),
    ({"labels": [50, "5/10"]}, {"labels": ["50", "5/10"]}), ({"memory": "8MB"}, {"memory": 8_000_000}),
    ({"ngrams": 1, "seed": None, "bias": np.True_}, {}), ({"delay": 3}, {"delay": "3"})])
def test_options_may_be_written_in_several_ways(folder, options, same_as):
    same(runs.simulate("a.csv", **options), runs.simulate("a.csv", **same_as))


def test_every_option_of_the_program_is_an_argument(cli):
    other = {"help", "json", "csv", "markdown", "quiet", "plot", "no_bias", "no_normalize", "no_users", "learner", "name",
             "workers", "share_examples"}  # of many machines: the program alone
    for function in (runs.simulate, runs.compare, runs.tune):
        known = set(inspect.signature(function).parameters)
        text = cli.ok(function.__name__, "--help").out
        named = {word.strip(",").removeprefix("--").replace("-", "_") for line in text.splitlines() if line.startswith("  -")
                 for word in line.split()[:1] if word.startswith("--")} | {"data"}
        assert named - other <= known, function.__name__
        assert known - named <= {"learner", "learners", "bias", "normalize", "users", "name", "progress"}, function.__name__
        assert {"seed", "threads", "progress", "data"} <= named & known
        words = re.findall(r"\w+", function.__doc__)
        assert known <= set(words), known - set(words)


@pytest.mark.parametrize("function, more", [
    (runs.simulate, {}), (runs.compare, {"learners": ["cmtl"]}), (runs.tune, {"learner": "cmtl", "grid": "query.b=1"})])
def test_an_unknown_option_is_a_type_error(folder, function, more):
    with pytest.raises(TypeError, match="label_per_task"):
        function(data="a.csv", label_per_task=3, **more)


# ---- data in memory

def frames():
    columns = {"id": [r.id for r in ROWS], "task": TASK, "label": Y, **{f"f{j + 1}": X[:, j] for j in range(X.shape[1])}}
    yield "pandas", lambda: pd.DataFrame(columns)
    yield "pandas, words and categories", lambda: pd.DataFrame(columns).astype({"task": "category", "label": "str"})
    yield "polars", lambda: pytest.importorskip("polars").DataFrame(columns)
    yield "pyarrow", lambda: pytest.importorskip("pyarrow").table(columns)


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in frames()])
def test_a_frame_is_its_csv_file(folder, make):
    same(runs.simulate(make(), **OPTIONS), runs.simulate("a.csv", **OPTIONS))
    same(runs.tune(make(), "cmtl", "scale=none,auto", folds=2), runs.tune("a.csv", "cmtl", "scale=none,auto", folds=2))


def matrices():
    yield "array", lambda: X
    yield "rows", lambda: X.tolist()
    yield "columns in memory", lambda: np.asfortranarray(X)
    for kind in ("csr", "csc", "coo", "lil"):
        yield kind, lambda kind=kind: getattr(pytest.importorskip("scipy.sparse"), f"{kind}_matrix")(X)


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in matrices()])
def test_a_matrix_is_its_svmlight_file(folder, make):
    same(runs.simulate((make(), np.array(Y), np.array(TASK)), **OPTIONS), runs.simulate("a.svm", **OPTIONS))


def test_a_matrix_whose_tasks_svmlight_cannot_hold_is_the_same(folder):
    tasks = [f"the # {task}: 1" for task in TASK]
    a, b = (runs.simulate((X, Y, task), **OPTIONS, per_task=True) for task in (TASK, tasks))
    assert a["mistakes"].tolist() == b["mistakes"].tolist() and a["accuracy"].tolist() == b["accuracy"].tolist()
    assert b.index.levels[1][0] == "the # t0: 1"


def test_a_sparse_matrix_out_of_order_with_doubles_is_left_as_it_was(folder):
    sparse = pytest.importorskip("scipy.sparse")
    plain = sparse.csr_matrix(X)
    mixed = sparse.csr_matrix((np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), plain.indptr * 2), shape=X.shape)
    mixed.has_canonical_format = False
    before = mixed.indices.copy(), mixed.data.copy()
    same(runs.simulate((mixed, Y, TASK), **OPTIONS), runs.simulate("a.svm", **OPTIONS))
    assert (mixed.indices == before[0]).all() and (mixed.data == before[1]).all()


@pytest.mark.parametrize("data", [
    [json.loads(line) for line in samples.jsonl(ROWS).splitlines()],
    [{"id": r.id, "task": r.task, "label": np.int64(r.label), "x": {k: np.float64(v) for k, v in r.x.items()},
      "other": object()} for r in ROWS],
    ([r.x for r in ROWS], Y, TASK), (tuple(r.x for r in ROWS), pd.Series(Y), pd.Series(TASK, dtype="category"))],
    ids=["records", "NumPy's values, and what is passed over", "features", "series"])
def test_dicts_are_their_json_lines(folder, data):
    same(runs.simulate(data, **OPTIONS), runs.simulate("a.jsonl", **OPTIONS))


TEXTS = [f"{'free money' if y > 0 else 'hello dear'} {n % 7} caf\u00e9 \"quoted\",\nline {'x' * (n % 3)}"
         for n, y in enumerate(Y)]


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series])
def test_texts_are_their_json_lines(folder, make):
    lines = [json.dumps({"task": t, "label": y, "text": text}) for t, y, text in zip(TASK, Y, TEXTS)]
    (folder / "t.jsonl").write_text("\n".join(lines))
    data = tuple(TEXTS) if make is tuple else make(TEXTS)
    same(runs.simulate((data, Y, TASK), ngrams=2, **OPTIONS), runs.simulate("t.jsonl", ngrams=2, **OPTIONS))


def test_a_frame_of_texts_words_numbers_and_other_names(folder):
    spam = ["yes" if y > 0 else "no" for y in Y]
    frame = pd.DataFrame({"body": TEXTS, "who": TASK, "spam": spam, "hour": np.arange(160) % 24, "junk": [[1]] * 160,
                          "from": ["bob", "ann", None, "eve, \"x\""] * 40, "late": np.arange(160) % 2 == 0,
                          "when": pd.date_range("2026-11-21", periods=160, freq="h")})
    names = {"text_column": "body", "task_column": "who", "label_column": "spam", "positive": "yes", "time_column": "when",
             "ignore_column": "junk"}
    when = frame["when"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    frame.assign(late=frame["late"].astype(int), when=when).to_csv("b.csv", index=False)
    found = runs.simulate(frame, labels="20/day", in_order=True, **names)
    same(found, runs.simulate("b.csv", labels="20/day", in_order=True, categorical_column="from", **names))
    assert found["labels"][0] > 20


def test_a_frame_beside_its_labels(folder):
    frame = pd.DataFrame(X, columns=[f"f{j + 1}" for j in range(X.shape[1])])
    same(runs.simulate((frame, Y, TASK), **OPTIONS), runs.simulate("a.csv", **OPTIONS))
    with pytest.raises(ValueError, match="data: X has a column 'label'"):
        runs.simulate((frame.assign(label=1), Y), **OPTIONS)


def test_a_test_set_in_memory_beside_a_file_and_the_other_way_round(folder):
    rows = samples.rows(240, seed=3, noise=1.0)[160:]
    (folder / "test.svm").write_text(zero_based(rows))
    test = ([list(row.x.values()) for row in rows], [row.label for row in rows], [row.task for row in rows])
    expected = runs.simulate("a.svm", test="test.svm")
    same(expected, runs.simulate((X, Y, TASK), test="test.svm"))
    same(expected, runs.simulate("a.svm", test=test))
    same(expected, runs.simulate((X, Y, TASK), test=test))


def test_labels_that_are_missing_cost_nothing(folder):
    labels = [y if n % 2 else None for n, y in enumerate(Y)]
    frame = runs.simulate((X, labels, TASK), "perceptron")
    assert frame["labels"][0] == 80
    assert runs.simulate((X, np.array(labels, dtype=float), TASK), "perceptron")["labels"][0] == 80
    assert runs.simulate((X, pd.Series(labels, dtype="Int64"), TASK), "perceptron")["labels"][0] == 80


# ---- what cannot be used

NAN, INF = float("nan"), float("inf")


def spoiled(value, row=7, column=2):
    out = X.copy()
    out[row, column] = value
    return out


def table(**columns):
    return pd.DataFrame({"label": Y, **columns})


BAD = {
    "NaN in an array": (lambda: (spoiled(NAN), Y), "data: row 7, column 2: NaN; expected a finite number"),
    "infinity in an array": (lambda: (spoiled(-INF), Y), "data: row 7, column 2: infinity"),
    "too large": (lambda: (spoiled(1e19), Y), r"data: row 7, column 2: 1e\+19; expected .* from -1e18 to 1e18"),
    "NaN in a sparse matrix": (lambda: (pytest.importorskip("scipy.sparse").csr_matrix(spoiled(NAN)), Y),
                               "row 7, column 2: NaN"),
    "infinity in a frame": (lambda: table(age=spoiled(INF)[:, 2]), "data: row 7, column 'age': inf"),
    "infinity in a dict": (lambda: ([{"a": 1}] * 159 + [{"a": INF}], Y), "data: row 159, feature 'a': infinity"),
    "a list in a dict": (lambda: ([{"a": [1]}] * 160, Y), "row 0, feature 'a': expected a list of words, not of int"),
    "a column of lists": (lambda: table(a=[[1]] * 160), "data: column 'a': .*expected numbers"),
    "too few labels": (lambda: (X, Y[:-1]), "160 rows of X and 159 of y; expected as many"),
    "too few tasks": (lambda: (X, Y, TASK[:-1]), "160 rows of X and 159 of task"),
    "too few labels beside a frame": (lambda: (pd.DataFrame(X), Y[:-1]), "160 rows of X and 159 of y"),
    "labels in columns": (lambda: (X, np.array(Y)[:, None]), "data: y: .*; expected a name or a whole number in row 0"),
    "a column twice": (lambda: pd.DataFrame([[1, 2, 1]], columns=["a", "a", "label"]), "column 'a' comes more than once"),
    "a column twice in Arrow": (lambda: pytest.importorskip("pyarrow").table([[1], [2], [1]], names=["a", "a", "label"]),
                                "column 'a' comes more than once"),
    "no labels": (lambda: (X,), "1 parts; expected"),
    "one dimension": (lambda: (X[:, 0], Y), "X has 1 dimensions; expected rows and columns"),
    "words in an array": (lambda: (X.astype(str), Y), "expected numbers in rows and columns, a frame"),
    "ragged rows": (lambda: ([[1.0]] * 159 + [[1.0, 2.0]], Y), "expected numbers in rows and columns"),
    "texts and numbers": (lambda: (["a"] * 159 + [3], Y), "row 159, expected a text, not int"),
    "a label that is none": (lambda: (X, [3] + Y[1:]),
                             r"data: row 0: label '3'; expected for classification: 1 or -1, .* positive WORD .* classes$"),
    "a label that is none in a frame": (lambda: table(a=1.0).assign(label=[1, 2, 3, 4] * 40), "data: row 1: label '2'"),
    "no such column": (lambda: table(a=1.0), "data: no column 'who'; the columns are label, a"),
}


def test_of_two_words_in_memory_the_second_in_order_is_positive():
    words = ["junk" if y > 0 else "fine" for y in map(int, Y)]
    for labels in (words, [2 if word == "junk" else 10 for word in words]):
        positive = str(max(labels))
        found = runs.simulate((X, labels, TASK), seed=3)
        assert found.equals(runs.simulate((X, labels, TASK), seed=3, positive=positive).assign(seconds=found["seconds"]))
        frame = pd.DataFrame(X).add_prefix("c").assign(label=labels)
        assert runs.simulate(frame, test=frame)["accuracy"][0] > 0.5


@pytest.mark.parametrize("make, words", BAD.values(), ids=BAD)
def test_bad_data_are_a_value_error_with_row_and_column(folder, make, words):
    options = {"task_column": "who"} if "no column" in words else {}
    with pytest.raises(ValueError, match=words) as error:
        runs.simulate(make(), **options)
    assert str(folder) not in str(error.value)


@pytest.mark.parametrize("data", [3, None, X, [1, 2], {"label": [1]}, [X, Y]], ids=lambda data: type(data).__name__)
def test_what_is_no_data_is_a_type_error(folder, data):
    with pytest.raises(TypeError, match=r"data: .*; expected a path, \(X, y\)"):
        runs.simulate(data)


@pytest.mark.parametrize("data", [3, "abc", {"a": 1}, iter([1])], ids=lambda data: type(data).__name__)
def test_what_is_no_matrix_is_a_type_error(folder, data):
    with pytest.raises(TypeError, match="data: X is .*; expected numbers in rows and columns, a frame, dicts or texts"):
        runs.simulate((data, Y))


def test_a_lazy_frame_is_a_type_error(folder):
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="collect"):
        runs.simulate(polars.LazyFrame({"label": Y, "a": Y}))


@pytest.mark.parametrize("options, error, words", [
    ({"labels_per_task": "x"}, ValueError, "^labels_per_task='x': expected a whole number from 0$"),
    ({"learner": "cmlt"}, ValueError, "cmlt"), ({"labels": True}, ValueError, "labels"), ({"runs": 0}, ValueError, "runs"),
    ({"pace": "odd"}, ValueError, "^pace"), ({"memory": 300}, MemoryError, "limit of 300 bytes .* a larger memory, or"),
    ({"data": "nothing.csv"}, OSError, "^nothing.csv: "),
    ({"label_column": "lable"}, ValueError, "^a.csv:1: no column 'lable'"),
    ({"data": (X, Y), "format": "csv"}, ValueError, "format 'csv': expected with files only"),
    ({"data": (X, Y), "number_column": "f0"}, ValueError, r"number_column \['f0'\]: expected with files only"),
    ({"classes": "one-vs-rest", "positive": "1"}, ValueError, "^classes and positive: expected one of them$"),
    ({"data": "-"}, ValueError, "format")])
def test_the_programs_errors_are_exceptions_with_its_message(folder, options, error, words):
    with pytest.raises(error, match=words) as found:
        runs.simulate(**{"data": "a.csv", **options})
    assert not str(found.value).startswith("quorate: ")


def test_what_a_good_run_has_to_say_is_a_warning(folder):
    (folder / "bad.csv").write_text("label,x\n1,2\n0,zz\n1,3\n0,4\n")
    with pytest.warns(UserWarning, match="bad.csv: 1 bad line skipped; the first: .*'zz'") as seen:
        assert runs.simulate("bad.csv", on_error="skip").attrs["examples"] == 3
    assert seen[0].filename == __file__


def test_a_cache_is_made_once_and_gives_the_same(folder):
    plain = runs.simulate("a.csv", seed=3).drop(columns="seconds")
    for _ in range(2):
        assert runs.simulate("a.csv", seed=3, cache=folder / "kept").drop(columns="seconds").equals(plain)
    assert len(list((folder / "kept").iterdir())) == 1


def test_no_learners(folder):
    with pytest.raises(ValueError, match="learners: none"):
        runs.compare("a.csv", [])


# ---- beside the caller

@pytest.mark.parametrize("module, call, words", [
    ("pandas", lambda: runs.simulate("a.csv"), "pip install pandas"),
    ("tqdm.auto", lambda: runs.simulate("a.csv", progress=True), "pip install tqdm"),
    ("matplotlib.pyplot", lambda: runs.compare("a.csv", ["cmtl"]).plot(), "pip install matplotlib")])
def test_what_is_not_installed_is_named(folder, monkeypatch, module, call, words):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=words):
        call()


def test_progress_is_shown_to_the_end_and_changes_nothing(folder, capsys):
    pytest.importorskip("tqdm")
    same(runs.simulate("a.csv", passes=300, progress=True), runs.simulate("a.csv", passes=300))
    shown = capsys.readouterr().err
    assert "simulate: 100%" in shown and "48,000 examples" in shown and '{"fraction"' not in shown


@pytest.mark.parametrize("call", [
    lambda: runs.simulate(([[1.0], [2.0]] * 50, [1, -1] * 50), passes=10**8),
    lambda: runs.compare(([[1.0], [2.0]] * 50, [1, -1] * 50), ["cmtl"], passes=10**8, threads=2),
    lambda: runs.tune(([[1.0], [2.0]] * 5000, [1, -1] * 5000), "cmtl(query=margin)", "query.b=0.001..1:1000")])
def test_ctrl_c_ends_an_experiment(folder, call):
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        sender = signal_after(signal.SIGINT, 0.2)
        call()
    assert time.process_time() - start < 10
    sender.join()


def test_other_threads_run_during_an_experiment(folder):
    assert most_beats(lambda: runs.simulate(([[1.0], [2.0]] * 50, [1, -1] * 50), "cohort", passes=3000)) >= ENOUGH


def test_an_error_of_the_progress_bar_ends_the_experiment(folder, monkeypatch):
    def fail(self, fraction, examples):
        raise RuntimeError("no more")

    pytest.importorskip("tqdm")
    monkeypatch.setattr(runs._Bar, "_show", fail)
    with pytest.raises(RuntimeError, match="no more"):
        runs.simulate("a.csv", passes=10**8, progress=True)


# ---- pictures

@pytest.fixture
def plt(monkeypatch, tmp_path_factory):
    if not os.access(Path.home(), os.W_OK):  # matplotlib keeps its fonts there, or else in TMPDIR, which must stay empty
        monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path_factory.mktemp("matplotlib")))
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot
    yield pyplot
    pyplot.close("all")


def test_budgets_are_drawn_as_curves_with_a_key(folder, plt):
    found = runs.compare("a.csv", ["perceptron", "cmtl(query=margin(b=0.3))"], label_budgets=[10, 20, 40], **OPTIONS)
    ax = found.plot()
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["perceptron", "cmtl(query=margin(b=0.3))"]
    assert len(ax.figure.axes) == 1 and ax.get_xlabel() == "labels bought" and "95 % interval" in ax.get_ylabel()
    xs, ys = ax.containers[0][0].get_data()
    assert xs.tolist() == found["labels"].tolist()[:3] and ys.tolist() == found["accuracy"].tolist()[:3]
    _, own = plt.subplots()
    assert found.plot(ax=own) is own and own.get_legend() is not None


def test_learners_are_drawn_as_bars_beside_their_calibration(folder, plt):
    found = runs.compare("a.csv", {"alone": "perceptron", "house": "cohort"}, **OPTIONS)
    ax = found.plot()
    assert [bar.get_width() for bar in ax.patches] == found["accuracy"].tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["alone", "house"]
    [_, calibration] = ax.figure.axes
    [diagonal, house] = calibration.lines
    bins = found.document["learners"][1]["reliability"]
    assert list(house.get_xdata()) == [each["probability"] for each in bins] and list(diagonal.get_xdata()) == [0, 1]
    assert list(house.get_ydata()) == [each["positive"] for each in bins]
    ax.figure.savefig(folder / "picture.png")
    assert runs.compare("a.csv", ["cmtl"]).plot().figure is not None  # a single run: no intervals
