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
    "journal": {"base", "store"},
    "metrics": {"base"},
    "weights": {"base", "params"},
    "graph": {"base", "params"},
    "queries": {"base", "params"},
    "kernel": {"base", "params", "weights", "graph", "queries"},
    "": {"base", "params", "weights", "queries", "store"},  # learner.h, registry.h, scaled_learner.h
    "algorithms": {"base", "params", "weights", "kernel", "graph", "queries", "store", ""},
    "stream": {"base", "params", "store"},
    "session": {"base", "params", "metrics", "store", ""},
    "model": {"base", "params", "metrics", "store", "stream", "session", ""},
    "desk": {"base", "params", "metrics", "store", "stream", "session", "model", ""},
    "share": {"base", "params", "store", "stream", "session", "model", "desk", ""},
    "experiments": {"base", "params", "metrics", "store", "stream", "session", "model", "desk", "share", ""},
}
HEADER_KEYS = ("Source", "Round", "Shapes", "Cost", "Draws")
FORBIDDEN = re.compile(r"\b(std::cout|std::cerr|printf|fprintf|puts|exit|abort|getenv|system_clock|random_device)\s*[(<;]")
MACHINE_PATHS = re.compile(r"/(work|root|home)/[a-z]")


# What has a row of every learner; the registry itself, what `describe` writes and the tests say of the others.
LIST_OF_LEARNERS = "bench/learners.cc"  # other lists are made from `quorate describe --json`; what a learner costs is said here
PUBLIC = Path("cmake/public_headers.txt")
INCLUDE = re.compile(r'^#include "(quorate/[^"]+)"', re.M)


def public_headers():
    """What breaks the list of installed headers: its first part, and all that those include."""
    parts = [[line for line in part.splitlines() if not line.startswith("#")] for part in (ROOT / PUBLIC).read_text().split("\n\n")]
    if len(parts) != 2:
        yield f"{PUBLIC}: expected two parts, a blank line between them"
        return
    reached, left = set(), list(parts[0])
    while left:
        header = left.pop()
        path = ROOT / "src" / (header + ".in" if header == "quorate/version.h" else header)
        if header in reached or not path.is_file():
            if not path.is_file():
                yield f"{PUBLIC}: no {header}"
            continue
        reached.add(header)
        text = path.read_text()
        left += INCLUDE.findall(text)
        if header in parts[0] and header != "quorate/version.h" and "Thread-safety" not in text:
            yield f"{path.relative_to(ROOT)}: public, and not a word on thread-safety"
    listed = set(parts[0] + parts[1])
    yield from (f"{PUBLIC}: without {header}, which a public header includes" for header in sorted(reached - listed))
    yield from (f"{PUBLIC}: {header}, which no public header includes" for header in sorted(listed - reached))


def problems():
    yield from public_headers()
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
                if include := re.match(r'#include "quorate/(?:(\w+)/)?(?:\w+/)?\w+\.h"', line):
                    other = include.group(1) or ""
                    if other != layer and other not in LAYERS[layer] and "version.h" not in line:
                        yield f"{path}:{number}: {layer or 'registry'} may not include from {other or 'registry'}"
                code = line.split("//")[0]
                if FORBIDDEN.search(code):
                    yield f"{path}:{number}: the library does not print, exit, or read clock or environment"
            if layer == "algorithms" and path.suffix == ".cc":
                for key in HEADER_KEYS:
                    if not re.search(rf"^// {key}\b", text, re.M):
                        yield f"{path}: its header has no '{key}'"
            mirror = Path("tests", *path.parts[2:-1], f"{path.stem}_test.cc")
            if path.suffix == ".cc" and layer != "algorithms" and mirror not in tests:
                yield f"{path}: no {mirror}"
        if path.suffix in {".cc", ".h"} and path.parts[:2] == ("apps", "server"):
            if path.name not in {"http.cc", "http_client.cc"} and "#include <boost/" in text:
                yield f"{path}: Boost compiles slowly; only http.cc and http_client.cc may include it"
            if path.suffix == ".cc" and Path("tests/server", f"{path.stem}_test.cc") not in tests:
                yield f"{path}: no tests/server/{path.stem}_test.cc"
        if path.suffix not in {".svg", ".png"} and (ROOT / path).stat().st_size > 256 * 1024:
            yield f"{path}: larger than 256 KiB; data and generated files stay out"
    registry = (ROOT / "src/quorate/registry.cc").read_text()
    for path in sorted((ROOT / "src/quorate/algorithms").glob("*.cc")):
        for name in re.findall(r'\bname = "([\w-]+)",\s*title = ', path.read_text()):
            if not re.search(rf'"{name}["(]', (ROOT / LIST_OF_LEARNERS).read_text()):
                yield f"{LIST_OF_LEARNERS}: no row of {name}"
        for row in re.findall(r"^constexpr Algorithm (\w+) = ", path.read_text(), re.M):
            if not re.search(rf"\ball{{[^}}]*\b{row}\b", registry):
                yield f"{path.relative_to(ROOT)}: {row} is not in the registry"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) if found else "layout: no rule is broken")
    sys.exit(1 if found else 0)
