"""Published tables and figures beside ours: docs/results.md and the pictures in docs/figures.

    ./run reproduce list
    ./run reproduce xu-table-1 [--runs 10] [--seed 1] [--threads 2]
    ./run reproduce all --report docs/results.md --figures docs/figures

research/papers/NAME.json says what was published, how it is run, within which band we call it reproduced, and why we expect to
differ where we do. `./run data all` prepares the data. Needs the Python package with pandas and matplotlib (`./run python`).
"""
from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import quorate
from quorate import _core, runs

ROOT = Path(__file__).resolve().parent.parent
PAPERS = ROOT / "research/papers"
COUNTS = {"mistakes", "labels", "updates", "audit_labels"}  # measures that are numbers of things
Json = dict[str, Any]


@dataclass
class Result:
    """One learner at one budget, share or value of a parameter: means and standard deviations over the runs."""

    method: str
    learner: str
    setting: str  # "", "5%" of the labels, "25.0 %" of the data, or "b=0.1"
    mean: dict[str, float]
    std: dict[str, float]
    x: float = math.nan  # of a figure


# ---- running

def number(value: float) -> str:
    """The shortest text of a number: 1, 0.5, 1e-05."""
    return repr(float(value)).removesuffix(".0")


class Experiment:
    """A group's data, read once."""

    def __init__(self, group: Json, data: Path, options: Json) -> None:
        files = {key: data / group[key] for key in ("data", "test") if key in group}
        for key, path in files.items():
            if not list(path.parent.glob(path.name + "*")):
                sys.exit(f"{path}: no such file; ./run data {Path(group[key]).parts[0]} prepares it")
        reading = {"normalize": group.get("normalize", True), "classes": group.get("classes"), "users": group.get("users"), **options,
                   "train_per_task": group.get("train_per_task"), "passes": group.get("passes")}
        self.read, self.options = runs._prepare(os.fspath(files.pop("data")), reading | files)

    def run(self, learner: str, budgets: Sequence[str] = (), **more: Any) -> list[Json]:
        """The mean and std of each measure, at each label budget."""
        options = self.options | {name: value for name, value in more.items() if value is not None}
        document = runs._call(_core.compare, self.read, [learner], ",".join(budgets), options, None)
        found: list[Json] = json.loads(document)["learners"]
        return found


def drifting(stream: Json, learner: str, options: Json, program: Path) -> Json:
    """Every run on a stream of its own, in order (`quorate generate drift`)."""
    words = [word for name, value in stream.items() for word in (f"--{name}", str(value))]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options["seed"], options["seed"] + options["runs"]):
            file = f"{folder}/drift.svm"
            subprocess.run([program, "generate", "drift", file, "--seed", str(seed), *words], check=True)
            experiment = Experiment({"data": "drift.svm", "normalize": False}, Path(folder),
                                    {"bias": False, "in_order": True, "seed": seed, "runs": 1})
            found += [entry["mean"] for entry in experiment.run(learner)]
    values = {name: [run[name] for run in found if run[name] is not None] for name in found[0]}
    mean = {name: math.fsum(all_) / len(all_) if all_ else None for name, all_ in values.items()}
    std = {name: math.sqrt(math.fsum((v - mean[name]) ** 2 for v in all_) / (len(all_) - 1)) if len(all_) > 1 else None
           for name, all_ in values.items()}
    return {"mean": mean, "std": std}


def results_of(group: Json, count: int, args: argparse.Namespace) -> Iterator[Result]:
    """Each row of the group at each share, budget and value of the sweep. A learner with {} in it is swept; what does not
    depend on the value is run once."""
    made, sweep = group.get("generate"), group.get("sweep")
    options = {"runs": count, "seed": args.seed, "threads": args.threads}
    experiment = None if made else Experiment(group, args.data, options)
    budgets = group.get("label_budgets", [])
    for row in group["rows"]:
        for share in group.get("shares", [1.0]):
            for n, value in enumerate(sweep["values"] if sweep else [0.0]):
                learner = row["learner"].replace("{}", number(value))
                if made:
                    stream = {**made, **row.get("generate", {})}
                    if sweep and sweep["parameter"] == "tasks":
                        stream["tasks"] = value
                    found = [drifting(stream, learner, options, args.program)]
                elif n == 0 or "{}" in row["learner"]:
                    found = experiment.run(learner, budgets, share=share if share < 1 else None, labels=row.get("labels"),
                                           pace=group.get("pace"))
                for entry, budget in zip(found, budgets or [""]):
                    mean, std = ({name: math.nan if v is None else v for name, v in entry[key].items()} for key in ("mean", "std"))
                    setting = (f"{sweep['parameter']}={number(value)}" if sweep else
                               f"{100 * share:.1f} %" if "shares" in group else budget)
                    x = value if sweep else share if "shares" in group else mean["labels"]
                    yield Result(row["name"], learner, setting, mean, std, x)


