"""A set's folder: written beside its final place, renamed when whole, with a stamp that says what it was made from."""
import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable

from datasets import VERSION
from datasets.fetch import DataError, Origin, Source


def complete(folder: Path) -> bool:
    """Whether `folder` holds a whole set of this version."""
    try:
        stamp = json.loads((folder / "stamp.json").read_text())
        return stamp["version"] == VERSION and all(
            (folder / name).stat().st_size == size for name, size in stamp["outputs"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


class Job:
    """One set being prepared: gives its originals, takes its files, remembers the counts that were checked."""

    def __init__(self, name: str, folder: Path, origin: Origin):
        self.name = name
        self.folder = folder
        self.origin = origin
        self.sources: dict[str, str] = {}
        self.outputs: dict[str, int] = {}
        self.counts: dict[str, object] = {}

    def read(self, source: Source) -> bytes:
        """The checked, uncompressed bytes of an original."""
        data, self.sources[source.path] = self.origin.read(source)
        return data

    @contextmanager
    def create(self, name: str):
        """A text file of the set, open for writing."""
        path = self.folder / name
        with path.open("w", encoding="utf-8", newline="\n") as f:
            yield f
        self.outputs[name] = path.stat().st_size

    def expect(self, what: str, found, wanted) -> None:
        """Records a count and refuses the set if it is not the published one."""
        if found != wanted:
            raise DataError(f"{what}: found {found}, expected {wanted}")
        self.counts[what] = found

    def expect_each(self, what: str, found: Iterable, wanted) -> None:
        """The same for a count that every task, class or row has alike."""
        for count in found:
            self.expect(what, count, wanted)

    def stamp(self) -> str:
        return json.dumps({"set": self.name, "version": VERSION, "sources": self.sources, "outputs": self.outputs,
                           "counts": self.counts}, indent=1) + "\n"


def prepare(name: str, write, mirror: Path | None, out: Path, force: bool = False) -> Job | None:
    """Prepares the set `name` in `out`/`name` with the function `write`; returns None if it is there already."""
    folder, partial, old = out / name, out / f".{name}.partial", out / f".{name}.old"
    if old.exists():  # a run was stopped between the two renames below, or just after them
        if folder.exists():
            shutil.rmtree(old)
        else:
            old.rename(folder)
    if partial.exists():
        shutil.rmtree(partial)
    if complete(folder) and not force:
        return None
    downloads = folder / ".download"
    partial.mkdir(parents=True)
    try:
        job = Job(name, partial, Origin(mirror, downloads))
        write(job)
        (partial / "stamp.json").write_text(job.stamp(), encoding="ascii")
        if downloads.exists():  # kept: addresses go away
            downloads.rename(partial / ".download")
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
    finally:
        if partial.exists():
            shutil.rmtree(partial)
    if old.exists():
        shutil.rmtree(old)
    return job
