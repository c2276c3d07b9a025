"""docs/format.md names every key and every group of tensors that model files have, and none that they have not."""

import json
import re
import struct
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs/format.md").read_text()
MODELS = {
    "binary": ["--learner", "cohort", "--keep-labels", "1MB", "--audit", "0.2", "--time-parts", "--rounds", "each"],
    "classes": ["--learner", "cohort", "--classes", "one-vs-rest", "--task-column", "user"],
    "plain": ["--learner", "perceptron", "--keep-labels", "0"],
}


def named(table):
    """The names in the first column of the table with this header."""
    rows = PAGE.split(table)[1].split("\n\n")[0].splitlines()
    return {name for row in rows if row.startswith("| `") for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def header(path):
    data = path.read_bytes()
    return json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])


def test_the_page_names_what_model_files_have(quorate):
    classes = "".join(f"{'abc'[i % 3]},u{i % 5},{i % 3 + i % 7},2026-11-{1 + i % 20:02}\n" for i in range(60))
    (quorate.folder / "classes.csv").write_text("label,user,n,day\n" + classes)
    (quorate.folder / "binary.csv").write_text("label,user,n,day\n" + re.sub("^a", "yes", re.sub("^[bc]", "no", classes, flags=re.M), flags=re.M))
    keys, tensors = set(), set()
    for name, options in MODELS.items():
        data = "classes.csv" if name == "classes" else "binary.csv"
        quorate.ok("train", "--data", data, "--model", name, *options, "--quiet")
        found = header(quorate.folder / name)
        keys |= found.pop("__metadata__").keys()
        tensors |= found.keys()
    assert keys == named("| key of `__metadata__` | value |")
    groups = named("| tensors | what they hold |")
    fits = {group: re.compile(re.escape(group).replace(r"\*", ".*")) for group in groups}
    assert {group for group, fit in fits.items() if not any(map(fit.fullmatch, tensors))} == set()
    assert {tensor for tensor in tensors if not any(fit.fullmatch(tensor) for fit in fits.values())} == set()
