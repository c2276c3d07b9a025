"""One model, any container: what a model learned from one container is predicted from each other with equal margins, or refused with
what was given, what the model learned from, and what to give."""

import functools
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import quorate

LEARNER = "cohort(query=always)"
N = 200
rng = np.random.default_rng(3)
NUMBERS = pd.DataFrame(rng.normal(size=(N, 4)).round(3) + 0.0005, columns=list("abcd"))  # no zeros: all indices are in all lines
MIXED = pd.DataFrame({
    "a": NUMBERS.a.where(NUMBERS.b < 1, np.nan),  # some are missing
    "b": NUMBERS.b,
    "colour": rng.choice(["red", "green", "deep blue"], N),
    "note": [" ".join(rng.choice("good bad late early again the order".split(), 4)) for _ in range(N)],
})  # fmt: skip
WORDS = MIXED.drop(columns="note")  # dicts hold no text
TABLES = {"numbers": NUMBERS, "words": WORDS, "text": MIXED}
Y = np.where(NUMBERS.a + 0.5 * NUMBERS.b + (MIXED.colour == "red") > 0, 1, -1)


def indexed(first, form):
    return "".join(f"{y} {form}" + " ".join(f"{j}:{v}" for j, v in enumerate(x, first)) + "\n" for y, x in zip(Y, NUMBERS.to_numpy().tolist()))


def objects(rows, inside=False, notes=None):
    texts = [{}] * N if notes is None else [{"text": {"note": note}} for note in notes]
    return "".join(json.dumps({"label": y} | text | ({"x": x} if inside else x)) + "\n" for y, text, x in zip(Y.tolist(), texts, rows))


def dicts(table):
    return [{k: None if v != v else v for k, v in row.items()} for row in table.to_dict("records")]


def files(table):
    """Text of files by container."""
    out = {
        "csv": ("csv", table.assign(label=Y).to_csv(index=False)),
        "columns": ("jsonl", objects(dicts(table))),
        "x": ("jsonl", objects(dicts(table.drop(columns="note", errors="ignore")), True, table.get("note"))),
    }
    if table is NUMBERS:
        out |= {f"svm{first}": ("svm", indexed(first, "")) for first in (0, 1)} | {"vw#": ("vw", indexed(0, "| "))}
        rows = "".join(f"{y} | " + " ".join(f"{k}:{v}" for k, v in x.items()) + "\n" for y, x in zip(Y, dicts(table)))
        out["vw"] = ("vw", rows)
    return out


def held(table):
    """Data in memory by container."""
    out = {"frame": table, "dicts": dicts(table)}
    return out | ({"array": table.to_numpy(), "sparse": sp.csr_matrix(table.to_numpy())} if table is NUMBERS else {})


# Rows: learned from; columns: predicted. =: equal margins; t and p: equal, by position, with scikit-learn's warnings; others are refused.
# Array column j is the index j. `x` and `vw` have names, `vw#` plain numbers for names. `convert` writes columns as `x` of the program.
# A file that counts from 1 is distinguished from one that counts from 0 only if the first lines of both have all indices, as here, or by an
# array's width: a sparse line may lack the first index by chance, and a refusal would have no way out.
SQUARE = """
          csv columns x frame dicts vw array sparse svm0 svm1 vw#
csv       =   =       = =     =     c  t     t      c    c    c
columns   =   =       = =     =     c  t     t      c    c    c
frame     =   =       = =     =     c  t     t      c    c    c
x         n   n       = =     =     =  m     m      i    i    i
dicts     n   n       = =     =     =  m     m      i    i    i
vw        n   n       = =     =     =  m     m      i    i    i
array     r   r       k p     s     k  =     =      =    1    =
sparse    r   r       k p     s     k  =     =      =    1    =
svm0      r   r       k p     s     k  =     =      =    1    =
svm1      r   r       k o     s     k  o     o      0    =    0
vw#       r   r       k p     s     k  =     =      =    1    =
"""
WORDS_SQUARE = """
          csv columns x converted frame dicts
csv       =   =       = =         =     =
columns   =   =       = =         =     =
frame     =   =       = =         =     =
x         n   n       = =         =     =
dicts     n   n       = =         =     =
"""
TEXT_SQUARE = """
          csv columns x converted frame dicts
csv       =   =       = =         =     =
columns   =   =       = =         =     =
frame     =   =       = =         =     =
"""
REFUSED = {
    "c": r"features without columns, but the model learned from columns \(a, b, c, d\); expected CSV or JSON lines",
    "n": r"features in columns, but the model learned from names .*; expected those",
    "r": r"features in columns, but the model learned from (an array|the indices \d to \d).*; expected those",
    "i": r"features with indices, but the model learned from names .*; expected these names",
    "k": r"features with names, but the model learned from (an array|the indices \d to \d).*; expected indices",
    "m": r"X is an array, but this Cohort learned from names .*; expected dicts, or a frame with these names",
    "s": r"X is a dict with the key 'a', but this Cohort learned from (an array|the indices).*; expected an array, or dicts of indices",
    "1": r"the indices 1 to 4, but the model learned from (an array|the indices).* 0 to 3\)?: one counts from 0, the other from 1; .*zero_based=True",
    "0": r"the indices 0 to 3, but the model learned from the indices 1 to 4: one counts from 1, the other from 0; .*zero_based=False",
    "o": r"X is an array of 4 columns, but this Cohort learned from the indices 1 to 4; expected a column before them",
}
WARNED = {"t": "X does not have valid feature names, but", "p": "X has feature names, but Cohort was fitted without"}


