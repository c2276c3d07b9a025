"""Tables of mixed columns: quorate beside Vowpal Wabbit and scikit-learn's SGD; writes docs/tables.md.

    python3 research/tables.py --wisdm data/wisdm/all.csv --out docs/tables.md

Each table has users, texts of letters, categories, small counts and unscaled numbers; the columns that decide the label differ.
Quorate gets only the names of the label and of the user column. Vowpal Wabbit gets a namespace for each column, the user
as a feature, and the best test accuracy of four settings, chosen afterwards. scikit-learn's SGD gets standardised numbers,
one-hot categories and users, and TF-IDF. Needs bench/requirements.txt.
"""
import argparse
import csv
import io
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(n: int) -> str:
    """Word number n: letters alone, at least three."""
    out = ""
    for _ in range(3):
        n, letter = divmod(n, 26)
        out += LETTERS[letter]
    return out + ("" if n == 0 else word(n - 1))


def zipf(words: int, rng: random.Random):
    """Draws of words, the k-th as often as 1 / (k + 10)."""
    cumulative, total = [], 0.0
    for k in range(words):
        total += 1 / (k + 10)
        cumulative.append(total)
    return lambda k: rng.choices(range(words), cum_weights=cumulative, k=k)


def poisson(mean: float, rng: random.Random) -> int:
    n, left = 0, math.exp(-mean)
    p = rng.random()
    while p > left:
        p *= rng.random()
        n += 1
    return n


class Table:
    """Rows and the kinds of their columns, in order: user, label, and features."""

    def __init__(self, kinds: dict[str, str], rows: list[dict], *, train: int) -> None:
        self.kinds, self.train, self.test = kinds, rows[:train], rows[train:]


def texts(rng: random.Random, said: list[bool], length: int, signal: int, vocabulary: int = 3000) -> list[str]:
    """Texts of about `length` words, about `signal` of them words that one of the labels has more often."""
    draw, out = zipf(vocabulary, rng), []
    for y in said:
        n = max(1, poisson(length - signal, rng))
        words = [word(k) for k in draw(n)]
        words += [word(5000 + 2 * rng.randrange(60) + y) for _ in range(poisson(signal, rng))]
        rng.shuffle(words)
        out.append(" ".join(words) or "none")
    return out


def flipped(y: bool, share: float, rng: random.Random) -> bool:
    return y != (rng.random() < share)


def table(decides: str, length: int, seed: int, n: int = 3000, train: int = 2000) -> Table:
    """`decides`: count, category, numbers, text or all; the others are noise. Texts of about `length` words (0: none)."""
    rng = random.Random(f"{decides} {length} {seed}")
    labels = [rng.random() < 0.4 for _ in range(n)]
    every = decides == "all"
    weak = 0.3 if every else 0.04  # how often a column says the opposite
    rows = []
    subject = texts(rng, [flipped(y, weak / 2, rng) for y in labels], length, 3 if decides == "text" or every else 0) if length else [""] * n
    for i, y in enumerate(labels):
        count = min(8, poisson((4.5 if flipped(y, weak, rng) else 0.8) if decides == "count" or every else 2, rng))
        folder = ["inbox", "promo", "social", "lists"][
            (2 * rng.randrange(2) + flipped(y, weak, rng)) if decides == "category" or every else rng.randrange(4)]
        shift = (0.8 if every else 2) * (1 if y else -1) if decides == "numbers" or every else 0
        rows.append({"user": f"u{rng.randrange(20)}", "subject": subject[i], "folder": folder, "links": count,
                     "age": max(1, min(3000, round(math.exp(5 + 1.2 * (rng.gauss(0, 1) - 0.5 * shift))))),
                     "size": round(2e6 + 3e5 * (rng.gauss(0, 1) + 0.7 * shift)), "known": rng.randrange(2),
                     "rate": round(rng.gauss(0, 1), 3), "spam": int(y)})
    kinds = {"user": "task", "subject": "text", "folder": "category", "links": "number", "age": "number", "size": "number",
             "known": "number", "rate": "number", "spam": "label"}
    if not length:
        del kinds["subject"]
    return Table(kinds, rows, train=train)


