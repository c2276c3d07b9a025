"""The wheel works where nothing else of this project is; the source archive holds all that builds it, and nothing more."""

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=["wheel alone", pytest.param("with what it asks for", marks=pytest.mark.check)])
def fresh(request, tmp_path_factory):
    """Runs code, and the folder of the program. The wheel alone is beside the libraries of this environment; what it asks for is
    installed into one of its own."""
    wheels = sorted((ROOT / "build/wheel").glob("quorate-*.whl"))
    if not wheels:
        pytest.skip("no wheel in build/wheel: ./run python makes it")
    folder = tmp_path_factory.mktemp("fresh")
    if request.param == "wheel alone":
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", folder, wheels[-1]],
                       check=True)  # fmt: skip
        return [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); exec(sys.argv.pop(1))"], folder / "bin"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", wheels[-1]], check=True)
    return [folder / "bin/python", "-c"], folder / "bin"


def test_the_readmes_first_example_runs_in_a_fresh_environment(fresh, tmp_path):
    code, shown = re.search(r"^```python\n(.*?)^```\n```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S).groups()
    done = subprocess.run([*fresh[0], code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (shown, "")


def test_the_wheel_brings_the_program_and_types(fresh, tmp_path):
    program = fresh[1] / "quorate"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    code = (
        "import quorate, pathlib; p = pathlib.Path(quorate.__file__).parent; "
        f"assert p.is_relative_to({str(fresh[1].parent)!r}); print(quorate.__version__, *[(p / f).is_file() for f in "
        "('py.typed', '_core.pyi', 'learners.pyi')])"
    )
    done = subprocess.run([*fresh[0], code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[1:] == ["True"] * 3
    assert done.stdout.split()[0] in version


def test_the_wheel_brings_the_licences_and_its_program_prints_them(fresh, tmp_path):
    name = "LICENCES-THIRD-PARTY.txt"
    code = f"from importlib.metadata import distribution as d; print(d('quorate').read_text('licenses/{name}'), end='')"
    brought = subprocess.run([*fresh[0], code], cwd=tmp_path, capture_output=True, check=True).stdout
    printed = subprocess.run([fresh[1] / "quorate", "version", "--licences"], capture_output=True, check=True).stdout
    assert brought == printed == (ROOT / name).read_bytes()


@pytest.mark.check
@pytest.mark.parametrize("fresh", ["with what it asks for"], indirect=True)
def test_what_is_missing_is_told_by_name(fresh, tmp_path):
    """Frames, plots and the rest are extras."""
    code = "import quorate; quorate.compare(data='x.csv', learners=['perceptron'])"
    done = subprocess.run([*fresh[0], code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "pip install pandas" in done.stderr.splitlines()[-1]


def test_the_source_archive_is_what_git_tracks_but_for_what_no_build_needs(tmp_path):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone")
    code = "import scikit_build_core.build as b, sys; print(b.build_sdist(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True, check=True)
    with tarfile.open(tmp_path / done.stdout.split()[-1]) as archive:
        held = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    tracked = set(subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    needed = {f for f in tracked if f.startswith(("src/", "apps/", "python/", "cmake/"))}
    needed |= {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "LICENCES-THIRD-PARTY.txt"}
    assert needed <= held, sorted(needed - held)[:5]
    assert held - {"PKG-INFO"} <= tracked, "nothing generated, no data"
