"""The files for packages fit the program, and what package/build.py made, if it is there, is complete. package/try.sh installs it."""

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "package").glob("*.service"))
DIST = ROOT / "build/package/dist"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_with_options_that_the_program_has(unit, program):
    text = unit.read_text()
    command, *options = re.search(r"^ExecStart=/usr/bin/quorate (.*)$", text, re.M)[1].split()
    shown = re.search(r'OPTIONS="(.*)"', text)[1]
    known = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
    assert {one for one in [*options, *shown.split()] if one.startswith("--")} <= set(re.findall(r"--[a-z-]+", known))
    assert f"/etc/default/{unit.stem}" in text and unit.stem == f"quorate-{command}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_hardened(unit):
    said = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True).stdout
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
    if exposure is None:
        pytest.skip("this systemd-analyze reads no unit offline")
    assert float(exposure[1]) < 3


def test_the_dockerfile_takes_what_the_build_puts_beside_it():
    code = (ROOT / "package/build.py").read_text()
    copied = re.findall(r"^COPY (?:--\S+ )?(\S+) ", (ROOT / "package/Dockerfile").read_text(), re.M)
    assert copied == ["${TARGETARCH}/quorate", "state"]
    assert 'CONTAINER / DEBIAN_NAMES[arch] / "quorate"' in code and 'CONTAINER / "state"' in code


def test_the_parts_of_the_sbom_are_those_of_the_licence_file():
    spec = importlib.util.spec_from_file_location("build", ROOT / "package/build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    text = (ROOT / "LICENCES-THIRD-PARTY.txt").read_text()
    parts = re.findall(r"^=+\n(\S.*)\nhttps://\S+\nLicence: (.+)$", text, re.M)
    assert build.contained() == parts and len(parts) > 10
    assert {name for name, _ in parts} == set(build.SOURCES) | set(build.OF_TOOLS)
    assert {licence for _, licence in parts} == set(build.LICENCES)
    pins = (ROOT / "pyproject.toml").read_text()
    assert all(tool.split("==")[0] in pins for tool in build.TOOLS if tool.startswith(("scikit", "nanobind")))


@pytest.mark.skipif(not (DIST / "SHA256SUMS").exists(), reason="needs ./run package")
def test_what_was_built_is_complete():
    sums = dict(reversed(line.split("  ")) for line in (DIST / "SHA256SUMS").read_text().splitlines())
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in DIST.iterdir() if path.name != "SHA256SUMS"}
    wheels = list(DIST.glob("*.whl"))
    assert wheels
    for wheel in wheels:
        assert wheel.stat().st_size < 10e6, wheel.name
        names = zipfile.ZipFile(wheel).namelist()
        ours = {f"quorate/{path.relative_to(ROOT / 'python/quorate')}" for path in (ROOT / "python/quorate").rglob("*.py")}
        assert ours <= set(names) and "quorate/_core.pyi" in names and "quorate/py.typed" in names
        assert [name for name in names if name.endswith("scripts/quorate")] and [name for name in names if "LICENCES-THIRD-PARTY" in name]
    (sbom,) = DIST.glob("*.spdx.json")
    assert all(part["versionInfo"] for part in json.loads(sbom.read_text())["packages"])
