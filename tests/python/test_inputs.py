"""Inputs: the same data in any form gives the same model, to the bit; what is no good is refused at once."""

import copy
import datetime
import json
import pickle
import random
import tracemalloc
import warnings

import multitask
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import quorate
from quorate import Cmtl, Cohort, load

DATA = multitask.binary(80, d=7, seed=5)
ROWS = DATA.X * (np.random.default_rng(6).random(DATA.X.shape) < 0.6)  # with zeros
NAMES = [f"f{j}" for j in range(ROWS.shape[1])]


def fitted(X, spec="cohort(query=margin(b=0.5))", y=DATA.y, task=DATA.task, **shared):
    return quorate.from_spec(spec, **shared).fit(X, y, task=task)


def trained(program, text, ending, spec="cohort(query=margin(b=0.5))", *options):
    """The model that the program makes of a file."""
    (program.folder / f"data.{ending}").write_text(text)
    program.ok(
        "train", "--data", f"data.{ending}", "--model", f"{ending}.model", "--learner", spec, "--quiet", *options
    )
    return quorate.load(program.folder / f"{ending}.model")


def assert_same(a, b, but=()):
    """Models whose tensors are the same to the bit, but for kinds of columns: only a file has those of labels."""
    assert [name for name in multitask.differences(a.tensors, b.tensors) if name not in but and not name.startswith("input.schema")] == []


def sparse(kind=sp.csr_matrix):
    return kind(ROWS)


def unsorted():
    X = sp.csr_matrix(ROWS)
    for begin, end in zip(X.indptr, X.indptr[1:]):
        X.indices[begin:end] = X.indices[begin:end][::-1].copy()
        X.data[begin:end] = X.data[begin:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def duplicates():
    """Every value in two halves, which add up to it exactly."""
    X = sp.csr_matrix(ROWS)
    out = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    assert out.nnz == 2 * X.nnz
    return out


def explicit_zeros():
    full = sp.csr_matrix(np.ones_like(ROWS))
    full.data = ROWS.ravel().copy()
    assert (full.data == 0).any()
    return full


def wide_indices(X):
    out = X.copy()
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def read_only():
    X = ROWS.copy()
    X.flags.writeable = False
    return X


MATRICES = {
    "C": lambda: ROWS,
    "Fortran": lambda: np.asfortranarray(ROWS),
    "strided": lambda: np.repeat(ROWS, 2, axis=0)[::2],
    "columns reversed twice": lambda: ROWS[:, ::-1].copy()[:, ::-1],
    "read-only": read_only,
    "lists": lambda: ROWS.tolist(),
    "objects": lambda: ROWS.astype(object),
    "big-endian": lambda: ROWS.astype(">f8"),
    "csr": sparse,
    "csr_array": lambda: sparse(sp.csr_array),
    "csc": lambda: sparse(sp.csc_matrix),
    "coo": lambda: sparse(sp.coo_matrix),
    "coo_array": lambda: sparse(sp.coo_array),
    "lil": lambda: sparse(sp.lil_matrix),
    "dok": lambda: sparse(sp.dok_matrix),
    "int64 indices": lambda: wide_indices(sparse()),
    "unsorted": unsorted,
    "unsorted int64": lambda: wide_indices(unsorted()),
    "duplicates": duplicates,
    "explicit zeros": explicit_zeros,
    "pandas without names": lambda: pd.DataFrame(ROWS),
    "sparse pandas": lambda: pd.DataFrame.sparse.from_spmatrix(sparse()),
}


@pytest.mark.parametrize("spec", ["cohort(query=margin(b=0.5))", "cohort(scale=log-idf)", "budget-random(budget=10)"])
@pytest.mark.parametrize("form", MATRICES)
def test_a_matrix_of_any_form_is_the_same_data(form, spec):
    X = MATRICES[form]()
    model, expected = fitted(X, spec), fitted(ROWS, spec)
    assert multitask.same_model(model, expected)
    assert (
        model.decision_function(X, task=DATA.task).tobytes()
        == expected.decision_function(ROWS, task=DATA.task).tobytes()
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.uint16, np.bool_])
@pytest.mark.parametrize("spread", [np.asarray, sp.csr_matrix, np.asfortranarray])
def test_numbers_of_any_type_are_those_numbers(dtype, spread):
    X = (np.abs(ROWS) * 3).astype(dtype)
    if dtype == np.float16 and spread is sp.csr_matrix:
        pytest.skip("SciPy has no sparse float16")
    assert multitask.same_model(fitted(spread(X)), fitted(X.astype(np.float64)))


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_of_numbers_is_the_csv_file(quorate, frame):
    X = FRAMES[frame]({name: ROWS[:, j] for j, name in enumerate(NAMES)})
    model = fitted(X)
    file = trained(quorate, multitask.csv(multitask.Data(ROWS, DATA.y, DATA.task)), "csv")
    assert_same(model, file)
    assert model.n_features_in_ == len(NAMES) and model.feature_names_in_.tolist() == NAMES
    # A table, and a file learned from one, go by names, wherever the columns stand; the names need not be told again.
    shuffled = FRAMES[frame]({name: ROWS[:, NAMES.index(name)] for name in NAMES[::-1]})
    expected = model.decision_function(X, task=DATA.task)
    if frame != "pandas":  # scikit-learn has the order of pandas' columns checked
        assert model.decision_function(shuffled, task=DATA.task).tobytes() == expected.tobytes()
    for loaded in (file, _through_file(model, quorate.folder)):
        assert loaded.decision_function(X, task=DATA.task).tobytes() == expected.tobytes()
        assert loaded.decision_function(shuffled, task=DATA.task).tobytes() == expected.tobytes()
        loaded.partial_fit(shuffled, DATA.y, task=DATA.task)
    model.partial_fit(X, DATA.y, task=DATA.task)
    assert_same(model, file)


