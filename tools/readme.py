"""Replaces the output shown under each console command of README.md and docs/tour.md by its output now. Run it when an
output changes on purpose."""

import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data", "build"):
            (Path(folder) / name).symlink_to(ROOT / name)

        def rerun(block: re.Match) -> str:
            command = block.group(1)
            out = subprocess.run(["bash", "-c", command], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
            return f"```console\n$ {command}\n{out}```"

        for page in (ROOT / "README.md", ROOT / "docs/tour.md"):
            page.write_text(re.sub(r"```console\n\$ (.*?)\n.*?```", rerun, page.read_text(), flags=re.S))


if __name__ == "__main__":
    main()
