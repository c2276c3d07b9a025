"""A model that learned from a stream beside the one that `quorate rebuild` makes of its kept labels: the table of
docs/decisions/cohort.md, "Rebuilding from kept labels".

    python3 research/rebuilt.py [--runs 20] [--seed 1] [--only spam-b,news]

Prints Markdown. Run r of a set splits it with `random.Random(seed + r)` and gives the learner the seed `seed + r`; news has a test
set of its own, and only the order is drawn. Both models are judged on the same unseen examples. Needs the release program and the
data sets spam-a, spam-b, sentiment, news, landmine and school (`./run data NAME`), and the file that
`research/starving.py --only moving` makes.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUORATE = ROOT / "build/release/quorate"
ALL = 0  # labels: every one

# Name -> title, file, test file or examples of each task to learn from, measure, (labels, bytes for kept labels).
SETS = {
    "spam-b": ("spam B", "spam-b/all.svm", 100, "accuracy",
               [(75, "16MB"), (200, "16MB"), (ALL, "16MB"), (200, "1MB"), (ALL, "4MB"), (ALL, "1MB")]),
    "news": ("news", "news/train.vw", "news/test.vw", "accuracy",
             [(226, "16MB"), (713, "16MB"), (ALL, "16MB"), (713, "1MB"), (ALL, "4MB"), (ALL, "1MB")]),
    "reviews": ("reviews", "sentiment/all.svm", 500, "accuracy",
                [(200, "16MB"), (400, "16MB"), (ALL, "16MB"), (400, "1MB"), (ALL, "4MB"), (ALL, "1MB")]),
    "landmine": ("landmine (AUC)", "landmine/all.csv", 160, "auc",
                 [(200, "16MB"), (464, "16MB"), (ALL, "16MB"), (464, "64KB"), (ALL, "512KB"), (ALL, "64KB")]),
    "school": ("school (AUC)", "school/all.csv", 50, "auc", [(350, "16MB"), (695, "16MB"), (ALL, "16MB")]),
    "moving": ("wisdm, moving", "starving/wisdm-moving.csv", 75, "accuracy", [(144, "16MB"), (360, "16MB"), (ALL, "16MB")]),
    "spam-a": ("spam A", "spam-a/all.svm", 500, "accuracy",
               [(75, "16MB"), (200, "16MB"), (ALL, "16MB"), (200, "1MB"), (ALL, "4MB"), (ALL, "1MB")]),
}  # fmt: skip


def quorate(*args: object) -> str:
    return subprocess.run([QUORATE, *map(str, args)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def task_of(line: str) -> str:
    """Of SVMlight's `task:NAME`, or of a CSV file's second column."""
    return line.split(" ", 2)[1] if " " in line else line.split(",", 2)[1]


def split(lines: list[str], per_task: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """`per_task` examples of each task, all in random order, and the others."""
    order = rng.sample(lines, len(lines))
    taken: dict[str, int] = defaultdict(int)
    learn, test = [], []
    for line in order:
        task = task_of(line)
        taken[task] += 1
        (learn if taken[task] <= per_task else test).append(line)
    return learn, test


class Run:
    """The files of one split."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        _, data, test, self.measure, _ = SETS[name]
        self.seed, self.folder, ending = seed, folder, Path(data).suffix
        lines = (ROOT / "data" / data).read_text().splitlines(keepends=True)
        head = [lines.pop(0)] if ending == ".csv" else []
        rng = random.Random(seed)
        if isinstance(test, str):
            learn, self.test = rng.sample(lines, len(lines)), ROOT / "data" / test
        else:
            learn, rest = split(lines, test, rng)
            self.test = folder / f"test{ending}"
            self.test.write_text("".join(head + rest))
        self.learn, self.examples = folder / f"learn{ending}", len(learn)
        self.learn.write_text("".join(head + learn))

    def judged(self, model: Path) -> float:
        found = json.loads(quorate("evaluate", "--data", self.test, "--model", model, "--json", "--quiet"))
        return float(found["measures"][self.measure]["value"])

    def compare(self, labels: int, keep: str) -> dict[str, float]:
        live, rebuilt = self.folder / "live", self.folder / "rebuilt"
        live.unlink(missing_ok=True)
        asks = ["--labels", labels, "--pace", "even", "--length", self.examples] if labels else ["--learner", "cohort(query=always)"]
        quorate("train", "--data", self.learn, "--model", live, "--seed", self.seed, "--keep-labels", keep, "--quiet", *asks)
        quorate("rebuild", live, "--out", rebuilt)
        kept = len(quorate("labels", live).splitlines()) - 1
        return {"kept": kept, "live": self.judged(live), "rebuilt": self.judged(rebuilt)}


def compared(name: str, seed: int) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        run = Run(name, seed, Path(folder))
        return [run.compare(labels, keep) for labels, keep in SETS[name][4]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Live and rebuilt models side by side, as Markdown.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the others follow")
    parser.add_argument("--only", default=",".join(SETS), help="sets, as spam-b,news")
    parser.add_argument("--smallest", action="store_true", help="one split of one set: does it run at all")
    o = parser.parse_args()
    if o.smallest:
        o.runs, o.only = 1, "spam-b"
    print("| set | labels | --keep-labels | kept | live | rebuilt | difference |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name in o.only.split(","):
        title, _, _, _, settings = SETS[name]
        with ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(lambda seed, name=name: compared(name, seed), range(o.seed, o.seed + o.runs)))
        for place, (labels, keep) in enumerate(settings):
            rows = [run[place] for run in runs]
            mean = {key: statistics.mean(row[key] for row in rows) for key in rows[0]}
            gain = [row["rebuilt"] - row["live"] for row in rows]
            error = statistics.stdev(gain) / math.sqrt(len(gain)) if len(gain) > 1 else 0
            print(f"| {title} | {labels or 'all'} | {keep} | {mean['kept']:,.0f} | {mean['live']:.3f} | {mean['rebuilt']:.3f} | "
                  f"{statistics.mean(gain):+.4f} +- {error:.4f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
