"""What `cmake --install` gives is enough for a program of one's own."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("QUORATE", ROOT / "build/release/quorate")).resolve().parent


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_ten_line_program_builds_against_the_installed_package(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    assert run(prefix / "bin/quorate", "--version").startswith("quorate ")
    shutil.copytree(ROOT / "tests/install/project", tmp_path / "project")
    run("cmake", "-S", tmp_path / "project", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-G", "Ninja")
    run("cmake", "--build", tmp_path / "build")
    out = run(tmp_path / "build/user")
    # ann's mail teaches ann and, by a third (K = 2), bob; the third mail finds no label left.
    assert out.splitlines() == ["ann: margin 0, asked", "bob: margin 0.333333, asked", "ann: margin 0.666667, not asked", "2 labels"]


def test_installed_headers_say_all_that_they_need(tmp_path):
    """Each public header compiles on its own, with nothing but the installed folder to look in."""
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    headers = sorted((prefix / "include").rglob("*.h"))
    assert headers
    source = tmp_path / "all.cc"
    for header in headers:
        source.write_text(f'#include "{header.relative_to(prefix / "include")}"\n')
        run("g++", "-std=c++20", "-fsyntax-only", "-I", prefix / "include", source)