def _through_file(model, folder):
    model.save(folder / "saved.model")
    return load(folder / "saved.model")



def test_decide_names_the_columns_as_fit_does():
    X = pd.DataFrame(ROWS, columns=NAMES)
    model = Cohort(query="always")
    found = model.decide(X, task=DATA.task, classes=[-1, 1])
    assert model.info_["columns"] == NAMES
    model.learn(found.ids, DATA.y)


def mixed(make=lambda columns: columns):
    rng = np.random.default_rng(8)
    columns = {
        "size": [float(v) for v in rng.normal(size=len(DATA))],
        "colour": [str(v) for v in rng.choice(["red", "green", "deep blue"], len(DATA))],
        "count": [int(v) for v in rng.integers(5, size=len(DATA))],
        "kind": [str(v) for v in rng.integers(3, size=len(DATA))],
        "note": [" ".join(rng.choice(["good", "bad", "\u00fcber", "x1"], 3)) for _ in range(len(DATA))],
        "who": DATA.task.tolist(),
    }
    return make(columns)


def mixed_csv() -> str:
    columns = mixed()
    lines = [",".join([*columns, "label"])]
    for n in range(len(DATA)):
        lines.append(",".join([*(str(values[n]) for values in columns.values()), str(DATA.y[n])]))
    return "\n".join(lines) + "\n"


SPECIAL = {"task_column": "who", "text_column": "note", "categorical_columns": ["kind"]}
OPTIONS = [
    "--task-column",
    "who",
    "--text-column",
    "note",
    "--categorical-column",
    "colour",
    "--categorical-column",
    "kind",
]


@pytest.mark.parametrize("bits", [18, 0])
@pytest.mark.parametrize("frame", FRAMES)
def test_words_text_and_tasks_of_a_frame_are_those_of_the_csv_file(quorate, frame, bits):
    X = mixed(FRAMES[frame])
    model = Cohort(query="margin(b=0.5)", bits=bits, ngrams=2, **SPECIAL).fit(X, DATA.y)
    file = trained(quorate, mixed_csv(), "csv", "cohort(query=margin(b=0.5))", *OPTIONS, "--bits", bits, "--ngrams", "2")
    assert_same(model, file)
    expected = model.decision_function(X)
    file.set_params(**SPECIAL)
    assert file.decision_function(X).tobytes() == expected.tobytes()
    lines = quorate.ok("predict", "--data", "data.csv", "--model", "csv.model", *OPTIONS, "--quiet").lines()
    assert [line["margin"] for line in lines] == expected.tolist()


