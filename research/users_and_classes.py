"""Users and classes at once on wisdm, beside Vowpal Wabbit's one-against-all; and what users and classes cost.

    python3 research/users_and_classes.py --wisdm data/wisdm/all.csv
    python3 research/users_and_classes.py --cost

Six activities of 36 people: 40 random rows of each to learn from, the others to test on, every label bought. Vowpal Wabbit
gets the user as a feature, the numbers as they are or standardised, and settings of loss, learning rate, passes and crosses of
users (-q): once those that are best for the last 10 of the 40 rows after learning the first 30, once those that are best on
average on the test rows, chosen afterwards. The cost: rows of 20 values, of 10 or 10,000 users and 3 to 12 classes.
Needs bench/requirements.txt.
"""
import argparse
import csv
import itertools
import json
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

Row = dict[str, str]
PLAIN, CROSSED = "", "-q ux"
VW = list(itertools.product((False, True), ("squared", "logistic"), (PLAIN, CROSSED), (0.1, 0.5), (1, 5, 20)))


def split(rows: list[Row], seed: int) -> tuple[list[Row], list[Row], list[Row]]:
    """30 rows of each user, 10 more, and the others, in random order."""
    rng = random.Random(seed)
    by_user: dict[str, list[Row]] = {}
    for row in rows:
        by_user.setdefault(row["user"], []).append(row)
    parts: tuple[list[Row], ...] = ([], [], [])
    for of_user in by_user.values():
        rng.shuffle(of_user)
        for part, begin, end in zip(parts, (0, 30, 40), (30, 40, None)):
            part.extend(of_user[begin:end])
    for part in parts:
        rng.shuffle(part)
    return parts


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="") as f:
        out = csv.DictWriter(f, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def of_quorate(program: str, train: list[Row], test: list[Row], *options: str, classes: str = "one-vs-rest", passes: int = 1) -> float:
    with tempfile.TemporaryDirectory() as name:
        at = Path(name)
        write(at / "train.csv", train)
        write(at / "test.csv", test)
        for _ in range(passes):
            subprocess.run([program, "train", "--data", at / "train.csv", "--model", at / "m", "--classes", classes, "--task-column",
                            "user", "--label-column", "class", "--learner", "cohort(query=always)", "--quiet", *options], check=True)
        said = subprocess.run([program, "evaluate", "--model", at / "m", "--data", at / "test.csv", "--json"], check=True,
                              capture_output=True).stdout
        return json.loads(said)["measures"]["accuracy"]["value"]


def vw_lines(rows: list[Row], seen: list[Row], standardise: bool) -> list[str]:
    """The rows' features; numbers in standard units of `seen` or as they are, missing ones left out."""
    names = [k for k in rows[0] if k not in ("user", "class")]
    units = dict.fromkeys(names, (0.0, 1.0))
    if standardise:
        for k in names:
            values = [float(row[k]) for row in seen if row[k] not in ("?", "")]
            units[k] = (statistics.mean(values), statistics.pstdev(values) or 1.0)
    shown = lambda row, k: f"{k}:{(float(row[k]) - units[k][0]) / units[k][1]:.6g}"
    return [f"|u {row['user']} |x " + " ".join(shown(row, k) for k in names if row[k] not in ("?", "")) for row in rows]


def of_vw(setting: tuple, classes: list[str], train: list[Row], test: list[Row]) -> float:
    import vowpalwabbit
    standardise, loss, crosses, rate, passes = setting
    vw = vowpalwabbit.Workspace(f"--quiet --oaa {len(classes)} --loss_function {loss} -l {rate} {crosses}")
    lines = [f"{classes.index(row['class']) + 1} {line}" for row, line in zip(train, vw_lines(train, train, standardise), strict=True)]
    examples = [vw.parse(line) for line in lines]
    for _ in range(passes):
        for example in examples:
            vw.learn(example)
    for example in examples:
        vw.finish_example(example)
    predicted = [classes[int(vw.predict(line)) - 1] for line in vw_lines(test, train, standardise)]
    vw.finish()
    return sum(p == row["class"] for p, row in zip(predicted, test, strict=True)) / len(test)


def mean(values: list[float]) -> str:
    return f"{statistics.mean(values):.3f} +- {statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0:.3f}"


def accuracies(o: argparse.Namespace) -> None:
    rows = [{k: v for k, v in row.items() if k != "id"} for row in csv.DictReader(o.wisdm.open())]
    classes = sorted({row["class"] for row in rows})
    found: dict[str, list[float]] = {}
    vw: dict[tuple, list[float]] = {setting: [] for setting in VW}
    for seed in range(1, o.runs + 1):
        early, late, test = split(rows, seed)
        train = early + late
        random.Random(seed).shuffle(train)
        found.setdefault("with users", []).append(of_quorate(o.program, train, test))
        for reduction, passes in (("one-vs-rest", 2), ("one-vs-rest", 5), ("one-vs-one", 1), ("one-vs-one", 2), ("one-vs-one", 5)):
            name = f"with users, {reduction}, learned {passes} times"
            found.setdefault(name, []).append(of_quorate(o.program, train, test, classes=reduction, passes=passes))
        found.setdefault("without users", []).append(of_quorate(o.program, train, test, "--no-users"))
        if o.no_peers:
            continue
        for setting in VW:
            vw[setting].append(of_vw(setting, classes, train, test))
        held_out = {s: of_vw(s, classes, early, late) for s in VW}
        for name, crosses in (("VW --oaa 6 -q ux", CROSSED), ("VW --oaa 6", PLAIN)):
            for most in (1, 20):
                best = max((s for s in VW if s[2] == crosses and s[4] <= most), key=lambda s: held_out[s])
                found.setdefault(f"{name}, {'one pass' if most == 1 else 'up to 20 passes'}, chosen on 10 of the 40 rows", []).append(vw[best][-1])
    if not o.no_peers:
        for most in (1, 20):
            setting = max((s for s in VW if s[4] <= most), key=lambda s: statistics.mean(vw[s]))
            found["VW --oaa 6, chosen afterwards: standardised {}, loss {}, {} -l {}, {} passes".format(*setting)] = vw[setting]
    for name, values in found.items():
        ahead = [a - b for a, b in zip(found["with users"], values, strict=True)]
        print(f"{mean(values)}  users ahead by {mean(ahead)}  {name}", flush=True)


def cost(o: argparse.Namespace) -> None:
    for classes, users in itertools.product((3, 6, 12), (10, 10_000)):
        rng = random.Random(1)
        with tempfile.TemporaryDirectory() as name:
            at = Path(name)
            with (at / "a.svm").open("w") as f:
                for _ in range(o.rows):
                    c = rng.randrange(classes)
                    places = sorted(rng.sample(range(1, 1000), 19)) + [1000 + c]
                    f.write(f"{c} qid:{rng.randrange(users)} " + " ".join(f"{i}:1" for i in places) + "\n")
            took = []
            for _ in range(3):
                begin = time.perf_counter()
                subprocess.run([o.program, "train", "--data", at / "a.svm", "--model", at / "m", "--classes", "one-vs-rest", "--learner",
                                o.learner, "--quiet"], check=True)
                took.append(time.perf_counter() - begin)
                size = (at / "m").stat().st_size
                (at / "m").unlink()
            us = statistics.median(took) / o.rows * 1e6
            print(f"{classes:3} classes {users:6} users: {us:6.1f} us a row, model {size / 1e6:.1f} MB", flush=True)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", type=lambda name: str(Path(name).resolve()), default=str(Path("build/release/quorate").resolve()))
    p.add_argument("--wisdm", type=Path, help="data/wisdm/all.csv")
    p.add_argument("--runs", type=int, default=20)
    p.add_argument("--no-peers", action="store_true")
    p.add_argument("--cost", action="store_true")
    p.add_argument("--rows", type=int, default=100_000)
    p.add_argument("--learner", default="cohort(query=always)", help="whose cost")
    p.add_argument("--smallest", action="store_true", help="one split, two settings of the peer, and the cost of 200 rows: does it run at all")
    o = p.parse_args()
    if o.smallest:
        o.runs, o.rows, o.cost = 1, 200, True
        VW[:] = [s for s in VW if s[0] and s[1] == "logistic" and s[3:] == (0.5, 1)]
    if o.wisdm:
        accuracies(o)
    if o.cost:
        cost(o)


if __name__ == "__main__":
    main()
