"""What twice and half of each constant of `cohort` change: the last table of docs/decisions/constants.md.

    python3 research/constants.py [--runs 4] [--only kHandicap,noise] [--write docs/decisions/constants.md]

Builds the program with constants that the environment sets, in build/constants, and prints a row for each: differences to the
constant as it is, in points of each set's measure, means of the sets in NAMES with their label budget spread evenly and as
`cohort` asks, then the set with the largest loss in standard errors. --write puts the table under the page's heading HEADING. The
data sets are those of starving.py; one that is not there is left out.
"""

import argparse
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import starving

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build/constants"
NAMES = ("spam-b", "reviews", "news", "landmine", "school", "walking", "sitting", "flipped", "weak", "rare", "emails", "digits")
CASES = [(name, paced) for paced in (True, False) for name in NAMES]
OF_COHORT = "src/quorate/algorithms/cohort"
# Name -> the file that defines it.
IN_CODE = {
    "kGuesses": f"{OF_COHORT}/guesses.h",
    "kHalf": f"{OF_COHORT}/guesses.h",
    "kTotal": f"{OF_COHORT}/mixture.h",
    "kHandicap": f"{OF_COHORT}/mixture.h",
    "kNoiseOfVariance": f"{OF_COHORT}/two_level.h",
    "kTurns": f"{OF_COHORT}/embedding.h",
    "kFar": f"{OF_COHORT}/questions.h",
    "kMostMargins": f"{OF_COHORT}/questions.h",
    "kFewRare": f"{OF_COHORT}/threshold.h",
    "kPrior": f"{OF_COHORT}/classes.h",
    "kFirst": "src/quorate/weights/directions.h",
    "kFirstSteps": "src/quorate/weights/directions.h",
    "kSteps": "src/quorate/weights/directions.h",
    "kFeaturesPerRank": "src/quorate/weights/directions.cc",
    "kCut": "src/quorate/weights/spread.cc",
    "kFewestOfEach": f"{OF_COHORT}/threshold.h",
    "kFewDecided": f"{OF_COHORT}/threshold.h",
    "kMostDecided": f"{OF_COHORT}/threshold.h",
    "kMostWeight": "src/quorate/weights/calibration.cc",
    "kSlope": "src/quorate/weights/calibration.h",
    "kSlopePrior": "src/quorate/weights/calibration.h",
    "kOffsetPrior": "src/quorate/weights/calibration.h",
}
PARAMETERS = {"noise": 0.1, "eta": 0.3, "replays": 10, "query__b": 0.5, "represent__rank": 64}
BALANCED = ("kFewestOfEach", "kFewDecided", "kMostDecided")  # of cost=balanced: by balanced accuracy
HEADING = "## Twice and half"
HELPER = """#pragma once
#include <cstdlib>
namespace quorate {
template <class T>
T constant(const char* name, T value) {
  const char* set = std::getenv(name);
  return set != nullptr ? static_cast<T>(std::atof(set)) : value;
}
}
"""