def test_words_may_be_categories():
    columns = mixed()
    plain = Cohort(**SPECIAL).fit(pd.DataFrame(columns), DATA.y)
    as_categories = pd.DataFrame(columns).astype({"colour": "category", "kind": "category", "who": "category"})
    assert multitask.same_model(plain, Cohort(**SPECIAL).fit(as_categories, DATA.y))
    numbers = pd.DataFrame(columns).astype({"kind": int}).astype({"kind": "category"})
    assert multitask.same_model(plain, Cohort(**{**SPECIAL, "categorical_columns": None}).fit(numbers, DATA.y))
    by_polars = pl.DataFrame(columns).with_columns(pl.col("colour", "kind", "who").cast(pl.Categorical))
    assert multitask.same_model(plain, Cohort(**SPECIAL).fit(by_polars, DATA.y))
    by_arrow = pa.table(
        {k: pa.array(v).dictionary_encode() if k in ("colour", "kind", "who") else v for k, v in columns.items()}
    )
    assert multitask.same_model(plain, Cohort(**SPECIAL).fit(by_arrow, DATA.y))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_missing_word_is_nothing(frame):
    make = FRAMES[frame]
    gaps = make({"a": [1.0, 2.0, 3.0], "w": ["x", None, "y"], "t": ["some text", None, "more"]})
    same = make({"a": [1.0, 2.0, 3.0], "w": ["x", "", "y"], "t": ["some text", "", "more"]})
    fit = lambda X: Cmtl(text_column="t").fit(X, [1, 0, 1])  # noqa: E731
    assert multitask.same_model(fit(gaps), fit(same))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("words", [True, False])
def test_missing_values_are_those_of_the_csv_file(quorate, frame, words):
    columns = {"a": [1.0, 2.0, 3.0], "size": [1.0, None, 2.0]} | ({"w": ["x", "y", None]} if words else {})
    model = Cmtl().fit(FRAMES[frame](columns), [1, 0, 1])
    (quorate.folder / "a.csv").write_text("".join(",".join(str(columns[c][n]) if columns[c][n] is not None else "" for c in columns) + f",{y}\n"
                                                  for n, y in enumerate([1, 0, 1])))
    (quorate.folder / "a.csv").write_text(",".join(columns) + ",label\n" + (quorate.folder / "a.csv").read_text())
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", "cmtl")
    assert_same(model, load(quorate.folder / "m"))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("strings", [True, False])
