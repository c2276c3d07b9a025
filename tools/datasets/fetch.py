"""Originals: read from a mirror or downloaded from the official address, and checked by their sha256."""
import gzip
import hashlib
import http.client
import lzma
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Callable


class Failure(Exception):
    """Ends the preparation of a set with one line on stderr and the exit code `code`."""

    code = 1


class DataError(Failure):
    """The data are not what they should be: checksum, format or counts."""


class FetchError(Failure):
    """A file or the network cannot be used."""

    code = 3


@dataclass(frozen=True)
class Source:
    """One original file. Compressed files are known by their content too, so any container of it will do."""

    path: str  # in a mirror
    size: int  # bytes, as stored in the mirror
    sha256: str  # as stored in the mirror
    content: str = ""  # sha256 uncompressed, if it is stored compressed
    url: str = ""  # official address of the file, or of an archive with it; "" if there is only a web page
    member: str = ""  # its name in that archive
    official: str = ""  # sha256 of the official file, where it is not the mirror's
    clean: Callable[[bytes], bytes] | None = None  # the mirror's form of another copy's bytes
    page: str = ""  # where a person finds it, if not at `url`

    @property
    def plain(self) -> str:
        return self.path.removesuffix(".xz").removesuffix(".gz")

    @property
    def folder(self) -> str:
        return self.path.split("/")[0]

    def places(self) -> list[str]:
        """Where it may lie in a mirror: as the mirror stores it, otherwise compressed, or in the official archive."""
        names = [self.path, self.plain, self.plain + ".gz"]
        if self.url:
            names.append(f"{self.folder}/{basename(self.url)}")
        return list(dict.fromkeys(names))


def basename(url: str) -> str:
    return url.rsplit("/", 1)[-1]


def uncompressed(data: bytes) -> bytes:
    if data[:6] == b"\xfd7zXZ\0":
        return lzma.decompress(data)
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def without_cr(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def member_of(archive: Path, name: str) -> bytes:
    """The file `name` of a zip or tar archive, whatever folder the archive keeps it in."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as z:
            for entry in z.namelist():
                if ("/" + entry).endswith("/" + name):
                    return z.read(entry)
    else:
        with tarfile.open(archive) as t:
            for entry in t:
                if entry.isfile() and ("/" + entry.name).endswith("/" + name):
                    return t.extractfile(entry).read()
    raise DataError(f"{archive}: holds no {name}")


def load(source: Source, path: Path, archive: bool) -> tuple[bytes, str]:
    """The source's uncompressed bytes from the file or archive at `path`, and the sha256 by which they were known."""
    known = {source.sha256, source.content, source.official} - {""}
    broken = (lzma.LZMAError, EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError)
    try:
        data = member_of(path, source.member) if archive else path.read_bytes()
        first = hashlib.sha256(data).hexdigest()
        plain = uncompressed(data)
    except broken as e:
        raise DataError(f"{path}: damaged ({e})") from None
    if first in known:
        return plain, source.content if first == source.sha256 and source.content else first
    for form in (plain, source.clean(plain) if source.clean else plain):
        digest = hashlib.sha256(form).hexdigest()
        if digest in known:
            return form, digest
    raise DataError(f"{path}: wrong checksum: {len(data)} bytes with sha256 {first}, "
                    f"expected {source.size} bytes with sha256 {source.sha256}")


class Origin:
    """Where a set's originals come from: the folder `mirror`, or, if that is None, downloads kept in `downloads`."""

    def __init__(self, mirror: Path | None, downloads: Path):
        self.mirror = mirror
        self.downloads = downloads

    def read(self, source: Source) -> tuple[bytes, str]:
        if self.mirror:
            for place in source.places():
                path = self.mirror / place
                if path.is_file():
                    return load(source, path, bool(source.member) and path.name == basename(source.url))
            raise FetchError(f"{self.mirror / source.path}: not in the mirror; {by_hand(source)}")
        if not source.url:
            raise FetchError(f"{source.plain}: has no address to download from; {by_hand(source)}")
        path = self.downloads / basename(source.url)
        if not path.exists():
            try:
                download(source.url, path, lambda part: load(source, part, bool(source.member)))
            except FetchError as e:
                raise FetchError(f"{e}; {by_hand(source)}") from None
        try:
            return load(source, path, bool(source.member))
        except DataError:
            path.unlink()  # so that the next run downloads it again
            raise


def by_hand(source: Source) -> str:
    what = basename(source.url or source.plain)
    place = f"{source.folder}/{what}" if source.url else source.plain
    return f"get {what} from {source.page or source.url}, put it at DIR/{place} and run with --mirror DIR"


def download(url: str, path: Path, check: Callable[[Path], object], tries: int = 4, pause: float = 1.0) -> None:
    """Downloads `url` to `path`, going on where an earlier attempt ended, and renames the file when whole and good.

    The unfinished file is `path` + ".part" and outlives a failed run. A file that `check` refuses is deleted. Gives up
    after `tries` attempts in a row that brought nothing new.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    idle = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        print(f"downloading {url}" + (f" from byte {before}" if before else ""), file=sys.stderr, flush=True)
        trouble = attempt(url, part, before)
        if not trouble:
            break
        idle = 0 if part.exists() and part.stat().st_size > before else idle + 1
        if idle >= tries:
            raise FetchError(f"{url}: {trouble}")
        time.sleep(pause * 2**idle)
    try:
        check(part)
    except DataError:
        part.unlink()
        raise
    part.replace(path)


def attempt(url: str, part: Path, have: int) -> str:
    """One request for the bytes from `have` on. Returns what went wrong, or "" if the file is whole."""
    headers = {"User-Agent": "quorate-datasets", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as reply:
            partial = reply.status == 206
            span = reply.headers.get("Content-Range", "")  # bytes FIRST-LAST/TOTAL
            if partial and not span.startswith(f"bytes {have}-"):
                part.unlink()
                return f"the server sent another part than asked for ({span})"
            total = span.rpartition("/")[2] if partial else reply.headers.get("Content-Length", "")
            with part.open("ab" if partial else "wb") as f:
                while block := reply.read(1 << 16):
                    f.write(block)
    except urllib.error.HTTPError as e:
        if e.code == 416:  # nothing after `have`: whole, or not a part of this file
            if e.headers.get("Content-Range", "").rpartition("/")[2] == str(have):
                return ""
            part.unlink()
        elif e.code < 500:
            raise FetchError(f"{url}: {e.code} {e.reason}") from None
        return f"{e.code} {e.reason}"
    except (OSError, http.client.HTTPException) as e:
        return str(getattr(e, "reason", e)) or type(e).__name__
    size = part.stat().st_size
    return f"the connection ended after {size} of {total} bytes" if total.isdigit() and size != int(total) else ""
