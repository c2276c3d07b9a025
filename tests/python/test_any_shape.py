"""One table, written as CSV in many dialects, as JSON lines in several shapes and held in frames of several types: the same model, with
the same margins and the same labels bought, or a refusal that says why."""

import csv
import io
import json
import random
from functools import cache, partial

import pytest
from program import one_in

NUMBERS = ("unit price", "sender.balance", "sender.hops")
COLUMNS = ("who", *NUMBERS, "open", "colour", "note", "code", "spam")
ROLES = ("--task-column", "who", "--label-column", "spam")
LEARNERS = "cohort(query=always)", "cohort"  # of the seeds 0 to 3 and 4 to 7
WORDS = 'hello my order; arrived "late" refund, please? now error 503 404 caf\u00e9 na\u00efve a|b C:\\temp it\'s offer 50 % - (old) "win"'.split(" ")


@cache
def table(seed):  # rows by column, each value as Python has it; None is missing
    r, decimals, missing, rows = random.Random(seed), 1 + seed % 3, (0, 0.04, 0.12)[seed // 3], []
    for n in range(r.randint(60, 100)):
        row = {
            "who": r.choice(("ann", "bob", "Zo\u00eb")),
            "unit price": 12345.5 if n == 7 else round(r.choice((1, 1, -1)) * 10 ** r.uniform(-1, 5), decimals),
            "sender.balance": round(r.gauss(0, 3000), 2),
            "sender.hops": r.choice((r.randint(0, 9), r.randint(0, 20000))),
            "open": r.random() < 0.5,
            "colour": r.choice(("red", "deep blue", "cr\u00e8me br\u00fbl\u00e9e", "black, white")),
            "note": r.choice((" ", " ", "\n")).join(r.choices(WORDS, k=r.randint(5, 9))),
            "code": r.choice(("0815", "0042", "4711", "0007", "0000", "123")),
        }
        spam = (row["unit price"] > 50) + row["open"] + (row["colour"] == "red") + ("refund," in row["note"]) + r.gauss(0, 0.5) > 1.5
        rows.append({k: None if k != "who" and r.random() < missing else v for k, v in row.items()} | {"spam": "yes" if spam else "no"})
    return rows


def written(number, point=".", thousands="", positive="{}", negative="-{}"):
    whole, _, decimals = str(abs(number)).partition(".")
    return (negative if number < 0 else positive).format(f"{int(whole):,}".replace(",", thousands) + (point + decimals if decimals else ""))


GERMAN, ENGLISH = partial(written, point=",", thousands="."), partial(written, thousands=",")
TYPESET, DOLLARS = partial(written, thousands="\u202f", negative="\u2212{}"), partial(written, positive="${}", negative="(${})")


def csv_of(rows, delimiter=",", number=str, missing="", no_note="", quote='""', begin="", end="\n", header=True):
    def field(name, value):
        write, none = number if name in NUMBERS else str, no_note if name == "note" else missing
        text = none if value is None else value if isinstance(value, str) else write(+value)
        if not quote:  # around fields; else what a quote is inside of quotes
            return text.replace("\n", " ")
        inside = (text.replace("\\", "\\\\") if "\\" in quote else text).replace('"', quote)
        return f'"{inside}"' if any(c in text for c in delimiter[0] + '"\n\\') else text

    lines = [dict(zip(COLUMNS, COLUMNS))] * header + rows
    return begin + "".join(delimiter.join(field(name, row[name]) for name in COLUMNS) + end for row in lines)


DIALECTS = {  # how it is written, its encoding, and the options to read it
    "german typeset": ({"delimiter": ";", "number": partial(GERMAN, negative="\u2212{}")}, "utf-8", ()),
    "german by options": ({"delimiter": ";", "number": GERMAN}, "utf-8", ("--decimal", ",", "--thousands", ".")),
    "english in quotes": ({"number": ENGLISH}, "utf-8-sig", ()),
    "typeset": ({"number": TYPESET, "missing": "N/A"}, "utf-8", ()),
    "accounts": ({"delimiter": "|", "number": partial(DOLLARS, thousands=","), "missing": "?"}, "utf-8", ()),
    "tab without quotes": ({"delimiter": "\t", "quote": "", "missing": "\\N"}, "utf-8", ("--quote", "none")),
    "tab": ({"delimiter": "\t", "missing": "null", "number": partial(written, point=",")}, "utf-8", ()),
    "spreadsheet": ({"delimiter": ";", "begin": "sep=;\r\n", "end": "\r\n", "number": GERMAN, "missing": "#N/A"}, "utf-16", ()),
    "pipe and spaces": ({"delimiter": "| ", "missing": "NaN"}, "utf-8", ()),
    "latin-1": ({"delimiter": ";", "missing": "NA"}, "latin-1", ("--encoding", "latin-1")),
    "escapes": ({"quote": '\\"', "missing": "<NA>"}, "utf-8", ("--escape", "\\")),
    "delimiter at the end": ({"end": ",\r\n", "missing": "None"}, "utf-8", ()),
    "dashes": ({"missing": "-", "no_note": "none"}, "utf-8", ("--missing", "-,none")),
    "no header": ({"header": False}, "utf-8", ("--header", ",".join(COLUMNS))),
    "missing notes": ({"missing": "NA", "no_note": "NA"}, "utf-8", ()),
}


class Trained:  # a file, its model, and how many labels that bought
    def __init__(self, program, seed, name, data, options=(), piped=False):
        (program.folder / name).write_bytes(data)
        self.program, self.run, self.model = program, partial(program.ok, stdin=data if piped else b""), ("--model", f"{name}.model")
        self.data = (*(("--data", "-", "--format", "csv") if piped else ("--data", name)), *options)
        self.labels = self.run("train", *self.data, *self.model, "--learner", LEARNERS[seed // 4], *ROLES, "--json").json()["report"]["labels"]["answered"]

    def of(self, other):  # this model's predictions of another's file
        return other.run("predict", *other.data, *self.model, "--to", "csv").out


@pytest.fixture(scope="module")
def plain(quorate_in, tmp_path_factory):
    def made(seed):  # the table in RFC 4180 with its model, and what that predicts of it
        reference = Trained(quorate_in(tmp_path_factory.mktemp("table")), seed, "plain.csv", csv_of(table(seed)).encode())
        return reference, reference.of(reference)

    return cache(made)


def margins(predicted):
    return [float(row["margin"]) for row in csv.DictReader(io.StringIO(predicted))]


def check_file(plain, seed, name, data, options=(), exact=True):  # to the byte; keys in another order are summed in another order
    reference, expected = plain(seed)
    trained = Trained(reference.program, seed, name, data, options)
    assert trained.labels == reference.labels and len(set(margins(expected))) > 50
    for found in (trained.of(reference), reference.of(trained)):
        assert found == expected if exact else margins(found) == pytest.approx(margins(expected), rel=0, abs=1e-12)


@pytest.mark.parametrize(("dialect", "seed"), one_in(2, DIALECTS, range(8)))
def test_csv(plain, dialect, seed):
    how, encoding, options = DIALECTS[dialect]
    check_file(plain, seed, f"{dialect}.csv", csv_of(table(seed), **how).encode(encoding), options)


@pytest.mark.parametrize("dialect", ["english in quotes", "tab", "spreadsheet"])
def test_csv_in_a_pipe(plain, dialect):
    (how, encoding, _), (reference, expected) = DIALECTS[dialect], plain(2)
    piped = Trained(reference.program, 2, f"{dialect} piped", csv_of(table(2), **how).encode(encoding), piped=True)
    assert piped.of(piped) == piped.of(reference) == expected


@pytest.mark.parametrize("dialect", ["tab without quotes", "latin-1", "escapes", "dashes", "no header"])
def test_csv_without_its_options(quorate, dialect):
    how, encoding, _ = DIALECTS[dialect]
    (quorate.folder / "t.csv").write_bytes(csv_of(table(3), **how).encode(encoding))
    done = quorate("train", "--data", "t.csv", "--model", "m", *ROLES)
    assert done.code == 1 and "t.csv:" in done.err and "; expected " in done.err, done.err


def reshaped(row, number=None, missing="NA", absent=False, shuffled=False, nested=False):
    keys, out = random.Random(str(row)).sample(COLUMNS, len(COLUMNS)) if shuffled else COLUMNS, {}
    for key in keys if not absent else [key for key in keys if row[key] is not None]:
        outer, _, inner = key.rpartition(".") if nested else ("", "", key)
        value = row[key] if number is None or key not in NUMBERS else missing if row[key] is None else number(row[key])
        (out.setdefault(outer, {}) if outer else out)[inner] = value
    return out


SHAPES = {
    "plain": {},
    "strings": {"number": str},  # in which "NA" is missing; in strings of words it is a word
    "typeset strings": {"number": TYPESET, "missing": "N/A"},
    "dollars in strings": {"number": DOLLARS, "missing": "?"},
    "nested": {"nested": True},
    "absent": {"absent": True},
    "shuffled": {"number": str, "missing": "", "shuffled": True},
    "all of these": {"number": str, "absent": True, "shuffled": True, "nested": True},
}


@pytest.mark.parametrize(("shape", "seed"), one_in(2, SHAPES, range(8)))
def test_json_lines(plain, shape, seed):
    lines = "".join(json.dumps(reshaped(row, **SHAPES[shape]), ensure_ascii=seed % 4 < 2) + "\n" for row in table(seed))
    check_file(plain, seed, f"{shape}.jsonl", lines.encode(), exact=SHAPES[shape].keys().isdisjoint({"absent", "shuffled"}))


FRAMES = {  # of the columns, of a frame of pandas, of what CSV has
    "converted": lambda columns, made, text: made.convert_dtypes(),
    "objects": lambda columns, made, text: made.astype(object).where(made.notna(), None),
    "categories": lambda columns, made, text: made.astype({"colour": "category", "code": "category"}),
    "strings": lambda columns, made, text: pytest.importorskip("pandas").read_csv(text, dtype=str).drop(columns="spam"),
    "arrow": lambda columns, made, text: pytest.importorskip("pyarrow").table(columns),
    "arrow types": lambda columns, made, text: made.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda columns, made, text: pytest.importorskip("polars").DataFrame(columns),
}


def frame(form, seed):
    columns = {name: [row[name] for row in table(seed)] for name in COLUMNS[:-1]}
    made = pytest.importorskip("pandas").DataFrame(columns)
    return made if form == "pandas" else FRAMES[form](columns, made, io.StringIO(csv_of(table(seed))))


@cache
def fitted(form, seed):
    learner = pytest.importorskip("quorate").from_spec(LEARNERS[seed // 4], task_column="who")
    return learner.fit(frame(form, seed), [row["spam"] for row in table(seed)])


@pytest.mark.parametrize(("form", "seed"), one_in(2, FRAMES, range(8)))
def test_frame(form, seed):
    model, reference, held = fitted(form, seed), fitted("pandas", seed), frame("pandas", seed)
    assert model.n_labels_ == reference.n_labels_ and model.to_bytes() == reference.to_bytes()
    assert (model.decision_function(held) == reference.decision_function(held)).all()
    assert (reference.decision_function(frame(form, seed)) == reference.decision_function(held)).all()


@pytest.mark.parametrize("seed", range(8))
def test_frame_is_as_the_file(plain, seed):
    (file, predicted), model, held = plain(seed), fitted("pandas", seed), frame("pandas", seed)
    model.save(file.program.folder / "frame.model")
    of_file = pytest.importorskip("quorate").load(file.program.folder / file.model[1])
    of_frame = file.run("predict", *file.data, "--model", "frame.model", "--label-column", "spam", "--to", "csv").out
    assert model.n_labels_ == file.labels
    for found in (margins(of_frame), of_file.decision_function(held).tolist(), model.decision_function(held).tolist()):
        assert found == pytest.approx(margins(predicted), rel=0, abs=1e-12)
