"""tools/check_words.py finds what docs/style.md bans, and nothing in the files that are clean."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(*files: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, root / "tools/check_words.py", *files], capture_output=True, text=True, check=False)


def test_the_clean_files_are_clean():
    done = check()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_banned_phrase_is_found_with_its_line_across_a_comments_lines_too(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/check_words.py").write_text((ROOT / "tools/check_words.py").read_text())
    page, header = tmp_path / "page.md", tmp_path / "x.h"
    page.write_text("# A page\n\n`told` is code.\n\n```sh\ntold\n```\n\nIt is told.\n")
    header.write_text("// Ten bytes or\n// so, in `so many` pieces.\nint lie;\nint told;  // words: kept\n")
    done = check(page, header, root=tmp_path)
    assert done.returncode == 1
    assert [line.split("; ")[0] for line in done.stdout.splitlines()] == [
        "page.md:9: 'told'",
        "x.h:1: 'or // so'",
        "x.h:2: 'so many'",
        "x.h:3: 'lie'",
    ]
