"""Puts what the commands of README.md's tour print now under each of them. Run it when an output changes on purpose."""

import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data", "build"):
            (Path(folder) / name).symlink_to(ROOT / name)

        def rerun(block: re.Match) -> str:
            command = block.group(1)
            out = subprocess.run(["bash", "-c", command], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
            return f"```console\n$ {command}\n{out}```"

        readme.write_text(re.sub(r"```console\n\$ (.*?)\n.*?```", rerun, text, flags=re.S))


if __name__ == "__main__":
    main()