def test_hours_and_weekdays_are_those_of_the_csv_file(quorate, frame, strings):
    times = [datetime.datetime(2026, 11, 1 + n // 24, n % 24, 15) for n in range(96)]
    columns = {"a": [float(n % 3) for n in range(96)], "when": [None if n == 5 else time for n, time in enumerate(times)]}
    y = [int(n % 24 < 12) for n in range(96)]
    rows = [["" if value is None else str(value) for value in row] for row in zip(*columns.values())]
    if strings:
        columns["when"] = [value and str(value) for value in columns["when"]]
    model = Cohort(query="always", time_parts=True).fit(FRAMES[frame](columns), y)
    (quorate.folder / "a.csv").write_text(
        "a,when,label\n" + "".join(f"{','.join(row)},{label}\n" for row, label in zip(rows, y)))
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", "cohort(query=always)", "--time-parts")
    of_file = load(quorate.folder / "m")
    assert of_file.time_parts
    assert_same(model, of_file)
    new = FRAMES[frame](columns)
    assert (of_file.predict(new) == model.predict(new)).all() and model.score(new, y) > 0.9
    model.save(quorate.folder / "n")
    assert (load(quorate.folder / "n").predict(new) == model.predict(new)).all()
    with pytest.warns(UserWarning, match="'when' .* is left out; set time_parts=True"):
        Cohort().fit(new, y)
    with pytest.raises(ValueError, match="column 'when', row 0: 'tomorrow'"):
        model.predict(FRAMES[frame](columns | {"when": ["tomorrow"] * 96}))


@pytest.mark.parametrize("frame", FRAMES)
def test_integers_that_doubles_would_round_are_names_as_in_files(frame, quorate):
    shops = [2**60, 2**60 + 1]  # the same double
    y = np.array([0, 1] * 60)
    columns = {"shop": [shops[label] for label in y], "a": [0.5 * i for i in range(120)]}
    model = Cohort(query="always").fit(FRAMES[frame](columns), y)
    assert model.score(FRAMES[frame](columns), y) == 1
    assert model.info_["schema"] == [("shop", "category"), ("a", "number")]
    (quorate.folder / "a.csv").write_text("shop,a,label\n" + "".join(f"{s},{a},{label}\n" for s, a, label in zip(*columns.values(), y)))
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", "cohort(query=always)")
    assert_same(model, load(quorate.folder / "m"))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_task_that_is_true_or_false_is_the_same_in_files_and_frames(frame, quorate):
    r = random.Random(1)
    rows = [(vip, r.gauss(1 if vip == y else -1, 0.5), int(y)) for vip in (True, False) for y in (True, False) for _ in range(50)]
    columns = {"vip": [vip for vip, *_ in rows], "a": [a for _, a, _ in rows]}
    (quorate.folder / "a.csv").write_text("vip,a,label\n" + "".join(f"{vip},{a},{y}\n" for vip, a, y in rows))
    (quorate.folder / "a.jsonl").write_text("".join(json.dumps({"vip": vip, "a": a, "label": y}) + "\n" for vip, a, y in rows))
    for name in ("a.csv", "a.jsonl"):
        quorate.ok("train", "--data", name, "--model", name + ".m", "--task-column", "vip", "--learner", "cohort(query=always)")
        margins = [row["margin"] for row in quorate.ok("predict", "--data", name, "--model", name + ".m").lines()]
        assert load(quorate.folder / (name + ".m")).decision_function(FRAMES[frame](columns)).tolist() == margins


@pytest.mark.parametrize("frame", FRAMES)
def test_what_is_missing_in_the_file_of_a_model_is_missing_in_frames_and_dicts(frame, quorate):
    r = random.Random(1)
    rows = [(r.choice([-999, r.gauss(y, 1)]), r.choice(["x", "y", "unknown"]), y) for y in (0, 1) * 100]
    (quorate.folder / "a.csv").write_text("a,b,label\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--missing=-999", "--missing=unknown", "--categorical-column", "b")
    margins = [row["margin"] for row in quorate.ok("predict", "--data", "a.csv", "--model", "m").lines()]
    model = load(quorate.folder / "m")
    columns = {"a": [float(a) for a, *_ in rows], "b": [b for _, b, _ in rows]}
    assert model.decision_function(FRAMES[frame](columns)).tolist() == margins
    assert model.decision_function([dict(zip("ab", row)) for row in rows]).tolist() == margins


def test_predictions_without_a_task_of_a_model_of_tasks_are_said():
    model = Cohort(query="always").fit(DATA.X, DATA.y, task=DATA.task)
    for predict in (model.predict, model.predict_proba, model.explain):
        with pytest.warns(UserWarning, match="no task, so all examples are predicted with the weights that all tasks share") as said:
            predict(DATA.X[:3])
        assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(DATA.X[:3], task=DATA.task[:3])
        Cohort().fit(DATA.X, DATA.y).predict(DATA.X)


def test_columns_that_are_missing_or_new_are_refused():
    X = pd.DataFrame(mixed())
    model = Cohort(**SPECIAL).fit(X, DATA.y)
    before = model.to_bytes()
    for bad, message in [
        (X.drop(columns="size"), "size|features"),
        (X.assign(more=1.0), "more|features"),
        (X.drop(columns="who"), "no column 'who'"),
        (X.rename(columns={"note": "Note"}), "[Nn]ote"),
        (X.rename(columns={"size": "Size"}), "[Ss]ize"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad, DATA.y)
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match="'nothing'"):
        Cohort(text_column="nothing").fit(X, DATA.y)
    with pytest.raises(ValueError, match="'nothing'"):
        Cohort(categorical_columns=["nothing"]).fit(X, DATA.y)
    with pytest.raises(ValueError, match="task: given twice"):
        model.predict(X, task="t0")


def test_columns_named_by_numbers_go_by_their_places():
    assert multitask.same_model(fitted(pd.DataFrame(ROWS, columns=range(10, 17))), fitted(ROWS))
    with pytest.raises(TypeError, match="column names"):
        fitted(pd.DataFrame(ROWS, columns=[*NAMES[:-1], 3]))


def dicts():
    return [{f"f{j}": float(v) for j, v in enumerate(x)} for x in DATA.X]


@pytest.mark.parametrize("spec", ["cohort(query=margin(b=0.5))", "cohort(scale=idf)", "cmtl"])
@pytest.mark.parametrize("bits", [18, 0])
def test_dicts_are_json_lines(quorate, spec, bits):
    model = fitted(dicts(), spec, bits=bits)
    assert_same(
        model, trained(quorate, multitask.jsonl(DATA), "jsonl", spec, "--bits", bits), but=["input.columns_fixed"]
    )


def test_dicts_hold_what_json_lines_hold(quorate):
    rows = [
        {"a": 1, "b": True, "w": "x y", "7": 2.5, "n": None, "\u00e9": -1e-300, "": 3},
        {},
        {"b": False, "a": 10**17},
        {"w": "", "a": 0},
        {"007": 1, "1e3": 2, "4294967292": 1},
        {"from": {"host": "a.org", "age": 3, "ip": {"v6": True}, "zip": None}, "tags": ["y", "x", "y"]},
    ]
    text = "".join(json.dumps({"label": n % 2, "x": x}) + "\n" for n, x in enumerate(rows))
    model = Cmtl().fit(rows, [n % 2 for n in range(len(rows))])
    assert_same(model, trained(quorate, text, "jsonl", "cmtl"), but=["input.columns_fixed"])
    # Whole numbers name the same features as their texts; NumPy's values are numbers.
    numbers = [{7: np.float32(2.5), "a": np.int64(3), "b": np.bool_(True)}]
    texts = [{"7": 2.5, "a": 3, "b": 1}]
    assert multitask.same_model(Cmtl().fit(numbers * 2, [0, 1]), Cmtl().fit(texts * 2, [0, 1]))


def test_a_missing_value_of_a_dict_is_a_feature():
    rows = [{"a": 1.0}, {"a": None}, {"a": float("nan")}, {"a": 2.0}] * 20
    y = [0, 1, 1, 0] * 20
    model = Cohort(query="always").fit(rows, y)
    assert model.score(rows, y) == 1
    assert "a=?" in [reason.feature for reason in model.explain([{"a": None}])[0]]


def test_dicts_of_indices_are_a_matrix():
    assert_same(fitted([dict(enumerate(x)) for x in ROWS.tolist()]), fitted(ROWS))


@pytest.mark.parametrize("binary", [False, True])
def test_texts_are_json_lines_of_text(quorate, binary):
    texts = [
        "Free money, free!",
        "",
        "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439 \u043c\u0438\u0440",
        "a b c",
        "meeting at ten\nmoney",
        "\x00 nul",
    ] * 5
    y = [1, 0] * 15
    text = "".join(json.dumps({"label": v, "text": x}) + "\n" for x, v in zip(texts, y))
    options = ["--ngrams", "2", "--binary"] if binary else []
    file = trained(quorate, text, "jsonl", "cohort", *options)
    forms = [
        texts,
        tuple(texts),
        np.array(texts, dtype=object),
        pd.Series(texts),
        pl.Series(texts),
        pa.chunked_array([texts]),
    ]
    for X in forms:
        model = Cohort(ngrams=1 + binary, binary=binary).fit(X, y)
        assert_same(model, file, but=["input.columns_fixed"])
        assert model.predict(X).tolist() == Cohort(ngrams=1 + binary, binary=binary).fit(texts, y).predict(texts).tolist()


def test_a_matrix_is_svmlight(quorate):
    data = multitask.Data(ROWS, DATA.y, DATA.task)
    for spec in ("cohort", "cmtl", "budget-projectron(budget=10)", "shampo-second-order"):
        file = trained(quorate, multitask.svmlight(data), "svm", spec)
        for X in (ROWS, sparse()):
            model = fitted(X, spec)
            assert_same(model, file, but=["input.columns_fixed"])
            assert (model.decision_function(X, task=DATA.task) == file.decision_function(X, task=DATA.task)).all()
        (quorate.folder / "svm.model").unlink()


def parts_of(X, sizes):
    begin = 0
    for size in sizes:
        yield X[begin : begin + size], DATA.y[begin : begin + size], DATA.task[begin : begin + size]
        begin += size


@pytest.mark.parametrize("sizes", [[80], [1] * 80, [30, 1, 49]])
@pytest.mark.parametrize(
    "X", [ROWS, sparse(), pd.DataFrame(ROWS, columns=NAMES), dicts()], ids=["dense", "csr", "pandas", "dicts"]
)
def test_a_stream_of_parts_is_the_whole(X, sizes):
    model = Cohort(query="margin(b=0.5)").fit(parts_of(X, sizes), classes=[-1, 1])
    assert multitask.same_model(model, fitted(X))
    margins = fitted(X).decision_function(X, task="t1")
    assert model.set_params(task_column=None).decision_function(part for part in [X]).shape == margins.shape


@pytest.mark.parametrize("spec", multitask.learners())
def test_one_row_at_a_time_is_the_batch(spec):
    data = multitask.binary(40, seed=9)
    rounds = {"rounds": "each"}
    make = lambda: copy.deepcopy(multitask.learners(**rounds)[spec])  # noqa: E731
    batch = make().fit(data.X, data.y, task=data.task)
    rows, singles = make(), make().start([-1, 1])
    for x, y, t in zip(data.X, data.y, data.task):
        rows.partial_fit(x[None], [y], classes=[-1, 1], task=[t])
        singles.learn_one(x, y, t)
    assert multitask.same_model(rows, batch)
    assert multitask.same_model(singles, batch)
    margins = batch.decision_function(data.X, task=data.task)
    assert [singles.score_one(x, t) for x, t in zip(data.X, data.task)] == margins.tolist()
    assert [singles.predict_one(x, t) for x, t in zip(data.X, data.task)] == batch.predict(
        data.X, task=data.task
    ).tolist()


@pytest.mark.parametrize("reduction", ["one-vs-rest", "one-vs-one"])
def test_one_row_of_several_classes_at_a_time_is_the_batch(reduction):
    data = multitask.classes(60)
    batch = Cohort(reduction=reduction).fit(data.X, data.y)
    singles = Cohort(reduction=reduction).start([1, 2, 3, 4])
    for x, y in zip(data.X, data.y.tolist()):
        singles.learn_one(x, y)
    assert multitask.same_model(singles, batch)
    assert [singles.predict_one(x) for x in data.X] == batch.predict(data.X).tolist()


def test_dicts_one_at_a_time_are_the_batch():
    batch = fitted(dicts())
    singles = Cohort(query="margin(b=0.5)").start([-1, 1])
    for x, y, t in zip(dicts(), DATA.y, DATA.task):
        singles.learn_one(x, y, t)
    assert multitask.same_model(singles, batch)
    margins = batch.decision_function(dicts(), task=DATA.task)
    assert [singles.score_one(x, t) for x, t in zip(dicts(), DATA.task)] == margins.tolist()


BAD = [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf"), (1e19, r"1e\+19"), (-1e19, r"-1e\+19")]


@pytest.mark.parametrize("value, shown", BAD, ids=str)
def test_a_bad_value_is_refused_with_its_place_before_anything_is_learned(value, shown):
    model = fitted(ROWS)
    frame_model = fitted(pd.DataFrame(ROWS, columns=NAMES))
    dict_model = fitted(dicts())
    bad = ROWS.copy()
    bad[70, 3] = value
    rows = dicts()
    rows[70]["f3"] = value
    for target, X, place in [
        (model, bad, "row 70, column 3"),
        (model, np.asfortranarray(bad), "row 70, column 3"),
        (model, sp.csr_matrix(bad), "row 70, column 3"),
        (model, wide_indices(sp.csr_matrix(bad)), "row 70, column 3"),
        *([(frame_model, pd.DataFrame(bad, columns=NAMES), "row 70, column 'f3'")] if value == value else []),  # NaN is missing
        *([(dict_model, rows, "row 70, feature 'f3'")] if value == value else []),
    ]:
        before = target.to_bytes()
        for call in (
            lambda: target.partial_fit(X, DATA.y, task=DATA.task),
            lambda: target.decide(X, task=DATA.task),
            lambda: target.predict(X),
        ):
            with pytest.raises(ValueError, match=f"{place}: .*{shown}"):
                call()
        assert target.to_bytes() == before
    before = model.to_bytes()
    with pytest.raises(ValueError, match="column 3"):
        model.learn_one(bad[70], 1, "t0")
    with pytest.raises(ValueError, match="column 3"):
        model.score_one(bad[70], "t0")
    assert model.to_bytes() == before


def test_a_bad_label_or_task_is_refused_before_anything_is_learned():
    model = fitted(ROWS)
    before = model.to_bytes()
    late = lambda values, value: [*values[:79], value]  # noqa: E731
    for call in (
        lambda: model.partial_fit(ROWS, late(DATA.y.tolist(), 7), task=DATA.task),
        lambda: model.partial_fit(ROWS, late(DATA.y.tolist(), "x"), task=DATA.task),
        lambda: model.partial_fit(ROWS, late(DATA.y.astype(float).tolist(), np.inf), task=DATA.task),
        lambda: model.partial_fit(ROWS, late(DATA.y.astype(float).tolist(), 0.5), task=DATA.task),
        lambda: model.partial_fit(ROWS, DATA.y[:-1], task=DATA.task),
        lambda: model.partial_fit(ROWS, DATA.y, task=DATA.task[:-1]),
        lambda: model.partial_fit(ROWS, DATA.y, task=late(DATA.task.tolist(), None)),
        lambda: model.partial_fit(ROWS, DATA.y, task=late(list(range(79)), np.nan)),
        lambda: model.partial_fit(ROWS, DATA.y, task=DATA.task, time=np.full(80, np.nan)),
        lambda: model.partial_fit(ROWS, DATA.y, task=DATA.task, classes=[0, 1]),
        lambda: model.partial_fit(ROWS[:, 1:], DATA.y, task=DATA.task),
        lambda: model.learn_one(ROWS[0], 7, "t0"),
    ):
        with pytest.raises(ValueError):
            call()
        assert model.to_bytes() == before


def test_broken_csr_is_refused():
    model = fitted(ROWS)
    before = model.to_bytes()

    def broken(change):
        X = sparse()
        change(X)
        return X

    def negative(X):
        X.indices[5] = -1

    def beyond(X):
        X.indptr[-1] += 5

    def falls(X):
        X.indptr[3] = X.indptr[2] - 1

    for change in (negative, beyond, falls):
        with pytest.raises(ValueError):
            model.partial_fit(broken(change), DATA.y, task=DATA.task)
    assert model.to_bytes() == before


def test_bad_records_are_refused():
    for rows, message in [
        ([{"a": 1}, "x"], "row 1.*expected a dict"),
        (["x", {"a": 1}], "row 1.*expected a text"),
        ([{"a": 1}, {"b": [1]}], "row 1.*'b'.*list"),
        ([{"a": 1}, {1.5: 1}], "row 1.*1.5.*float"),
        ([{"a": 1}, {-1: 1}], "row 1.*-1"),
        ([{"a": 1}, {2**40: 1}], "row 1.*1099511627776"),
        ([{"a": 1}, None], "row 1.*NoneType"),
        ([{"a": 1}, {"\ud800": 1}], "surrogate"),
    ]:
        with pytest.raises(ValueError, match=message):
            Cmtl().fit(rows, [0, 1])
    for call in (fitted(ROWS).score_one, fitted(ROWS).predict_one, lambda x: fitted(ROWS).learn_one(x, 1)):
        for x in (ROWS[:1], ROWS[0, 1:], np.ones(8)):
            with pytest.raises(ValueError, match=r"shape \(.*; expected \(7,\)"):
                call(x)
    for x in ([1.0], "text", None, 3):
        with pytest.raises(TypeError, match="expected a dict, or a NumPy array"):
            fitted(ROWS).score_one(x, "t0")


def test_nothing_of_the_callers_is_changed():
    originals = {
        "dense": ROWS.copy(),
        "fortran": np.asfortranarray(ROWS),
        "csr": unsorted(),
        "duplicates": duplicates(),
        "zeros": explicit_zeros(),
        "pandas": pd.DataFrame(ROWS, columns=NAMES),
        "dicts": dicts(),
    }
    for name, X in originals.items():
        kept = copy.deepcopy(X)
        y, task = DATA.y.copy(), DATA.task.copy()
        model = Cohort().fit(X, y, task=task)
        model.decide(X, task=task)
        model.predict(X, task=task)
        if sp.issparse(X):
            for part in ("data", "indices", "indptr"):
                assert getattr(X, part).tobytes() == getattr(kept, part).tobytes(), name
        elif name == "pandas":
            pd.testing.assert_frame_equal(X, kept)
        elif name == "dicts":
            assert X == kept
        else:
            assert X.tobytes() == kept.tobytes()
        assert (y == DATA.y).all() and (task == DATA.task).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros((500_000, 10)),
        lambda: sp.csr_matrix(
            (
                np.ones(5_000_000),
                np.tile(np.arange(10, dtype=np.int32), 500_000),
                np.arange(0, 5_000_001, 10, dtype=np.int32),
            ),
            shape=(500_000, 10),
        ),
    ],
    ids=["dense", "csr"],
)
def test_doubles_are_not_copied(make):
    X = make()
    y = np.tile([0, 1], 250_000)
    model = Cmtl().fit(X[:10], y[:10])
    tracemalloc.start()
    model.predict(X)
    _, of_prediction = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    model.partial_fit(X, y)
    _, of_learning = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A margin and a class for each example, 16 MB at most; the matrix has 40 MB.
    assert of_prediction < 25e6 and of_learning < 25e6


@pytest.mark.parametrize("kind", [np.asarray, list, lambda X: [dict(zip("abcd", row, strict=True)) for row in X.tolist()]])
def test_a_sample_weight_is_as_many_labels(kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0, 1, -1)
    weight = rng.integers(1, 4, 120)
    repeated = np.repeat(np.arange(120), weight)
    weighed = quorate.Cmtl().fit(kind(X), y, weight)
    parts = quorate.Cmtl().partial_fit(kind(X[:60]), y[:60], [-1, 1], weight[:60]).partial_fit(kind(X[60:]), y[60:], sample_weight=weight[60:])
    one_by_one = quorate.Cmtl().fit(kind(X[:1]), y[:1], classes=[-1, 1], sample_weight=[weight[0]])
    for x, label, w in zip(X[1:], y[1:], weight[1:], strict=True):
        one_by_one.learn_one(x if kind is not None and not isinstance(kind(X[:1])[0], dict) else kind(x[None])[0], label, w=float(w))
    expected = quorate.Cmtl().fit(kind(X[repeated]), y[repeated]).decision_function(kind(X))
    for model in (weighed, parts, one_by_one):
        np.testing.assert_array_equal(model.decision_function(kind(X)), expected)
    assert weighed.n_labels_ == 120


@pytest.mark.parametrize("weight, said", [([1, -1], "row 1 has -1"), ([1, float("nan")], "row 1"), ([1], "shape"), (["a", "b"], "number"), ([1, 1001], "1001")])
def test_a_bad_sample_weight_is_refused(weight, said):
    with pytest.raises(ValueError, match=f"sample_weight: .*{said}"):
        quorate.Cmtl().fit([[1.0], [2.0]], [1, -1], weight)
    with pytest.raises(ValueError, match="weight"):
        quorate.Cmtl().fit([[1.0], [2.0]], [1, -1]).learn_one(np.array([1.0]), 1, w=-1.0)


def test_a_frame_with_its_labels_is_scored_and_predicted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"m{i}" for i in range(200)], "a": rng.normal(size=200), "channel": rng.choice(["web", "phone"], 200)})
    frame["urgent"] = np.where(frame["a"] > 0, "yes", "no")
    with pytest.warns(UserWarning, match="'id'") as seen:
        learner = Cohort(query="always").fit(frame, "urgent")
    assert seen[0].filename == __file__  # the line that called, not one of the package
    plain = frame.drop(columns=["urgent"])
    expected = learner.predict(plain)
    assert learner.score(frame, "urgent") == learner.score(plain, frame["urgent"]) == (expected == frame["urgent"]).mean()
    for same in (frame, plain.drop(columns="id"), frame.drop(columns="id")):
        assert (learner.predict(same) == expected).all()
    for wrong in (frame.drop(columns="a"), frame.rename(columns={"a": "b"}), frame.assign(b=1)):
        with pytest.raises(ValueError, match="feature names"):
            learner.predict(wrong)
    assert pickle.loads(pickle.dumps(learner)).score(frame, "urgent") == learner.score(frame, "urgent")


