"""The same run must give the same JSON from every program given and on one thread and two, apart from seconds and from the
bytes of memory, which say how results are kept, not what they are. A program from before measures were called progressive may
be among them: python3 tools/check_same.py PROGRAM [PROGRAM ..]"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

VARIANTS = ["cohort(query=shared, store=hashed(bits=14))", "perceptron(query=margin(b=0.3), scale=log-idf)", "cmtl(query=random(p=0.3))",
            "amtl(query=similarity)", "amtl(query=margin(b=0.1))", "peer(share=all)", "amlc(share=prediction)",
            "cmtl(query=shared(b=0.1, prior=counts))", "shampo(b=0.1, adaptive=counts)", "shampo-second-order(b=0.1, diagonal=true)",
            "shampo-second-order(b=0.1, aggressive=true)", "budget-forgetron(budget=60, kernel=polynomial)",
            "budget-projectron-shared(budget=60, query=margin(b=0.1))", "kernel-perceptron(query=margin(b=0.1))"]


def learners(program: str) -> list[str]:
    """Every learner of the program, those with a budget with one that is soon full, and the variants."""
    known = json.loads(subprocess.run([program, "describe", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    has_budget = lambda one: any(parameter["name"] == "budget" for parameter in one["parameters"])  # noqa: E731
    return [one["name"] + "(budget=60)" * has_budget(one) for one in known] + VARIANTS


def results(value):
    if isinstance(value, dict):
        kept = {k.replace("online_", "progressive_"): results(v) for k, v in value.items()}
        return {k: v for k, v in kept.items() if k not in ("seconds", "model_bytes", "peak_bytes")}
    return [results(v) for v in value] if isinstance(value, list) else value


def write_data(path: Path) -> None:
    """Eight tasks that agree on some features; a linear congruential generator, so that this needs nothing installed."""
    state = 12345

    def draw(n: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    with open(path, "w") as out:
        for n in range(4000):
            task = draw(8)
            features = sorted({1 + draw(3000) for _ in range(30)})
            score = sum((f * 7919 % 13) - 6 + ((f * (task + 3)) % 5 - 2) for f in features)
            values = " ".join(f"{f}:{1 + draw(9)}" for f in features)
            out.write(f"{1 if score > 0 else -1} task:t{task} {values} # {n}\n")


def main(programs: list[str]) -> int:
    if not programs or programs[0].startswith("-"):
        print("usage: python3 tools/check_same.py PROGRAM [PROGRAM ..]", file=sys.stderr)
        return 2
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.svm"
        write_data(data)
        for learner in learners(programs[0]):
            seen = {}
            for program in programs:
                for threads in ("1", "2"):
                    command = [program, "simulate", "--data", data, "--train-per-task", "300", "--learner", learner]
                    command += ["--runs", "4", "--passes", "2", "--threads", threads, "--per-task", "--json"]
                    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
                    seen[program, threads] = json.dumps(results(json.loads(out)))
            if len(set(seen.values())) != 1:
                different += 1
                print(f"{learner}: results differ between {', '.join(' '.join(k) for k in seen)}")
            else:
                print(f"{learner}: the same from {len(seen)} runs")
    return different


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