def emails(seed: int, n: int = 3000, train: int = 2000) -> Table:
    """Subject line, category, small count, unscaled age: the words are the best features."""
    rng = random.Random(f"mails {seed}")  # words: kept, as the seed of the published table
    said, rows = [], []
    for _ in range(n):
        y = rng.random() < 0.4
        said.append((y, y != (rng.random() < 0.15)))
    subjects = texts(rng, [s for _, s in said], 7, 2)
    for (y, _), subject in zip(said, subjects, strict=True):
        folder = rng.choice(["inbox", "promo", "social"]) if rng.random() < 0.5 else "promo" if y else "inbox"
        age = rng.randint(1, 3000) if rng.random() < 0.6 else rng.randint(1, 400) if y else rng.randint(1000, 3000)
        rows.append({"user": f"u{rng.randrange(20)}", "subject": subject, "folder": folder,
                     "links": min(8, int(rng.expovariate(1 / (3 if y else 1)))), "age": age, "spam": int(y)})
    return Table({"user": "task", "subject": "text", "folder": "category", "links": "number", "age": "number", "spam": "label"},
                 rows, train=train)


def wisdm(path: Path, seed: int) -> Table:
    """Jogging and stairs or not, by user: 40 random rows of each to learn from, the others to test on."""
    rng = random.Random(seed)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    by_user: dict[str, list] = {}
    for row in rows:
        row = {k: v for k, v in row.items() if k != "id"}
        row["spam"] = int(row.pop("class") in ("Jogging", "Upstairs", "Downstairs"))
        by_user.setdefault(row["user"], []).append(row)
    train, test = [], []
    for of_user in by_user.values():
        rng.shuffle(of_user)
        train += of_user[:40]
        test += of_user[40:]
    rng.shuffle(train)
    kinds = {name: "task" if name == "user" else "label" if name == "spam" else "number" for name in train[0]}
    return Table(kinds, train + test, train=len(train))


def gaussians(seed: int, n: int = 3000, train: int = 2000) -> Table:
    """Ten features, one of them times 1,000."""
    rng = random.Random(f"gaussians {seed}")
    weights, rows = [rng.gauss(0, 1) for _ in range(10)], []
    for _ in range(n):
        x = [rng.gauss(0, 1) for _ in range(10)]
        rows.append({"user": f"u{rng.randrange(5)}"} | {f"f{i}": round(v * (1000 if i == 3 else 1), 4) for i, v in enumerate(x)} |
                    {"spam": int(sum(a * b for a, b in zip(weights, x)) > 0)})
    return Table({name: "task" if name == "user" else "label" if name == "spam" else "number" for name in rows[0]}, rows, train=train)


def accuracy(predicted: list[int], rows: list[dict]) -> float:
    return sum(p == r["spam"] for p, r in zip(predicted, rows, strict=True)) / len(rows)


def write(path: Path, kinds: dict, rows: list[dict], label: bool = True) -> None:
    with path.open("w", newline="") as f:
        names = [k for k in kinds if label or kinds[k] != "label"]
        out = csv.DictWriter(f, names, extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)


def of_quorate(program: str, t: Table, labels: int | None, learner: str | None = None) -> float:
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        write(at / "train.csv", t.kinds, t.train)
        write(at / "test.csv", t.kinds, t.test, label=False)
        args = [program, "train", "--data", at / "train.csv", "--label-column", "spam", "--task-column", "user", "--model", at / "m",
                "--quiet"]
        if learner or labels is None:
            args += ["--learner", learner or "cohort(query=always)"]
        if labels is not None:
            args += ["--labels", labels, "--pace", "even", "--length", len(t.train)]
        subprocess.run([str(a) for a in args], check=True, stdout=subprocess.DEVNULL)
        said = subprocess.run([program, "predict", "--data", at / "test.csv", "--model", at / "m", "--quiet"], check=True,
                              capture_output=True, text=True).stdout
    return accuracy([int(json.loads(line)["label"]) for line in said.splitlines()], t.test)


def vw_line(t: Table, row: dict, label: bool) -> str:
    parts = []
    for n, (name, kind) in enumerate(t.kinds.items()):
        value, space = row.get(name), LETTERS[n % 26] if n < 26 else f"n{n}"
        if kind == "text":
            parts.append(f"|{space} {value}")
        elif kind in ("task", "category"):
            parts.append(f"|{space} {name}_{value}")
        elif kind == "number" and value not in ("?", ""):
            parts.append(f"|{space} {name}:{value}")
    return f"{(1 if row['spam'] else -1) if label else ''} {' '.join(parts)}"


VW = ("", "--loss_function logistic", "--loss_function logistic -q a:", "--loss_function hinge")


