"""A million tasks: writes docs/million.md and its figure; `./run bench --scale`.

`quorate generate users - | quorate train --data -` generates emails of K users and learns from them. For each K: examples per
second, bytes, labels bought, progressive accuracy. Then the accuracy on a task's first five examples, with cohort and with
learners that share less. Needs Python, the program and, for the figure, matplotlib.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from measuring import axes, origin, save

COLD = {"cohort": "cohort", "cmtl": "cmtl(query=margin(b=0.1), scale=auto)",
        "a perceptron for each task": "perceptron(query=margin(b=0.1), scale=auto)"}
FIRST = 5  # examples of a task that the cold start is about


def generate(program, out, tasks: int, examples: int, seed: int, exponent: float = 0) -> list:
    return [str(a) for a in (program, "generate", "users", out, "--to", "jsonl", "--tasks", tasks, "--examples", examples,
                             "--seed", seed, "--exponent", exponent, "--quiet")]


def train(program, tasks: int, examples: int, *, seed: int = 1, memory: str = "256MB", labels: str = "50/1000",
          learner: str = "cohort") -> dict:
    """One run of the pipe: the output of `train --json` with `seconds` and `process_bytes` (peak, saving included)."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        with subprocess.Popen(generate(program, "-", tasks, examples, seed), stdout=subprocess.PIPE) as source:
            learn = subprocess.Popen([program, "train", "--data", "-", "--format", "jsonl", "--model", f"{folder}/m", "--learner",
                                      learner, "--memory", memory, "--labels", labels, "--quiet", "--json"],
                                     stdin=source.stdout, stdout=subprocess.PIPE)
            source.stdout.close()
            said = learn.stdout.read()
            learn.stdout.close()
            _, status, usage = os.wait4(learn.pid, 0)
            learn.returncode = os.waitstatus_to_exitcode(status)
        if learn.returncode != 0 or source.returncode != 0:
            raise RuntimeError(f"generate ended with {source.returncode}, train with {learn.returncode}")
        seconds = time.monotonic() - start
        model = os.path.getsize(f"{folder}/m")
    summary = json.loads(said)
    return summary | {"tasks": summary["report"]["task_count"], "labels": summary["report"]["labels"]["answered"],
                      "model_bytes": summary["report"]["model_bytes"], "peak_bytes": summary["report"]["peak_bytes"], "seconds": seconds,
                      "process_bytes": usage.ru_maxrss * 1024, "file_bytes": model}


def learner_seconds(program, paths: dict, runs: int, memory: str, labels: str) -> dict:
    """Seconds inside the learner alone, by number of tasks: medians of alternating runs (A B A B) on files read beforehand."""
    seconds = defaultdict(list)
    for _ in range(runs):
        for tasks, path in paths.items():
            said = subprocess.run([program, "simulate", "--data", path, "--in-order", "--learner", "cohort", "--memory", memory,
                                   "--labels", labels, "--quiet", "--json"], stdout=subprocess.PIPE, check=True).stdout
            seconds[tasks].append(json.loads(said)["mean"]["seconds"])
    return {tasks: statistics.median(found) for tasks, found in seconds.items()}


