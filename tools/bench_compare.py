"""Compares two files of `./run bench --json`: python3 tools/bench_compare.py BASE HEAD

Prints, for every scenario, nanoseconds an example in both and their ratio. Exits with 1 if a scenario of BASE is slower in HEAD
by more than its tolerance, or gone. Several lines of one scenario (`--repeat`, or files put together) are taken by their median:
on a machine that others use, run the two programs in turn, A B A B.
"""
import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

# How many times slower a scenario may be before it counts: the first pattern that matches its name. Caches are shared with
# whatever else runs, so what waits for memory varies more than what computes.
TOLERANCE = [
    (r"K=100000", 1.35),
    (r"^(cohort|perceptron|cmtl)", 1.25),
    (r"^shampo-second-order", 1.25),
    (r"", 1.15),
]


def tolerance(scenario: str) -> float:
    return next(limit for pattern, limit in TOLERANCE if re.search(pattern, scenario))


def read(path: Path) -> dict:
    """Scenario -> ns an example. Throws ValueError, naming file and line, for what is no such file."""
    found = defaultdict(list)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            row = json.loads(line)
            if "scenario" in row:
                found[row["scenario"]].append(float(row["ns_per_example"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: expected a JSON object with scenario and ns_per_example") from error
    if not found:
        raise ValueError(f"{path}: no scenario; expected a file of ./run bench --json")
    return {scenario: statistics.median(ns) for scenario, ns in found.items()}


def compare(base: dict, head: dict) -> tuple:
    """A table as lines of text, and the scenarios that fail."""
    lines, failed = [f"{'base ns':>10} {'head ns':>10} {'ratio':>7} {'limit':>6}  scenario"], []
    for scenario in list(base) + [s for s in head if s not in base]:
        a, b, limit = base.get(scenario), head.get(scenario), tolerance(scenario)
        ratio = b / a if a and b else None
        bad = a is not None and (b is None or b > limit * a)
        verdict = "  new" if a is None else "  GONE" if b is None else "  SLOWER" if bad else ""
        shown = [f"{v:10.1f}" if v is not None else " " * 10 for v in (a, b)]
        lines.append(f"{shown[0]} {shown[1]} {f'{ratio:7.3f}' if ratio is not None else ' ' * 7} {limit:6.2f}  {scenario}{verdict}")
        if bad:
            failed.append(scenario)
    return lines, failed


def main(arguments: list) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("head", type=Path)
    options = parser.parse_args(arguments)
    try:
        lines, failed = compare(read(options.base), read(options.head))
    except (OSError, ValueError) as error:
        print(f"bench_compare: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
