"""The rules of the layout that no compiler checks. Prints what breaks them, one a line, and exits with 1."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Room of src/quorate -> rooms that it may include from. An arrow down may not point up.
LAYERS = {
    "base": set(),
    "params": {"base"},
    "store": {"base"},
    "metrics": {"base"},
    "weights": {"base", "params"},
    "kernel": {"base", "params", "weights"},
    "graph": {"base", "params"},
    "queries": {"base", "params"},
    "": {"base", "params", "weights", "queries", "store"},  # learner.h, registry.h, scaled_learner.h
    "algorithms": {"base", "params", "weights", "kernel", "graph", "queries", "store", ""},
    "stream": {"base", "store"},
    "engine": {"base", "params", "metrics", "store", "stream", ""},
    "experiments": {"base", "params", "metrics", "store", "stream", "engine", ""},
}
HEADER_KEYS = ("Source", "Round", "Shapes", "Cost", "Draws")
FORBIDDEN = re.compile(r"\b(std::cout|std::cerr|printf|fprintf|puts|exit|abort|getenv|system_clock|random_device)\s*[(<;]")
MACHINE_PATHS = re.compile(r"/(work|root|home)/[a-z]")


def problems():
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True)
    tracked = [Path(f) for f in files.stdout.splitlines() if (ROOT / f).is_file()]
    tests = {p for p in tracked if p.parts[0] == "tests"}
    for path in tracked:
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        if path.suffix in {".cc", ".h", ".py"} or path.name == "run":
            for number, line in enumerate(text.splitlines(), 1):
                if not line.isascii():
                    yield f"{path}:{number}: not ASCII"
                if MACHINE_PATHS.search(line) and path.name != "check_layout.py":
                    yield f"{path}:{number}: a path of one machine"
        if path.suffix in {".cc", ".h"} and path.parts[:2] == ("src", "quorate"):
            layer = path.parts[2] if len(path.parts) > 3 else ""
            for number, line in enumerate(text.splitlines(), 1):
                if include := re.match(r'#include "quorate/(?:(\w+)/)?\w+\.h"', line):
                    other = include.group(1) or ""
                    if other != layer and other not in LAYERS[layer] and "version.h" not in line:
                        yield f"{path}:{number}: {layer or 'registry'} may not include from {other or 'registry'}"
                code = line.split("//")[0]
                if FORBIDDEN.search(code):
                    yield f"{path}:{number}: the library does not print, exit, or read clock or environment"
            if layer == "algorithms":
                for key in HEADER_KEYS:
                    if not re.search(rf"^// {key}\b", text, re.M):
                        yield f"{path}: its header has no '{key}'"
            mirror = Path("tests", *path.parts[2:-1], f"{path.stem}_test.cc")
            if path.suffix == ".cc" and layer != "algorithms" and mirror not in tests:
                yield f"{path}: no {mirror}"
        if path.suffix not in {".svg", ".png"} and (ROOT / path).stat().st_size > 256 * 1024:
            yield f"{path}: larger than 256 KiB; data and generated files stay out"
    registry = (ROOT / "src/quorate/registry.cc").read_text()
    for path in sorted((ROOT / "src/quorate/algorithms").glob("*.cc")):
        for row in re.findall(r"^constexpr Algorithm (\w+) = ", path.read_text(), re.M):
            if not re.search(rf"\ball{{[^}}]*\b{row}\b", registry):
                yield f"{path.relative_to(ROOT)}: {row} is not in the registry"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) if found else "layout: nothing to complain of")
    sys.exit(1 if found else 0)