def cold_start(program, tasks: int, examples: int, labels: str, seeds: list) -> dict:
    """By learner: accuracy (%) on the first, second, .. FIRST-th example of a task, and labels bought. Examples count after the
    first tenth of the stream, so that shared weights exist."""
    right, seen, bought = (defaultdict(lambda: [0] * FIRST) for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            subprocess.run(generate(program, f"{folder}/data.jsonl", tasks, examples, seed, exponent=1), check=True)
            with open(f"{folder}/data.jsonl") as lines:
                truth = [int(json.loads(line)["label"]) for line in lines]
            for name, learner in COLD.items():
                subprocess.run([program, "simulate", "--data", f"{folder}/data.jsonl", "--in-order", "--learner", learner,
                                "--labels", labels, "--seed", str(seed), "--trace", f"{folder}/trace", "--quiet"], check=True,
                               stdout=subprocess.DEVNULL)
                before = defaultdict(int)
                with open(f"{folder}/trace") as lines:
                    for n, line in enumerate(lines):
                        step = json.loads(line)
                        place = before[step["task"]]
                        before[step["task"]] += 1
                        bought[name][0] += step["asked"]
                        if place < FIRST and 10 * n >= examples:
                            seen[name][place] += 1
                            right[name][place] += (1 if step["margin"] > 0 else -1) == truth[n]
    return {name: {"accuracy": [100 * r / s if s else float("nan") for r, s in zip(right[name], seen[name])],
                   "examples": seen[name], "labels": bought[name][0] / len(seeds)} for name in COLD}


def draw(cold: dict, path: Path) -> None:
    """The cold start as a picture."""
    ax = axes()
    for (name, found), color, mark in zip(cold.items(), ("#0072b2", "#d55e00", "#555555"), "os^"):
        ax.plot(range(1, len(found["accuracy"]) + 1), found["accuracy"], color=color, marker=mark, label=name)
    ax.set(xlabel="example of the task", ylabel="accuracy (%)", xticks=range(1, FIRST + 1))
    ax.set_ylim(min(50, ax.get_ylim()[0]), 100)
    save(ax, path)


def table(rows: list) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths))) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 1) + (":" if k else "-") for k, w in enumerate(widths)) + "|")
    return "\n".join(lines)


def report(o, runs: dict, lengths: dict, alone: dict, pairs: dict, cold: dict, figure: str, measured: str) -> str:
    few, many = min(runs), max(runs)
    speed = [["tasks", "examples/s", "seconds", "labels", "progressive accuracy", "model, bytes", "peak, bytes", "process, MB"]]
    for tasks, run in runs.items():
        speed.append([f"{tasks:,}", f"{run['examples'] / run['seconds']:,.0f}", f"{run['seconds']:.1f}", f"{run['labels']:,}",
                      f"{100 * run['progressive_accuracy']:.1f} %", f"{run['model_bytes']:,}", f"{run['peak_bytes']:,}",
                      f"{run['process_bytes'] / 1e6:,.0f}"])
    flat = [["examples", "tasks", "model, bytes"]]
    flat += [[f"{n:,}", f"{run['tasks']:,}", f"{run['model_bytes']:,}"] for n, run in sorted(lengths.items())]
    turns = [["measured", f"{few:,} tasks", f"{many:,} tasks", "ratio"],
             ["learner alone", *(f"{o.short / alone[k]:,.0f}" for k in (few, many)), f"{alone[few] / alone[many]:.2f}"],
             ["generate and train", *(f"{o.short / pairs[k]:,.0f}" for k in (few, many)), f"{pairs[few] / pairs[many]:.2f}"]]
    start = [["learner", *(f"{n + 1}." for n in range(FIRST)), "labels"]]
    for name, found in cold.items():
        start.append([name, *(f"{a:.1f}" for a in found["accuracy"]), f"{found['labels']:,.0f}"])
    counted = ", ".join(f"{n:,}" for n in next(iter(cold.values()))["examples"])
    return f"""# A million tasks

Generated by `python3 bench/scale.py` (`./run bench --scale`). {measured}
Speeds are by wall clock; those that are compared were measured alternately. All other figures repeat exactly with the same seeds.

## The run

    quorate generate users - --to jsonl --tasks {many} --examples {o.examples} --exponent 0 --seed {o.seed} |
      quorate train --data - --format jsonl --model m --learner cohort --memory {o.memory} --labels {o.labels}

All users get equally many emails, so nearly all of them appear. {o.examples:,} examples for each number of tasks:

{table(speed)}

`peak` is the model's largest size during the run, copies made while it grew included; it never exceeds `--memory`. `process` is the
peak memory of the whole program, including the copies made to write the model file.

The seconds are those of the whole pipe, one run each. Measured alternately, medians of {o.repeat} runs of {o.short:,} examples, in examples
per second:

{table(turns)}

## Bytes

The tables of weights and counts have a fixed size. A further task costs its name, 24 bytes to find it, 32 bytes of counters and, once
it has labels, 12 bytes of the learner: {(lengths[max(lengths)]['model_bytes'] - runs[few]['model_bytes']) / lengths[max(lengths)]['tasks']:.0f} \
bytes. The model grows with the number of tasks, not with the number of examples:

{table(flat)}

## A task's first examples

{o.cold_tasks:,} users, {o.cold_examples:,} emails distributed by Zipf's law, `--labels {o.cold_labels}` for every learner, seeds {', '.join(map(str, o.cold_seeds))}.
Accuracy (%) on a user's first, second, ... email, counted after the first tenth of the stream ({counted} emails).
cmtl and the perceptrons use `query=margin(b=0.1)`, whose b the rate adjusts, and the scale of cohort.

{table(start)}

![cold start]({figure})
"""


