import argparse
import os
import sys
import time
from pathlib import Path

from datasets.fetch import Failure
from datasets.output import prepare
from datasets.sets import SETS

CHECKOUT = Path(__file__).resolve().parents[2]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"datasets: {message} (see --help)\n")


def say(text: str) -> None:
    print(f"datasets: {text}", file=sys.stderr, flush=True)


def default_mirror() -> str:
    beside = CHECKOUT.parent / "shared" / "data"
    return os.environ.get("QUORATE_DATA", str(beside) if beside.is_dir() else "")


def parser() -> Parser:
    p = Parser(prog="datasets", description="Prepares data sets: originals are read, checked and written as text.",
               epilog="Exit codes: 1 data with a wrong checksum, format or count; 2 usage; 3 file or network trouble.")
    p.add_argument("names", nargs="+", metavar="NAME", help="a set; `all` for every set; `list` to list them")
    p.add_argument("--mirror", metavar="DIR", default=default_mirror(),
                   help="folder with the originals; '' to download them (default: environment QUORATE_DATA, else "
                        "../shared/data beside the checkout if it exists, else download)")
    p.add_argument("--out", metavar="DIR", type=Path, default=CHECKOUT / "data",
                   help="where to write, a folder for each set (default: data in the checkout)")
    p.add_argument("--force", action="store_true", help="prepare sets anew that are there already")
    return p


def run(name: str, mirror: Path | None, out: Path, force: bool) -> int:
    """Prepares one set; returns its exit code."""
    start = time.monotonic()
    try:
        job = prepare(name, SETS[name].write, mirror, out, force)
    except Failure as e:
        say(f"{name}: {e}")
        return e.code
    except OSError as e:
        say(f"{name}: {e}")
        return 3
    if not job:
        say(f"{name}: there already")
        return 0
    for what, count in job.counts.items():
        say(f"{name}: {what}: {count}")
    files = ", ".join(f"{file} ({size:,} bytes)" for file, size in job.outputs.items())
    say(f"{name}: wrote {files} in {time.monotonic() - start:.1f} s")
    return 0


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    if args.names == ["list"]:
        for name, of_name in SETS.items():
            print(f"{name:15} {of_name.about}")
        return 0
    names = list(SETS) if "all" in args.names else list(dict.fromkeys(args.names))
    for name in [*args.names, *names]:
        if name not in SETS and name != "all":
            parser().error(f"no set named {name}; there are {', '.join(SETS)}")
    mirror = Path(args.mirror) if args.mirror else None
    if mirror and not mirror.is_dir():
        say(f"{mirror}: no such folder (--mirror or QUORATE_DATA)")
        return 3
    codes = []
    for name in names:
        say(f"{name}: preparing from {mirror or 'the official addresses'}")
        codes.append(run(name, mirror, args.out, args.force))
    return next((code for code in codes if code), 0)  # of the first set that failed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
