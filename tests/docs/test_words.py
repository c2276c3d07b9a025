"""tools/check_words.py finds what docs/style.md bans, and nothing in the files that are clean."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(root: Path) -> subprocess.CompletedProcess[str]:
    script = (ROOT / "tools/check_words.py").read_text()
    (root / "tools").mkdir(exist_ok=True)
    (root / "tools/check_words.py").write_text(script)
    return subprocess.run([sys.executable, root / "tools/check_words.py"], capture_output=True, text=True, check=False)


def test_the_clean_files_are_clean():
    done = subprocess.run([sys.executable, ROOT / "tools/check_words.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_banned_phrase_is_found_with_its_line_across_a_comments_lines_too(tmp_path):
    (tmp_path / "README.md").write_text("# A page\n\n`told` is code.\n\n```sh\ntold\n```\n\nIt is told.\n")
    folder = tmp_path / "src/quorate/base"
    folder.mkdir(parents=True)
    (folder / "x.h").write_text("// Ten bytes or\n// so, in `so many` pieces.\nint lie;\n")
    done = check(tmp_path)
    lines = [line for line in done.stdout.splitlines() if "no file is called" not in line]
    assert done.returncode == 1
    assert [line.split("; ")[0] for line in lines] == [
        "README.md:9: 'told'",
        "src/quorate/base/x.h:1: 'or // so'",
        "src/quorate/base/x.h:2: 'so many'",
        "src/quorate/base/x.h:3: 'lie'",
    ]