def test_times_of_utc_in_an_object_array_are_those_of_a_string_array():
    X, dates = np.eye(2), ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in (np.array(dates), np.array(dates, dtype=object)):
            found = Cohort(query="always").fit(X, [1, -1], time=array).kept_labels()
            assert found.time.tolist() == [1767225600, 1767312000]


def test_texts_in_dicts_are_reported():
    rows = [{"body": f"some words about order {n}", "plan": "gold"} for n in range(30)]
    with pytest.warns(UserWarning, match="the key 'body' holds texts"):
        Cohort().fit(rows, [n % 2 for n in range(30)])


def test_true_and_false_are_the_same_in_files_and_frames(tmp_path):
    frame = pd.DataFrame({"paid": [n % 3 == 0 for n in range(60)], "n": [n / 7 for n in range(60)]})
    y = frame.paid.to_numpy()
    frame.assign(label=y.astype(int)).to_csv(tmp_path / "a.csv", index=False)
    learned = Cohort(query="always").fit(frame, y)
    back = pd.read_csv(tmp_path / "a.csv", dtype={"paid": str}).drop(columns="label")
    assert back.paid[0] == "True"
    for other in (frame, back, frame.assign(paid=frame.paid.astype(object))):
        assert (learned.decision_function(other) == learned.decision_function(frame)).all()
