"""The words of docs/style.md that a machine can check: banned phrases in prose, help texts and comments.

    python3 tools/check_words.py [FILE...]

Prints each one with its place, and exits with 1 if there is any. Without arguments it checks FILES, which are clean; widen
them as others become clean. Code blocks and quoted code of Markdown pages are skipped, and lines of programs with "words: kept".
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ["README.md", "HACKING.md", "CHANGELOG.md", "docs/*.md", "docs/*.py", "docs/decisions/*.md", "research/papers/*.json", "tools/demo.py",
         "tools/readme.py", "bench/scale.py", "run", "apps/cli/*.h", "apps/cli/*.cc",
         "apps/server/*.h", "apps/server/*.cc", "cmake/*.cmake", "tests/fuzz/*.*",
         *(f"src/quorate/{room}/*.{ending}" for ending in ("h", "cc") for room in (
             "base", "params", "graph", "queries", "metrics", "stream", "session", "model", "desk", "store", "journal", "weights", "kernel",
             "experiments")),
         "src/quorate/algorithms/*.cc", "src/quorate/algorithms/cohort/*.h",
         "src/quorate/*.h", "src/quorate/*.cc", "python/*.h", "python/*.cc", "python/quorate/*.py", "python/quorate/labelstudio/*.py",
         "research/*.py"]
# The page that quotes the phrases.
EXCEPT = {"docs/style.md"}

# Phrase -> replacement. A space stands for any gap, a line break within a comment too.
BANNED = {
    r"told": "name what is known, given, or printed",
    r"lies?": "is stored, is",
    r"com(es?|ing) to": "becomes, is",
    r"or so": "a number",
    r"(at most |in any )?so many": "a number, or the variable's name",
    r"(that|which) (cannot|can not|could not) be": "the violated rule",
    r"(could|can) ?not be had": "is not available",
    r"(go|goes|gone|went) on with|gone through": "continue, read",
    r"the like|(its|their) (like|kin)": "the others by name",
    r"whoever|whomever": "the caller, the reader",
    r"(is|are|of|from|than|by) what": "a noun",
    r"who (asks|comes|leaves|learns|listens|waits|takes)": "a noun",
    r"(what|as) it has come": "resolved",
    r"mails?": "email",
    r"doubts?|doubtful|in doubt": "uncertain",
    r"sureness": "variance, certainty",
    r"house learner": "our learner",
    r"annotators who cost": "labels are expensive",
    r"how right|is right on": "accuracy",
    r"predicted right": "accuracy, progressive accuracy",
    r"labels budget|budget of labels": "label budget",
    r"leaves? nothing behind": "nothing is written",
    r"(that|as) there is not": "unknown",
    r"asked to mean": "is given two roles",
    r"tak(e|es|ing) turns": "alternate",
    r"may be given several times": "repeatable",
    r"true accuracy, 95": "accuracy ...; 95 % intervals",
    r"memory budget|budget of (bytes|memory)": "memory limit",
}
GAP = r"(?:\s|//[/!]?<?|#)+"
PATTERN = re.compile("|".join(rf"\b(?:{phrase.replace(' ', GAP)})\b" for phrase in BANNED), re.I)


def advice(found: str) -> str:
    return next(better for phrase, better in BANNED.items() if re.fullmatch(phrase.replace(" ", GAP), found, re.I))


def prose(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())  # noqa: E731
    if path.suffix != ".md":
        return re.sub(r"^.*words: kept.*$", blank, text, flags=re.M)
    return re.sub(r"^```.*?^```|^ {4}.*?$|`[^`\n]*`|\]\([^)\n]*\)|<https?:[^>\n]*>", blank, text, flags=re.M | re.S)


def problems(path: Path):
    text = prose(path)
    for match in PATTERN.finditer(text):
        place = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
        yield f"{place}: '{' '.join(match.group().split())}'; docs/style.md: {advice(match.group())}"


def clean_files():
    for pattern in FILES:
        paths = sorted(ROOT.glob(pattern))
        if not paths:
            sys.exit(f"tools/check_words.py: no file is called {pattern}")
        yield from (path for path in paths if path.relative_to(ROOT).as_posix() not in EXCEPT)


if __name__ == "__main__":
    found = [line for path in [Path(name).resolve() for name in sys.argv[1:]] or clean_files() for line in problems(path)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
