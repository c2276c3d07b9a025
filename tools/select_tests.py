"""Chooses tests for `./run test -k WORD` and `./run test --changed`; needs the built quorate_tests.

Prints the filter for GoogleTest (an empty line: no test), then one argument of pytest on each further line (none: no test).

A file that changed selects: itself, if it is a test; the test that mirrors it (src/quorate/ROOM/NAME.cc, tests/ROOM/NAME_test.cc);
the C++ tests compiled with its header; for a learner, the tests with its name; and the Python tests that have its name in theirs
or in their text. This is for the inner loop. Before a change gets in, all tests run.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
SUITE = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,", re.M)
NEITHER_BUILT_NOR_TESTED = {".clang-format", ".clang-tidy", ".gitignore", "LICENSE"}


def output(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"select_tests: {' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def plain(name: str) -> str:
    """budget-projectron, budget_projectron and BudgetProjectron are one word."""
    return re.sub(r"[-_ ]", "", name).lower()


def cpp_tests() -> list[str]:
    suite, names = "", []
    for line in output(BUILD / "tests/quorate_tests", "--gtest_list_tests").splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + name)
        elif name.endswith("."):
            suite = name
    return names


def python_files() -> list[Path]:
    return [p.relative_to(ROOT) for p in sorted(ROOT.glob("tests/**/test_*.py")) if "page" not in p.parts]


def by_word(word: str) -> tuple[list[str], list[str]]:
    return [name for name in cpp_tests() if plain(word) in plain(name)], pytest_with(word)


def pytest_with(word: str) -> list[str]:
    """The word as pytest takes it, and the files with tests of that word."""
    spelt = sorted({word, word.replace("-", "_"), word.replace("_", "-")})
    keyword = " or ".join(spelt)
    command = [ROOT / ".venv/bin/python", "-m", "pytest", "--collect-only", "-q", "-m", "not check and not full",
               "--ignore", "tests/server/page", "-k", keyword, "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    files = {line.split("::")[0] for line in done.stdout.splitlines() if "::" in line}
    return ["-k", keyword, *sorted(files)] if files else []


def suites_of(test: Path) -> set[str]:
    return set(SUITE.findall((ROOT / test).read_text())) if (ROOT / test).is_file() else set()


def included_by() -> dict[str, set[Path]]:
    """Header -> tests that were compiled with it, as ninja noted."""
    users: dict[str, set[Path]] = {}
    test = None
    for line in output("ninja", "-C", BUILD, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            made = re.match(r"tests/CMakeFiles/quorate_tests\.dir/(.+_test\.cc)\.o:", line)
            test = Path("tests") / made[1] if made else None
        elif test is not None and line.strip():
            path = Path(line.strip())
            header = path if path.is_absolute() else (BUILD / path)
            header = Path(*header.resolve().parts)
            if header.is_relative_to(ROOT):
                users.setdefault(str(header.relative_to(ROOT)), set()).add(test)
    return users


def changed_files() -> list[Path]:
    base = output("git", "merge-base", "main", "HEAD").strip()
    tracked = output("git", "diff", "--name-only", base).splitlines()
    new = output("git", "ls-files", "--others", "--exclude-standard").splitlines()
    return [Path(f) for f in sorted({*tracked, *new}) if f not in NEITHER_BUILT_NOR_TESTED]


def by_change() -> tuple[list[str], list[str]]:
    users, tests, words, pytests = included_by(), set(), set(), set()
    for path in changed_files():
        if path.match("tests/**/*_test.cc") or path.match("tests/*_test.cc"):
            tests.add(path)
        elif path.parts[0] in {"src", "apps"} and path.suffix in {".cc", ".h"}:
            tests |= users.get(str(path.with_suffix(".h")), set())
            rooms = path.parts[2:-1] if path.parts[0] == "src" else path.parts[1:-1]
            tests.add(Path("tests", *rooms, path.stem + "_test.cc"))
            if path.parts[:3] == ("src", "quorate", "algorithms") and (ROOT / path).is_file():
                words |= set(re.findall(r'\bname = "([a-z-]+)"', (ROOT / path).read_text()))
            pytests |= {f for f in python_files() if named(path.stem, f)}
        elif path.parts[0] == "tests" and path.name.startswith("test_"):
            pytests |= {path} if (ROOT / path).is_file() else set()
        elif path.parts[0] == "tests" and path.suffix == ".h":
            tests |= users.get(str(path), set())
        elif path.parts[0] == "python":
            pytests |= {f for f in python_files() if f.parts[1] == "python"}
        elif path.name in {"CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "LICENCES-THIRD-PARTY.txt"} or path.parts[0] == "cmake":
            pytests |= {f for f in python_files() if f.parts[1] == "install" or f.name == "test_wheel.py"}
        elif path.suffix == ".md" or len(path.parts) == 1 or path.parts[0] == ".ci":
            pytests |= {f for f in python_files() if f.parts[1] == "docs" or f.name == "test_docs.py"}
        else:
            pytests |= {f for f in python_files() if named(path.stem, f)}
    suites = set().union(*map(suites_of, tests)) if tests else set()
    chosen = [name for name in cpp_tests()
              if suite_name(name) in suites or any(plain(w) in plain(name.split(".")[1]) for w in words)]
    return chosen, [str(p) for p in sorted(pytests) if (ROOT / p).is_file() and not p.match("tests/server/page/*")]


def suite_name(test: str) -> str:
    """Prefix/Suite.Name/Param -> Suite."""
    return test.split(".")[0].split("/")[-1]


def named(stem: str, test: Path) -> bool:
    spelling = re.sub(r"[-_]", "[-_ ]", stem)
    return bool(re.search(rf"(?:\b|_){spelling}(?:\b|_)", f"{test.stem} {(ROOT / test).read_text()}"))


def main(arguments: list[str]) -> None:
    if len(arguments) == 2 and arguments[0] == "-k":
        cpp, pytest = by_word(arguments[1])
    elif arguments == ["--changed"]:
        cpp, pytest = by_change()
    else:
        sys.exit("select_tests: expected -k WORD or --changed")
    if not cpp and not pytest:
        sys.exit("select_tests: no test has " + (f"'{arguments[1]}' in its name" if arguments[0] == "-k" else "to do with the changed files"))
    print(":".join(cpp))
    for argument in pytest:
        print(argument)


if __name__ == "__main__":
    main(sys.argv[1:])
