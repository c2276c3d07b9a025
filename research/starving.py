"""Does a run starve, and do its probabilities hold? The tables of docs/decisions/cohort.md, "Runs that starve", and its figures of
calibration.

    python3 research/starving.py [--runs 100] [--seed 1] [--learner cohort] [--only spam-b,sitting] [--json FILE]
    python3 research/starving.py --calibration [--runs 20]

Prints Markdown. Of each set, with defaults and with a label budget: labels bought, mean, worst run, runs more than ten points below
the mean; with --calibration the expected calibration error with 100, 300 and 1,000 labels spread evenly. Run r splits and orders a
set by the seed `seed + r`, as `quorate simulate` does. Needs the release program, and the data sets in SETS that `./run data NAME`
makes; tables that are generated, and those of other packages, are written to data/starving. A set that is not there is left out.
"""

import argparse
import csv
import json
import lzma
import math
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUORATE = ROOT / "build/release/quorate"
DATA = ROOT / "data"
MADE = DATA / "starving"
WISDM = Path(os.environ.get("QUORATE_DATA", ROOT.parent / "shared/data")) / "wisdm/wisdm.csv.xz"
LABELS = (100, 300, 1000)  # of the calibration table


def wisdm(name, answer):
    """The movement data as they are, one column for the answer; answer(activity) is a class, or 1 or -1."""

    def make(path):
        with lzma.open(WISDM, "rt", newline="") as source, path.open("w", newline="") as out:
            rows = csv.reader(source)
            head = next(rows)
            user, activity = head.index("user"), head.index("class")
            numbers = [i for i in range(len(head)) if i not in (head.index("id"), user, activity)]
            write = csv.writer(out, lineterminator="\n")
            write.writerow(["label", "task", *(head[i] for i in numbers)])
            for row in rows:
                write.writerow([answer(row[activity]), f"u{row[user]}", *(row[i] for i in numbers)])

    return f"starving/wisdm-{name}.csv", make


def gaussians(name, flipped, features=10, tasks=1, rows=3000, positives=0.5):
    """Points labelled by a plane without noise, and a share of the labels flipped."""

    def make(path):
        rng = random.Random(name)
        normal = [rng.gauss(0, 1) for _ in range(features)]
        long = sum(v * v for v in normal) ** 0.5
        bound = statistics.NormalDist().inv_cdf(1 - positives)
        with path.open("w", newline="") as out:
            write = csv.writer(out, lineterminator="\n")
            write.writerow(["label", "task", *(f"f{i}" for i in range(features))])
            for _ in range(rows):
                x = [rng.gauss(0, 1) for _ in range(features)]
                y = sum(a * b for a, b in zip(normal, x)) / long > bound
                if rng.random() < flipped:
                    y = not y
                write.writerow([1 if y else -1, f"t{rng.randrange(tasks)}", *(f"{v:.6g}" for v in x)])

    return f"starving/{name}.csv", make


def weak(name, strength, offset, features=10, rows=4000):
    """Gaussians with log-odds of a plane and an offset: the features determine few of the labels."""

    def make(path):
        rng = random.Random(name)
        normal = [rng.gauss(0, 1) for _ in range(features)]
        long = sum(v * v for v in normal) ** 0.5
        with path.open("w", newline="") as out:
            write = csv.writer(out, lineterminator="\n")
            write.writerow(["label", "task", *(f"f{i}" for i in range(features))])
            for _ in range(rows):
                x = [rng.gauss(0, 1) for _ in range(features)]
                odds = offset + strength * sum(a * b for a, b in zip(normal, x)) / long
                write.writerow([1 if rng.random() < 1 / (1 + math.exp(-odds)) else -1, "t", *(f"{v:.6g}" for v in x)])

    return f"starving/{name}.csv", make


def emails(name, said_else, words_of_class):
    """Emails as a table: a subject, a folder, a number of links, an age in minutes; the words are the best features."""

    def make(path):
        rng = random.Random(name)
        words = [f"w{i}" for i in range(400)]
        with path.open("w", newline="") as out:
            write = csv.writer(out, lineterminator="\n")
            write.writerow(["user", "subject", "folder", "links", "age", "spam"])
            for _ in range(4000):
                spam = rng.random() < 0.4
                said = spam != (rng.random() < said_else)
                subject = rng.choices(words, k=7 - words_of_class)
                subject += rng.choices(["free", "win", "money", "offer"] if said else ["meeting", "report", "lunch"], k=words_of_class)
                rng.shuffle(subject)
                folder = rng.choice(["inbox", "promo", "social"]) if rng.random() < 0.5 else "promo" if spam else "inbox"
                age = rng.randint(1, 3000) if rng.random() < 0.6 else rng.randint(1, 400) if spam else rng.randint(1000, 3000)
                links = min(8, int(rng.expovariate(1 / (3 if spam else 1))))
                write.writerow([f"u{rng.randrange(20)}", " ".join(subject), folder, links, age, int(spam)])

    return f"starving/{name}.csv", make


