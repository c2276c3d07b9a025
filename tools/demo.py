"""The demonstration: several learners on real data, as a table and a sentence. Usage: demo.py spam-b|digits"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = 10

SETS = {
    "spam-b": (
        "Spam filters for 15 users: 400 emails each, 100 to learn from, 300 to test on.",
        "emails",
        ["--train-per-task", "100"],
    ),
    "digits": (
        "Ten tasks on handwritten digits, 'is it a 0?' to 'is it a 9?', 200 images each to learn from.",
        "images",
        ["--train-per-task", "200"],
    ),
}

LEARNERS = [
    ("independent, every label", "perceptron"),
    ("independent, half of the labels", "perceptron(query=random(p=0.5))"),
    ("independent, uncertain examples", "perceptron(query=margin(b=0.05))"),
    ("together, every label", "cmtl"),
    ("together, uncertain examples", "cmtl(query=margin(b=0.05))"),
    ("by similarity, uncertain examples", "amtl(query=margin(b=0.05))"),
    ("our learner, uncertain examples", "cohort"),
]


def simulate(name: str, options: list[str], learner: str) -> dict:
    command = [ROOT / "build/release/quorate", "simulate", "--data", ROOT / "data" / name / "all", *options]
    command += ["--learner", learner, "--runs", str(RUNS), "--threads", "2", "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main(name: str) -> None:
    title, things, options = SETS[name]
    rows = []
    for words, learner in LEARNERS:
        result = simulate(name, options, learner)
        rows.append((words, learner, result["mean"], result["std"], result["examples"]))
    print(f"\n{title}\nMeans over {RUNS} random splits (seeds 1 to {RUNS}).\n")
    print(f"{'':37}{'learner':34}{'labels':>8}{'accuracy on unseen ' + things:>29}")
    for words, learner, mean, std, _ in rows:
        accuracy = f"{100 * mean['accuracy']:.1f} % +- {100 * std['accuracy']:.1f}"
        print(f"{words:37}{learner:34}{mean['labels']:8,.0f}{accuracy:>29}")
    alone, examples = rows[0][2], rows[0][4]
    best = max((row for row in rows if row[2]["labels"] < row[4]), key=lambda row: row[2]["accuracy"])
    labels, gain = best[2]["labels"], 100 * (best[2]["accuracy"] - alone["accuracy"])
    compared = f"{abs(gain):.1f} points {'more' if gain >= 0 else 'less'} than independent learners with every label"
    print(
        f"\nWhat it means: {best[1]} bought {labels:,.0f} of {examples:,} labels ({100 * labels / examples:.0f} %) and classifies "
        f"{100 * best[2]['accuracy']:.1f} % of unseen {things} correctly, {compared}."
    )


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SETS:
        sys.exit("usage: demo.py " + "|".join(SETS))
    main(sys.argv[1])