def cells(square):
    head, *rows = [line.split() for line in square.strip().splitlines()]
    return {(row[0], given): cell for row in rows for given, cell in zip(head, row[1:], strict=True)}


class Square:
    """Models of a table, and its predictions."""

    def __init__(self, program, table):
        self.program, self.files, self.held, self.models = program, files(table), held(table), {}
        for name, (ending, text) in self.files.items():
            (program.folder / f"{name}.{ending}").write_text(text)
            program.ok("train", "--data", f"{name}.{ending}", "--model", f"{name}.model", "--learner", LEARNER, "--quiet")
            self.models[name] = [quorate.load(program.folder / f"{name}.model")]
        program.ok("convert", "csv.csv", "converted.jsonl")
        self.files["converted"] = ("jsonl", "")
        for name, data in self.held.items():
            if name == "dicts" and table is MIXED:
                continue
            model = quorate.from_spec(LEARNER).fit(data, Y)
            model.save(program.folder / f"{name}.model")
            self.models[name] = [model, quorate.load(program.folder / f"{name}.model")]
        self.margins = {name: self.predictions(name, name)[0] for name in self.models}

    def predictions(self, learned, given):
        """Margins, or why not: of a file by the program, else by the learner and, if there are two, by that of its file."""
        if given not in self.files:
            return [in_words(lambda m=model: m.decision_function(self.held[given])) for model in self.models[learned]]
        done = self.program("predict", "--model", f"{learned}.model", "--data", f"{given}.{self.files[given][0]}")
        return [done.err if done.code else np.array([json.loads(line)["margin"] for line in done.out.splitlines()])]


def in_words(predict):
    try:
        return predict()
    except ValueError as error:
        return str(error)


@pytest.fixture(scope="module")
def square_of(quorate_in, tmp_path_factory):
    return functools.cache(lambda name: Square(quorate_in(tmp_path_factory.mktemp(name)), TABLES[name]))


def check(square, learned, given, cell):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = square.predictions(learned, given)
    assert [str(w.message) for w in seen if not re.match(WARNED.get(cell, "$"), str(w.message))] == []
    assert not seen or cell in WARNED
    assert cell not in WARNED or len(seen) == len(found)
    for one in found:
        if cell in REFUSED:
            assert isinstance(one, str) and re.search(REFUSED[cell], one), one
        else:
            assert not isinstance(one, str), one
            np.testing.assert_allclose(one, square.margins[learned], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("learned", "given"), cells(SQUARE))
def test_numbers(square_of, learned, given):
    check(square_of("numbers"), learned, given, cells(SQUARE)[learned, given])


@pytest.mark.parametrize(("learned", "given"), cells(WORDS_SQUARE))
def test_numbers_and_words(square_of, learned, given):
    check(square_of("words"), learned, given, cells(WORDS_SQUARE)[learned, given])


@pytest.mark.parametrize(("learned", "given"), cells(TEXT_SQUARE))
def test_numbers_words_and_text(square_of, learned, given):
    check(square_of("text"), learned, given, cells(TEXT_SQUARE)[learned, given])


def test_an_index_beyond_an_array_is_refused_where_it_is(quorate_in, tmp_path):
    quorate.from_spec(LEARNER).fit(NUMBERS.to_numpy(), Y).save(tmp_path / "m")
    (tmp_path / "t.svm").write_text("1 2:1\n1 1:1 4:1\n")
    said = quorate_in(tmp_path)("predict", "--model", "m", "--data", "t.svm").err
    assert "t.svm:2:1: the index 4; expected 0 to 3, as the model learned from an array (its column j is the index j, 0 to 3)" in said
    rows = quorate_in(tmp_path).ok("predict", "--model", "m", "--data", "t.svm", "--on-error", "skip").out.splitlines()
    assert len(rows) == 2 and "the index 4" in rows[1]