def build() -> tuple[Path, dict[str, float]]:
    """The program, and the value of each constant as it is."""
    shutil.rmtree(COPY / "source", ignore_errors=True)
    for part in ("CMakeLists.txt", "CMakePresets.json", "cmake", "src", "apps", "LICENCES-THIRD-PARTY.txt", "LICENSE", "docs", "tests", "bench"):
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, COPY / "source" / part)
        elif source.exists():
            (COPY / "source").mkdir(parents=True, exist_ok=True)
            shutil.copy(source, COPY / "source" / part)
    (COPY / "source/src/quorate/base/constant.h").write_text(HELPER)
    values = {}
    for name, file in IN_CODE.items():
        path = COPY / "source" / file
        lines = path.read_text().split("\n")
        at = next(i for i, line in enumerate(lines) if re.search(rf"\bconst(expr)?\b.*\b{name} = ", line) and "//" not in line.split(name)[0])
        value = re.search(rf"\b{name} = ([-\d.e]+)", lines[at])
        if value is None:
            sys.exit(f"{file}: {name}: expected a number")
        values[name] = float(value[1])
        line = lines[at].replace("static constexpr", "static inline const").replace("constexpr", "const")
        kind = re.search(r"const ([\w:]+) k", line)[1]
        lines[at] = line.replace(value[0], f'{name} = constant<{kind}>("QUORATE_{name}", {value[1]})')
        text = "\n".join(lines)
        include = '#include "quorate/base/constant.h"\n'
        if include not in text:
            text = text.replace("#include", include + "#include", 1)
        path.write_text(text)
    subprocess.run(["cmake", "--preset", "release"], cwd=COPY / "source", check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", "build/release", "-j2", "quorate_cli"], cwd=COPY / "source", check=True, stdout=subprocess.DEVNULL)
    return COPY / "source/build/release/quorate", values


class Experiment:
    def __init__(self, o: argparse.Namespace, program: Path) -> None:
        self.o = argparse.Namespace(quorate=program, runs=o.runs, seed=1)
        self.base: dict[bool, list[list[float] | None]] = {}

    def run(self, name: str, paced: bool, learner: str, measure: str | None) -> list[float] | None:
        budget = ("--labels", str(starving.SETS[name][4]), "--pace", "even") if paced else ()
        runs = starving.simulated(name, learner, self.o, "--threads", "1", *budget)
        return None if runs is None else [100 * run[measure or starving.SETS[name][3]] for run in runs]

    def runs(self, *parameters: str, balanced: bool = False) -> list[list[float] | None]:
        """Of each of CASES the measure of each split, None of a set that is not there."""
        inner = ",".join([*parameters, *(["cost=balanced"] if balanced else [])])
        learner, measure = f"cohort({inner})" if inner else "cohort", "balanced_accuracy" if balanced else None
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda case: self.run(*case, learner, measure), CASES))

    def changed(self, name: str, value: float) -> str:
        """Means of the differences, and the worst set."""
        balanced = name in BALANCED
        if balanced not in self.base:
            self.base[balanced] = self.runs(balanced=balanced)
        if name in PARAMETERS:
            of, _, part = name.partition("__")
            outer = {"query": "confidence", "represent": "svd"}.get(of)
            found = self.runs(f"{of}={outer}({part}={value:g})" if part else f"{of}={value:g}")
        else:
            os.environ[f"QUORATE_{name}"] = repr(value)
            found = self.runs(balanced=balanced)
            os.environ.pop(f"QUORATE_{name}")
        means: dict[bool, list[float]] = {True: [], False: []}
        worst = (0.0, "")
        for (of, paced), values, base in zip(CASES, found, self.base[balanced]):
            if values is None or base is None:
                continue
            d = [new - old for new, old in zip(values, base)]
            mean = statistics.mean(d)
            error = statistics.stdev(d) / math.sqrt(len(d)) if len(d) > 1 else 0
            means[paced].append(mean)
            if mean < 0:
                worst = min(worst, (mean / max(error, 0.05), f"{of} {mean:+.1f} +- {error:.1f}"))
        return " ".join(f"{statistics.mean(m):+.1f}" for m in means.values() if m) + (f" ({worst[1]})" if worst[1] else "")


def main() -> None:
    parser = argparse.ArgumentParser(description="Twice and half of each constant of cohort. Markdown.")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--only", default=",".join([*PARAMETERS, *IN_CODE]), help="constants, as kHandicap,noise")
    parser.add_argument("--write", type=Path, help="the page that the table ends")
    parser.add_argument("--smallest", action="store_true", help="one run of one constant: does it run at all")
    o = parser.parse_args()
    if o.smallest:
        o.runs, o.only = 1, "kHandicap"
    program, values = build()
    values.update(PARAMETERS)
    experiment = Experiment(o, program)
    rows = ["| constant | value | twice | half |", "| --- | --- | --- | --- |"]
    print("\n".join(rows), flush=True)
    for name in o.only.split(","):
        value = values[name]
        twice, half = experiment.changed(name, value * 2), experiment.changed(name, value / 2)
        rows.append(f"| `{name.replace('__', '.')}` | {value:g} | {twice} | {half} |")
        print(rows[-1], flush=True)
    if o.write:
        text, found, _ = o.write.read_text().partition(HEADING)
        if not found:
            sys.exit(f"{o.write}: expected the heading {HEADING}")
        sets = len({name for (name, _), runs in zip(CASES, next(iter(experiment.base.values()))) if runs})
        said = f"Points, means of {sets} sets, {o.runs} splits: with their label budgets spread evenly, as it asks (worst set). Balanced accuracy\n"
        said += f"with `cost=balanced` of {', '.join(f'`{name}`' for name in BALANCED)}."
        o.write.write_text(f"{text}{HEADING}\n\n{said}\n\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