# ---- verdicts

def points(share: float) -> str:
    return f"{100 * share:.1f}"


def in_band(row: Json, r: Result) -> bool:
    return all(low <= r.mean[measure] <= high for measure, (low, high) in row["band"].items())


def row_verdict(group: Json, row: Json, r: Result) -> str | None:
    """Of a row of a table that has a band for the paper's own data."""
    if not group.get("same_data") or "band" not in row:
        return None
    return "reproduced" if in_band(row, r) else "not reproduced"


def at(results: list[Result], method: str, setting: str | None = None) -> Result:
    """The first result of a method, at a setting if one is given."""
    for r in results:
        if r.method == method and setting in (None, r.setting):
            return r
    raise ValueError(f"a claim about {method!r}" + (f" at {setting!r}" if setting else "") + ", which is not run")


def knee(claim: Json, results: list[Result]) -> str:
    """Whether the best value of a method's parameter is below the best of each other by the expected number of points or
    more: equal methods, as where nobody learns anything, are never as expected."""
    measure = claim["measure"]

    def best_of(method: str) -> Result:
        at(results, method)
        return min((r for r in results if r.method == method), key=lambda r: r.mean[measure])

    best = best_of(claim["method"])
    gaps = {other: best_of(other).mean[measure] - best.mean[measure] for other in claim["below"]}
    good = all(gaps[other] > 0 and gaps[other] >= least for other, least in claim["below"].items())
    said = [f"{claim['method']} is best at {best.setting} with {points(best.mean[measure])} %"]
    said += [f"{points(gaps[other])} points below {other} (expected {points(least)})" for other, least in claim["below"].items()]
    return ("as expected: " if good else "not as expected: ") + ", ".join(said)


def lowest(claim: Json, results: list[Result]) -> str:
    """The lowest of all, and what the paper's choice reaches."""
    measure = claim["measure"]
    best, theirs = min(results, key=lambda r: r.mean[measure]), at(results, claim["method"], claim["setting"])
    ours, paper = (f"{points(r.mean[measure])} +- {points(r.std[measure])} %" for r in (best, theirs))
    return (f"lowest {measure} {ours} with {best.method}, {best.setting}; the paper's good choice, {claim['method']}, "
            f"{claim['setting']}: {paper}")


def alike(claim: Json, results: list[Result]) -> str:
    """Whether a method costs at most `at_most` times as much at one setting as at another; the factors of other methods."""
    measure, begin, end = claim["measure"], claim["from"], claim["to"]

    def times(method: str) -> float:
        return at(results, method, end).mean[measure] / at(results, method, begin).mean[measure]

    ours, most = times(claim["method"]), claim["at_most"]
    return (("as claimed: " if ours <= most else "not as claimed: ") +
            f"{claim['method']} costs {ours:.2f} times as many {measure} at {end} as at {begin} (expected at most {most:.2f})" +
            "".join(f", {other} {times(other):.2f}" for other in claim["others"]))


def at_least(claims: Json, results: list[Result]) -> str:
    """Claims "a is at least b, less the slack": [a, b, slack] of one measure."""
    behind = []
    for a, b, slack in claims["claims"]:
        gap = at(results, b).mean[claims["measure"]] - at(results, a).mean[claims["measure"]]
        if gap > slack:
            behind.append(f"; {a} is {points(gap)} points below {b}")
    return f"{len(claims['claims']) - len(behind)} of {len(claims['claims'])} relations hold" + "".join(behind)