def few_positives(path):
    """spam B, 5 % of it positive: of each user all 200 others and ten emails of spam."""
    kept: dict[str, int] = {}
    with path.open("w") as out:
        for line in (DATA / "spam-b/all.svm").read_text().splitlines(keepends=True):
            label, task, _ = line.split(" ", 2)
            if label == "+1":
                kept[task] = kept.get(task, 0) + 1
            if label != "+1" or kept[task] <= 10:
                out.write(line)


def breast_cancer(path):
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    with path.open("w", newline="") as out:
        write = csv.writer(out, lineterminator="\n")
        write.writerow(["label", *(f"f{i}" for i in range(data.data.shape[1]))])
        write.writerows([y, *x] for x, y in zip(data.data.tolist(), data.target.tolist()))


def river(name):
    def make(path):
        import river.datasets

        rows = list(getattr(river.datasets, name)())
        with path.open("w", newline="") as out:
            write = csv.writer(out, lineterminator="\n")
            write.writerow(["label", *rows[0][0]])
            write.writerows([y if isinstance(y, str) else int(y), *x.values()] for x, y in rows)

    return f"starving/{name}.csv", make


FORTY, HALF = ("--train-per-task", "40"), ("--test-share", "0.5")
PLAIN = ("--label-column", "label", "--task-column", "task")
REST = ("--classes", "one-vs-rest")

# Name -> title, (file, what makes it, or None), options, measure, label budget.
SETS = {
    "spam-b": ("spam B", ("spam-b/all.svm", None), ("--train-per-task", "100"), "accuracy", 150),
    "reviews": ("reviews", ("sentiment/all.svm", None), ("--train-per-task", "500"), "accuracy", 200),
    "news": ("news", ("news/train.vw", None), ("--test", "news/test.vw"), "accuracy", 226),
    "landmine": ("landmine (AUC)", ("landmine/all.csv", None), ("--train-per-task", "160"), "auc", 464),
    "school": ("school (AUC)", ("school/all.csv", None), HALF, "auc", 700),
    "spam-a": ("spam A", ("spam-a/all.svm", None), ("--train-per-task", "500"), "accuracy", 150),
    "moving": ("wisdm, moving", wisdm("moving", lambda a: 1 if a in ("Jogging", "Upstairs", "Downstairs") else -1),
               (*PLAIN, *FORTY), "accuracy", 144),
    "walking": ("wisdm, walking", wisdm("walking", lambda a: 1 if a == "Walking" else -1), (*PLAIN, *FORTY), "accuracy", 144),
    "sitting": ("wisdm, sitting (balanced)", wisdm("sitting", lambda a: 1 if a == "Sitting" else -1),
                (*PLAIN, *FORTY), "balanced_accuracy", 144),
    "sitting-cost": ("the same, cost=balanced", ("starving/wisdm-sitting.csv", None), (*PLAIN, *FORTY), "balanced_accuracy", 144),
    "jogging": ("wisdm, jogging", wisdm("jogging", lambda a: 1 if a == "Jogging" else -1), (*PLAIN, *FORTY), "accuracy", 144),
    "gaussians": ("ten Gaussians", gaussians("gaussians", 0), (*PLAIN, *HALF), "accuracy", 150),
    "flipped": ("ten Gaussians, 15 % of labels flipped", gaussians("flipped", 0.15), (*PLAIN, *HALF), "accuracy", 150),
    "weak": ("ten Gaussians that say little, 70 % positives", weak("weak", 0.6, 0.9), (*PLAIN, *HALF), "accuracy", 200),
    "rare": ("thirty Gaussians, 2 % positives (balanced)", gaussians("rare", 0, 30, 10, 10000, 0.02), (*PLAIN, *HALF),
             "balanced_accuracy", 500),
    "rare-cost": ("the same, cost=balanced", ("starving/rare.csv", None), (*PLAIN, *HALF), "balanced_accuracy", 500),
    "emails": ("emails as a table", emails("emails", 0.05, 3), ("--label-column", "spam", "--task-column", "user", *HALF),
               "accuracy", 200),
    "vague": ("emails as a table, words that say less", emails("vague", 0.15, 2),
              ("--label-column", "spam", "--task-column", "user", *HALF), "accuracy", 200),
    "phishing": ("River's Phishing", river("Phishing"), HALF, "accuracy", 60),
    "cancer": ("scikit-learn's breast cancer", ("starving/cancer.csv", breast_cancer), HALF, "accuracy", 30),
    "few": ("spam B, 5 % positives (balanced)", ("starving/few.svm", few_positives), HALF, "balanced_accuracy", 160),
    "few-cost": ("the same, cost=balanced", ("starving/few.svm", None), HALF, "balanced_accuracy", 160),
    "digits": ("scikit-learn's digits, ten tasks", ("digits/all.svm", None), ("--train-per-task", "100"), "accuracy", 100),
    "users": ("wisdm, six classes, with users", wisdm("classes", lambda a: a), (*PLAIN, *HALF, *REST), "accuracy", 1600),
    "speakers": ("vowels, with users", ("vowel/train.csv", None), ("--test", "vowel/test.csv", *REST), "accuracy", 580),
    "segments": ("River's image segments", river("ImageSegments"), (*HALF, *REST), "accuracy", 800),
    "vowel": ("vowels", ("vowel/train.csv", None), ("--test", "vowel/test.csv", *REST, "--no-users"), "accuracy", 580),
    "usps": ("USPS", ("usps/train.svm", None), ("--test", "usps/test.svm", *REST), "accuracy", 2000),
}  # fmt: skip


