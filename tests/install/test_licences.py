"""LICENCES-THIRD-PARTY.txt names what the build finds, docs/install.md has the same table, and the program prints the file."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "LICENCES-THIRD-PARTY.txt"
TEXT = FILE.read_text()
RULE = "=" * 100 + "\n"

# What CMake finds, and the library's name in the file. robin-map is a part of nanobind.
CONTAINED = {
    "Boost": "Boost", "CLI11": "CLI11", "Eigen3": "Eigen", "LibLZMA": "XZ Utils (liblzma)", "OpenSSL": "OpenSSL", "ZLIB": "zlib",
    "libutf8proc": "utf8proc", "libzstd": "Zstandard", "nanobind": "nanobind", "nlohmann_json": "nlohmann/json", "simdjson": "simdjson",
    "utf8proc.h": "utf8proc", "xxhash.h": "xxHash",
}  # fmt: skip
# What zig links into released files.
OF_THE_COMPILER = {"LLVM (libc++, libc++abi, libunwind)", "musl", "Zig (compiler-rt)"}
OF_THE_SYSTEM = {"PkgConfig": "pkg-config", "Python": "Python", "rdkafka>=2": "librdkafka", "Threads": "GNU C library, with threads"}


def sections():
    """Name -> home page, licence, use and notices, of each library in the file."""
    found = {}
    for part in TEXT.split(RULE)[1:]:
        if match := re.match(r"(.+)\n(https://\S+)\nLicence: (.+)\nUse: (.+)\n\n", part):
            found[match[1]] = (*match.groups()[1:], part[match.end() :])
    return found


def test_every_library_that_cmake_finds_is_named():
    found = set()
    for path in ("CMakeLists.txt", "python/CMakeLists.txt", "cmake/quorate-config.cmake"):
        code = re.sub(r"#.*", "", (ROOT / path).read_text())
        found |= set(re.findall(r"\bfind_(?:package|dependency)\(\s*(\w+)", code))
        found |= set(re.findall(r"\bfind_(?:path|library|file)\(\s*\w+\s+(?:NAMES\s+)?([\w.]+)", code))
        for modules in re.findall(r"\bpkg_(?:check|search)_modules?\(\s*\w+([^)]*)\)", code):
            found |= {word for word in modules.split() if not word.isupper()}
        assert "FetchContent" not in code and "add_subdirectory(ext" not in code
    assert found == set(CONTAINED) | set(OF_THE_SYSTEM)
    assert set(sections()) == set(CONTAINED.values()) | {"robin-map"} | OF_THE_COMPILER
    for name in OF_THE_SYSTEM.values():
        assert re.search(rf"^{re.escape(name)}  .*https?://", TEXT, re.M), name


def test_every_library_has_its_notice_and_every_text_is_there_once():
    texts = [part.split("\n", 1)[0].removeprefix("Text: ") for part in TEXT.split(RULE) if part.startswith("Text: ")]
    assert len(texts) == len(set(texts))
    for name, (_, licence, _, notices) in sections().items():
        assert re.search(r"Copyright.*\w", notices), name
        own = "Redistribution" in notices or "Permission" in notices or "without any express" in notices
        named = [text for text in texts if f"The text of the {text}" in notices or "text of that" in notices and text == licence]
        assert own or named, name
    beginnings = {"Apache License 2.0": "Version 2.0, January 2004", "Boost Software License 1.0": "August 17th, 2003",
                  "MIT licence": "to deal\nin the Software", "Mozilla Public License 2.0": "1. Definitions\n----"}  # fmt: skip
    assert set(texts) == set(beginnings)
    assert all(TEXT.split(f"Text: {text}\n")[1].split(RULE)[0].count(words) == 1 for text, words in beginnings.items())
    assert TEXT.count("Version 2.0, January 2004") == TEXT.count("1.1. \"Contributor\"") == 1


def test_the_lists_in_the_file_and_in_the_readme_are_the_sections():
    rows = [(name, licence, use) for name, (_, licence, use, _) in sections().items()]
    listed = TEXT.split("\n\nUsed, but neither")[0].split("\n\n")[-1].splitlines()
    assert [tuple(re.split(r" {2,}", line)) for line in listed] == rows
    table = (ROOT / "docs/install.md").read_text().split("\n## Licences\n")[1]
    shown = re.findall(r"^\| \[(.+)\]\((\S+)\) \| (.+) \| (.+) \|$", table, re.M)
    assert shown == [(name, page, licence, use) for name, (page, licence, use, _) in sections().items()]


def test_the_program_prints_the_file_byte_for_byte(program):
    done = subprocess.run([program, "version", "--licences"], capture_output=True, check=True)
    assert done.stdout == FILE.read_bytes() and done.stderr == b""