def order_of(group: Json, results: list[Result]) -> str:
    """Without a band nothing is called reproduced, only an order."""
    order = group["order"]
    measure, best = order["measure"], order.get("best")
    if best is None:
        rising, names = "rising" in order, order.get("rising") or order["falling"]
        means = [at(results, name, results[-1].setting).mean[measure] for name in names]
        same = all(a < b if rising else a > b for a, b in zip(means, means[1:]))
        return (f"{'same' if same else 'another'} order of methods by {measure} "
                f"(published: {(' < ' if rising else ' > ').join(names)})")
    settings = list(dict.fromkeys(r.setting for r in results))
    first = order.get("from", settings[0])
    behind = [f"{row['name']} at {setting}" for setting in settings[settings.index(first):] for row in group["rows"]
              if row["name"] != best and at(results, row["name"], setting).mean[measure] > at(results, best, setting).mean[measure]]
    if behind:
        return f"another order of methods, {best} is behind {', '.join(behind)}"
    return f"same order of methods, {best} is first at every budget from {first} on"


def verdict(paper: Json, group: Json, results: list[Result]) -> str:
    """A sentence on a group of methods. Raises ValueError for claims about results that there are not."""
    if "knee" in group:
        return "; ".join(knee(claim, results) for claim in group["knee"])
    said = []
    if "figure" not in paper:
        judged = [row_verdict(group, row, r) for row, r in zip(group["rows"], results)]
        banded, outside = len(judged) - judged.count(None), judged.count("not reproduced")
        if outside:
            said.append(f"not reproduced, {outside} of {banded} methods outside their bands")
        elif banded:
            said.append(f"reproduced, all {banded} methods within their bands")
    if "at_least" in group:
        said.append(at_least(group["at_least"], results))
    for key, say in (("alike", alike), ("lowest", lowest)):
        if not said and key in group:
            said.append(say(group[key], results))
    if not said:
        said.append(order_of(group, results) if "order" in group else "no order is claimed")
    return "; ".join(said)


# ---- the page

def shown(measure: str, value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.{1 if measure in COUNTS else 4}f}"


def table(paper: Json, group: Json, results: list[Result]) -> str:
    """Ours beside what was published."""
    known = {m for m in paper["measures"] for row in group["rows"] if m in row.get("published", {})}
    head = ["method", "learner"]
    for m in paper["measures"]:
        head += [f"{m}, published", "ours", "difference"] if m in known else [m]
    lines = [head + ["verdict"], ["---"] * (len(head) + 1)]
    notes = []
    for row, r in zip(group["rows"], results):
        line = [r.method, f"`{row['learner']}`"]
        for m in paper["measures"]:
            theirs = row.get("published", {}).get(m)
            if m not in r.mean:  # as of margins that are not calibrated
                line += ["-"] * (3 if m in known else 1)
                continue
            ours = f"{shown(m, r.mean[m])} +- {shown(m, r.std[m])}"
            gap = "-" if theirs is None else ("+" if r.mean[m] >= theirs else "") + shown(m, r.mean[m] - theirs)
            line += ["-" if theirs is None else shown(m, theirs), ours, gap] if m in known else [ours]
        lines.append([*line, row_verdict(group, row, r) or "-"])
        if "note" in row:
            notes.append(f"\n{r.method}: {row['note']}\n")
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "".join(notes)


def curves(paper: Json, group: Json, results: list[Result]) -> str:
    """A table of methods by setting for each measure of the figure."""
    settings = list(dict.fromkeys(r.setting for r in results))
    head = " at" if "sweep" in group else " at share" if "shares" in group else " at budget"
    out = []
    for m in paper["figure"]["y"]:
        lines = [[m + head, *settings], ["---"] * (len(settings) + 1)]
        lines += [[row["name"], *(shown(m, r.mean[m]) for r in results if r.method == row["name"])] for row in group["rows"]]
        out.append("".join(f"| {' | '.join(line)} |\n" for line in lines))
    return "\n".join(out)


