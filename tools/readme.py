"""Replaces the output shown under each console command and each Python example of README.md and of pages in docs/ by
its output now. Run it with a Python that has the package, as .venv/bin/python, when an output changes on purpose.

The test reads the pages in the same way (`steps`): the blocks of a page run in their order, in one folder. The lines of a console
block that start with $ are commands, each followed by its output. A python block is followed by a text block with its output, and
an sh block of docs/your-data.md makes the files that the page needs.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/tour.md", "docs/python.md", "docs/your-data.md")
BLOCKS = re.compile(r"^```console\n(?P<console>.*?)^```$|^```python\n(?P<python>.*?)^```\n```text\n(?P<shown>.*?)^```$"
                    r"|^```sh\n(?P<sh>.*?)^```$", re.M | re.S)
COMMANDS = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)

Run = Callable[[list[str]], str]
"""Runs a program in the page's folder, and returns what it wrote to standard output."""


def rewritten(page: str, run: Run) -> str:
    """The page with the output that each of its examples has now."""

    def console(match: re.Match[str]) -> str:
        return f"$ {match[1]}\n{run(['bash', '-c', match[1]])}"

    def block(match: re.Match[str]) -> str:
        if match["console"] is not None:
            return f"```console\n{COMMANDS.sub(console, match['console'])}```"
        if match["python"] is not None:
            return f"```python\n{match['python']}```\n```text\n{run([sys.executable, '-c', match['python']])}```"
        if page == "docs/your-data.md":
            run(["bash", "-c", match["sh"]])
        return match[0]

    return BLOCKS.sub(block, (ROOT / page).read_text())


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("data", "build"):
                (Path(folder) / name).symlink_to(ROOT / name)

            def run(command: list[str], folder: str = folder) -> str:
                return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout

            (ROOT / page).write_text(rewritten(page, run))


if __name__ == "__main__":
    main()