def of_vw(t: Table, rows: list[dict], held_out: bool) -> float:
    """Accuracy of the setting that is best on the test rows or, held_out, on the last fifth of `rows` after the others."""
    import vowpalwabbit

    def after(options: str, rows: list[dict], test: list[dict]) -> float:
        vw = vowpalwabbit.Workspace(f"--quiet {options}")
        for row in rows:
            vw.learn(vw_line(t, row, True))
        found = accuracy([int(vw.predict(vw_line(t, row, False)) > 0) for row in test], test)
        vw.finish()
        return found

    if not held_out:
        return max(after(options, rows, t.test) for options in VW)
    cut = len(rows) * 4 // 5
    return after(max(VW, key=lambda options: after(options, rows[:cut], rows[cut:])), rows, t.test)


def of_sklearn(t: Table, rows: list[dict]) -> float:
    import pandas
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    names = {kind: [k for k, v in t.kinds.items() if v == kind] for kind in ("number", "category", "text", "task")}
    both = [pandas.DataFrame(part)[[k for k in t.kinds]] for part in (rows, t.test)]
    for frame in both:
        for name in names["number"]:
            frame[name] = pandas.to_numeric(frame[name], errors="coerce")
    parts = [("w", OneHotEncoder(handle_unknown="ignore"), names["category"] + names["task"])]
    if names["number"]:
        parts.append(("n", make_pipeline(SimpleImputer(), StandardScaler()), names["number"]))
    parts += [(name, TfidfVectorizer(), name) for name in names["text"]]
    model = make_pipeline(ColumnTransformer(parts), SGDClassifier(random_state=1))
    model.fit(both[0], both[0]["spam"])
    return accuracy([int(p) for p in model.predict(both[1])], t.test)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", default="build/release/quorate")
    p.add_argument("--wisdm", type=Path, help="data/wisdm/all.csv")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--only", help="tables whose name has this in it")
    p.add_argument("--no-peers", action="store_true")
    p.add_argument("--held-out", action="store_true", help="Vowpal Wabbit's setting is chosen on rows to learn from")
    p.add_argument("--learner", help="instead of cohort; with query=always where it gets all labels")
    p.add_argument("--out", type=Path)
    p.add_argument("--smallest", action="store_true", help="one draw of one table: does it run at all")
    o = p.parse_args()
    if o.smallest:
        o.runs, o.only = 1, "emails"
    tables = {"emails": emails}
    for length in (0, 9, 134):
        for decides in ("count", "category", "numbers", "text", "all"):
            if length or decides != "text":
                tables[f"{decides} decides, " + (f"{length} words" if length else "no text")] = \
                    lambda seed, d=decides, n=length: table(d, n, seed)
    tables["ten Gaussians, one times 1,000"] = gaussians
    if o.wisdm:
        tables["wisdm, moving"] = lambda seed: wisdm(o.wisdm, seed)
    heads = ["quorate, all", "quorate, a tenth"] + ([] if o.no_peers else ["VW, all", "VW, a tenth", "SGD, all", "SGD, a tenth"])
    lines = ["| table | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    print("\n".join(lines), flush=True)
    for name, make in tables.items():
        if o.only and o.only not in name:
            continue
        found = []
        for seed in range(1, o.runs + 1):
            t = make(seed)
            tenth = random.Random(seed).sample(t.train, len(t.train) // 10)
            always = (o.learner[:-1] + ",query=always)" if o.learner.endswith(")") else f"{o.learner}(query=always)") if o.learner else None
            row = [of_quorate(o.program, t, None, always), of_quorate(o.program, t, len(tenth), o.learner)]
            if not o.no_peers:
                row += [of_vw(t, t.train, o.held_out), of_vw(t, tenth, o.held_out), of_sklearn(t, t.train), of_sklearn(t, tenth)]
            found.append(row)
        means = [statistics.mean(column) for column in zip(*found)]
        errors = [statistics.stdev(column) / math.sqrt(len(column)) if len(column) > 1 else 0 for column in zip(*found)]
        lines.append(f"| {name} | " + " | ".join(f"{m:.3f} +- {e:.3f}" for m, e in zip(means, errors)) + " |")
        print(lines[-1], flush=True)
    if o.out:
        text = o.out.read_text()
        begin, end = "<!-- research/tables.py -->\n", "<!-- end -->"
        o.out.write_text(text[:text.index(begin) + len(begin)] + "\n" + "\n".join(lines) + "\n" + text[text.index(end):])


if __name__ == "__main__":
    sys.exit(main())