def draw(paper: Json, groups: list[tuple[Json, list[Result]]], path: Path) -> None:
    """A panel for each group and measure; curves stay apart in black and white; published end points are larger marks."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "quorate", "font.size": 9})  # the same file from the same numbers
    import matplotlib.pyplot as plt

    panels = [(group, results, m) for group, results in groups for m in paper["figure"]["y"]]
    most = max(len(group["rows"]) for group, _ in groups)
    figure, axes = plt.subplots(1, len(panels), squeeze=False, layout="constrained", figsize=(4.2 * len(panels), 3.1 + 0.18 * most))
    for ax, (group, results, m) in zip(axes[0], panels):
        sweep = group.get("sweep")
        for n, row in enumerate(group["rows"]):
            of = [r for r in results if r.method == row["name"]]
            look = {"color": f"C{n % 10}", "marker": "osD^vP*X"[n % 8]}
            ax.plot([r.x for r in of], [r.mean[m] for r in of], label=row["name"], markersize=4, linewidth=1.2,
                    linestyle=("-", "--", "-.", ":")[n % 4], **look)
            theirs = row.get("published", {})
            if not sweep and m in theirs:
                ax.plot([1.0 if "shares" in group else theirs["labels"]], [theirs[m]], linestyle="", markersize=9,
                        markerfacecolor="none", **look)
        if sweep and sweep.get("log"):
            ax.set_xscale("log")
        ax.set(title=group["name"], ylabel=m,
               xlabel=sweep["parameter"] if sweep else "share of the training data" if "shares" in group else "labels bought")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.9", linewidth=0.8)
        ax.legend(loc="upper left", bbox_to_anchor=(0, -0.18), frameon=False, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def reproduce(name: str, args: argparse.Namespace) -> str:
    """A section of the page."""
    paper = json.loads((args.papers / f"{name}.json").read_text())
    count = args.runs or paper["runs"]
    out = [f"## {name}: {paper['title']}\n\n{paper['source']}. {count} runs, seeds {args.seed} to {args.seed + count - 1}; mean +- "
           f"standard deviation.\n"]
    if "note" in paper:
        out.append(f"\n{paper['note']}\n")
    groups = []
    for group in paper["groups"]:
        print(f"{name}: {group['name']}", file=sys.stderr)
        results = list(results_of(group, count, args))
        groups.append((group, results))
        out.append(f"\n### {group['name']}\n\n")
        if "note" in group:
            out.append(f"{group['note']}\n\n")
        out.append((curves if "figure" in paper else table)(paper, group, results))
        out.append(f"\n**Verdict: {verdict(paper, group, results)}.**\n")
    if args.figures and "figure" in paper:
        file = args.figures / f"{name}.svg"
        draw(paper, groups, file)
        out.append(f"\n![{paper['title']}]({os.path.relpath(file, args.report.parent if args.report else '.')})\n")
    return "".join(out) + "\n"


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a table or figure, all, or list")
    parser.add_argument("--runs", type=int, help="number of runs (default: as in the paper)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run")
    parser.add_argument("--threads", type=int, default=2, help="runs at the same time")
    parser.add_argument("--report", type=Path, help="Markdown page to write (default: print it)")
    parser.add_argument("--figures", type=Path, help="folder for the pictures")
    parser.add_argument("--papers", type=Path, default=PAPERS, help="folder of the papers' files")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder of the prepared data sets")
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/quorate")
    args = parser.parse_args(words)
    papers = {path.stem: json.loads(path.read_text())["title"] for path in sorted(args.papers.glob("*.json"))}
    if args.name == "list":
        for name, title in papers.items():
            print(f"{name:17} {title}")
        return
    if args.name != "all" and args.name not in papers:
        parser.error(f"no paper is called {args.name!r}; expected all, or one of {', '.join(papers)}")
    text = "".join(reproduce(name, args) for name in (papers if args.name == "all" else [args.name]))
    if not args.report:
        print(text, end="")
        return
    page = (f"# Published results and ours\n\nGenerated by `./run reproduce {args.name}`, quorate {quorate.__version__}. What is run, what "
            f"was published and the bands are in `research/papers/`; `./run data all` prepares the data.\n\n{text}")
    new = args.report.with_name(args.report.name + ".new")
    new.write_text(page.rstrip("\n") + "\n")
    new.replace(args.report)


if __name__ == "__main__":
    main()