@pytest.mark.parametrize("table", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_one_example_after_a_frame(table):
    rows, model = dicts(table), quorate.from_spec(LEARNER).fit(table, Y)
    margins, batch, one, river = model.decision_function(table), model.snapshot(), model.snapshot(), pytest.importorskip("quorate.river").wrap(model)
    assert [model.score_one(row) for row in rows] == margins.tolist()
    assert [model.predict_one(row) for row in rows] == [river.predict_one(row) for row in rows] == model.predict(table).tolist()
    assert river.predict_proba_one(rows[0]) == pytest.approx(dict(zip([-1, 1], model.predict_proba(table[:1])[0].tolist())), abs=1e-12)
    assert model.snapshot().decide(rows).margin.tolist() == model.snapshot().decide(table).margin.tolist()
    for row, y in zip(rows[:20], Y.tolist()):
        one.learn_one(row, y)
        river.learn_one(row, y)
    batch.partial_fit(table[:20], Y[:20])
    assert one.to_bytes() == river.learner_.to_bytes() == batch.to_bytes() != model.to_bytes()


def test_one_example_of_users_and_classes_after_a_frame():
    table, y = MIXED.assign(who=np.where(MIXED.b > 0, "ann", "bob")), np.where(Y > 0, MIXED.colour, "none")
    model = quorate.from_spec(LEARNER, task_column="who").fit(table, y)
    rows, expected, batch = dicts(table), model.predict(table).tolist(), model.snapshot()
    assert [model.predict_one(row) for row in rows] == expected
    for row, label in zip(rows[:20], y.tolist()):
        model.learn_one(row, label)
    assert model.to_bytes() == batch.partial_fit(table[:20], y[:20]).to_bytes()


def test_what_a_dict_may_lack_or_have_besides_columns():
    model = quorate.from_spec(LEARNER).fit(MIXED, Y)
    row = {"b": 1.0, "colour": "red", "note": "the order"}
    assert model.score_one(row) == model.score_one(row | {"a": None}) == model.decision_function(pd.DataFrame([{"a": np.nan} | row]))[0]
    with pytest.warns(UserWarning, match="the key 'more' is left out: the model learned from 'a', 'b', 'colour', 'note'"):
        assert model.score_one(row | {"more": 1}) == model.score_one(row)
    with pytest.raises(ValueError, match="no key that the model knows, as 'A'; expected 'a', 'b', 'colour', 'note'"):
        model.predict_one({"A": 1})
    with pytest.raises(ValueError, match="column 'b', row 0: 'x'; expected a number"):
        model.predict([row | {"b": "x"}])
    with pytest.raises(ValueError, match="X is an array, .* expected a frame or dicts with 'a', 'b', 'colour', 'note', which are not all numbers"):
        model.predict(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="X is a list of texts"):
        model.predict(["the order"])


def test_a_learner_that_was_started_learns_what_comes_first():
    frame, array, names = (quorate.from_spec(LEARNER).start([-1, 1]) for _ in range(3))
    frame.partial_fit(MIXED, Y)
    assert frame.to_bytes() == quorate.from_spec(LEARNER).fit(MIXED, Y).to_bytes()
    array.learn_one(np.ones(4), 1)
    names.learn_one({"a": 1.0}, 1)
    for learner, x in ((array, {"a": 1.0}), (array, {4: 1.0}), (names, np.ones(4))):
        with pytest.raises(ValueError, match="but this Cohort learned from"):
            learner.score_one(x)
    assert array.score_one({0: 1.0, "1": 1.0, 2: 1.0, 3: 1.0}) == array.score_one(np.ones(4))
    with pytest.raises(ValueError, match="features"):
        array.predict(np.ones((1, 5)))


def test_texts_are_a_column_called_text():
    texts = MIXED.note.tolist()
    model = quorate.from_spec(LEARNER).fit(texts, Y)
    margins = model.decision_function(texts).tolist()
    assert margins == model.decision_function(pd.DataFrame({"text": texts})).tolist()
    assert margins == [model.score_one({"text": text}) for text in texts]


def test_products_of_columns_that_are_all_numbers(quorate_in, tmp_path):
    """A matrix has no names to multiply by: a frame is read as the table that it is, an array is refused."""
    (tmp_path / "t.csv").write_text(files(NUMBERS)["csv"][1])
    quorate_in(tmp_path).ok("train", "--data", "t.csv", "--model", "m", "--learner", LEARNER, "--interactions", "a*b", "--quiet")
    expected = quorate.load(tmp_path / "m").decision_function(NUMBERS)
    model = quorate.from_spec(LEARNER, interactions="a*b").fit(NUMBERS, Y)
    assert model.decision_function(NUMBERS).tolist() == expected.tolist()
    assert [model.score_one(row) for row in dicts(NUMBERS)] == expected.tolist()
    with pytest.raises(ValueError, match=r"interactions='a\*b': expected a frame or dicts, whose features have names"):
        model.predict(NUMBERS.to_numpy())