def simulated(name, learner, o, *options):
    """Every run's measures, or None if the set is not there."""
    _, (file, make), given, _, _ = SETS[name]
    path = DATA / file
    if make is not None and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            make(path)
        except (ImportError, FileNotFoundError, LookupError):
            path.unlink(missing_ok=True)
    if not path.exists():
        return None
    test = [DATA / a if before == "--test" else a for before, a in zip([None, *given], given)]
    command = [o.quorate, "simulate", "--data", path, *test, "--learner", learner, "--runs", o.runs, "--seed", o.seed, "--json", "--quiet",
               *options]  # fmt: skip
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["runs"]


def row(name, learner, o):
    title, _, _, measure, budget = SETS[name]
    if name.endswith("-cost"):
        learner = learner[:-1] + ", cost=balanced)" if learner.endswith(")") else learner + "(cost=balanced)"
    parts, kept = [], {}
    for limit in (None, budget):
        runs = simulated(name, learner, o, *([] if limit is None else ["--labels", limit]))
        if runs is None:
            return None
        values = [run[measure] for run in runs]
        mean = statistics.mean(values)
        below = sum(value < mean - 0.1 for value in values)
        labels = statistics.mean(run["labels"] for run in runs)
        parts += [f"{labels:,.0f}", f"{mean:.3f}", f"{min(values):.3f}", str(below)]
        kept["default" if limit is None else "labels"] = {"values": values, "labels": labels}
    return f"| {title} | " + " | ".join(parts) + " |", kept


def calibration(name, learner, o):
    parts, kept = [], {}
    for labels in LABELS:
        runs = simulated(name, learner, o, "--labels", labels, "--pace", "even")
        if runs is None or "calibration_error" not in runs[0]:
            return None
        values = [run["calibration_error"] for run in runs]
        bought = statistics.mean(run["labels"] for run in runs)
        kept[labels] = {"values": values, "labels": bought}
        parts.append(f"{statistics.mean(values):.3f}" if bought > 0.9 * labels else "")
    return f"| {SETS[name][0]} | " + " | ".join(parts) + " |", kept


def main():
    parser = argparse.ArgumentParser(description="Do runs starve, and do probabilities hold? Markdown.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the others follow")
    parser.add_argument("--learner", default="cohort")
    parser.add_argument("--only", default=",".join(SETS), help="sets, as spam-b,sitting")
    parser.add_argument("--calibration", action="store_true", help="the other table")
    parser.add_argument("--quorate", type=Path, default=QUORATE, help="the program")
    parser.add_argument("--smallest", action="store_true", help="one run of two sets: does it run at all")
    parser.add_argument("--json", type=Path, help="every run's values, to compare programs split by split")
    o = parser.parse_args()
    if o.smallest:
        o.runs, o.only = 1, "spam-b,gaussians"
    head = ["set", *(f"{n:,} labels" for n in LABELS)] if o.calibration else [
        "set", "labels", "mean", "worst", "below by ten points", "labels at most", "mean", "worst", "below by ten points"]  # fmt: skip
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)
    found = {}
    for name in o.only.split(","):
        if o.calibration and name.endswith("-cost"):
            continue
        result = (calibration if o.calibration else row)(name, o.learner, o)
        if result is None:
            print(f"starving: {name} left out", file=sys.stderr)
            continue
        print(result[0], flush=True)
        found[name] = result[1]
    if o.json:
        o.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