def main() -> None:
    checkout = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=str(checkout / "build/release/quorate"))
    parser.add_argument("--examples", type=int, default=10_000_000, help="of each run")
    parser.add_argument("--tasks", type=int, nargs="+", default=[10, 1_000, 100_000, 1_000_000])
    parser.add_argument("--short", type=int, default=1_000_000, help="examples of the alternating runs")
    parser.add_argument("--repeat", type=int, default=3, help="alternating runs of each kind")
    parser.add_argument("--memory", default="256MB")
    parser.add_argument("--labels", default="50/1000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cold-tasks", type=int, default=20_000)
    parser.add_argument("--cold-examples", type=int, default=200_000)
    parser.add_argument("--cold-labels", default="50/1000")
    parser.add_argument("--cold-seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--report", type=Path, default=checkout / "docs/million.md")
    parser.add_argument("--figure", type=Path, default=checkout / "docs/figures/cold-start.svg")
    parser.add_argument("--smallest", action="store_true", help="few tasks and examples, once, no report: does it run at all")
    o = parser.parse_args()
    measured = origin()  # before the run: of the code that runs
    if o.smallest:
        o.examples, o.tasks, o.short, o.repeat, o.memory = 4000, [10, 400], 2000, 1, "4MB"
        o.cold_tasks, o.cold_examples, o.cold_seeds = 100, 2000, [1]
        o.report = o.figure = Path(os.devnull)

    def say(text):
        print(text, file=sys.stderr, flush=True)

    few, many = min(o.tasks), max(o.tasks)
    settings = {"seed": o.seed, "memory": o.memory, "labels": o.labels}
    say("cold start")
    cold = cold_start(o.program, o.cold_tasks, o.cold_examples, o.cold_labels, o.cold_seeds)
    draw(cold, o.figure)
    say("alternating runs")
    with tempfile.TemporaryDirectory() as folder:
        paths = {tasks: f"{folder}/{tasks}.jsonl" for tasks in (few, many)}
        for tasks, path in paths.items():
            subprocess.run(generate(o.program, path, tasks, o.short, o.seed), check=True)
        alone = learner_seconds(o.program, paths, o.repeat, o.memory, o.labels)
    turns = defaultdict(list)
    for _ in range(o.repeat):
        for tasks in (few, many):
            turns[tasks].append(train(o.program, tasks, o.short, **settings)["seconds"])
    pairs = {tasks: statistics.median(found) for tasks, found in turns.items()}
    runs = {}
    for tasks in sorted(o.tasks):
        say(f"{tasks:,} tasks")
        runs[tasks] = train(o.program, tasks, o.examples, **settings)
    lengths = {o.examples: runs[many]}
    for share in (8, 4, 2):
        say(f"{many:,} tasks, {o.examples // share:,} examples")
        lengths[o.examples // share] = train(o.program, many, o.examples // share, **settings)
    o.report.write_text(report(o, runs, lengths, alone, pairs, cold, os.path.relpath(o.figure, o.report.parent), measured))
    say(f"{o.report}")


if __name__ == "__main__":
    main()
