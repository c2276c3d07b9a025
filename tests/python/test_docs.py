"""What README.md and docs/ show of the Python package does what they say, and is typed."""

import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def examples(page):
    return re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


EXAMPLES = examples("README.md") + examples("docs/python.md")


def run(*args, cwd):
    done = subprocess.run([sys.executable, *map(str, args)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("code, shown", EXAMPLES, ids=["estimator", "ask-and-tell"])
def test_the_examples_of_the_readme_print_what_it_shows(code, shown, tmp_path):
    assert run("-c", code, cwd=tmp_path) == shown


def test_spam_filters_for_15_people_from_200_labels(data):
    shown = run("docs/spam_filters.py", data("spam-b") / "all.svm", cwd=ROOT)
    right = {m[1]: (float(m[2]), int(m[3].replace(",", ""))) for m in re.finditer(r"^(.*\S) +([\d.]+)% right, +([\d,]+) l", shown, re.M)}
    assert right["together, 200 labels"][1] == right["labelled ten at a time"][1] == 200
    assert right["together, 200 labels"][0] > 95
    assert right["labelled ten at a time"][0] > 94
    assert right["independent, every label"][0] < 90, "what learning together is compared with"


def test_one_annotator_for_ten_digit_tasks():
    shown = run("docs/one_annotator.py", cwd=ROOT)
    doubtful, any_ = (float(p) for p in re.findall(r"([\d.]+)% of unseen digits right after 1,000 answers", shown))
    assert doubtful > any_ + 5
    assert re.search(r"^next: class = \d\?", shown, re.M)


def test_the_stubs_are_fresh():
    assert run("tools/stubs.py", cwd=ROOT) == (ROOT / "python/quorate/learners.pyi").read_text(), (
        "run: .venv/bin/python tools/stubs.py > python/quorate/learners.pyi"
    )
    assert run("tools/stubs.py", "options", cwd=ROOT) == (ROOT / "python/quorate/_options.py").read_text(), (
        "run: .venv/bin/python tools/stubs.py options > python/quorate/_options.py"
    )


def test_a_first_import_shows_no_warning_of_the_compiler():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in (ROOT / "python").rglob("*.py"):
            compile(source.read_text(), source, "exec")


def test_the_examples_are_typed_and_the_types_know_a_wrong_parameter(tmp_path):
    """mypy --strict, with the package as it is installed."""
    for number, (code, _) in enumerate([*EXAMPLES, *examples("docs/your-data.md")]):
        (tmp_path / f"readme{number}.py").write_text(code)
    (tmp_path / "wrong.py").write_text("import quorate\nquorate.Cohort(labels=3, nois=0.1)\nquorate.Shampo(b='x')\nquorate.Shampo(bits='x')\n")
    files = [*sorted(tmp_path.glob("*.py")), ROOT / "docs/spam_filters.py", ROOT / "docs/one_annotator.py"]
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nstrict = True\n[mypy-sklearn.*,scipy.*,pandas.*,pyarrow.*]\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path / "cache", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"Found 3 errors in 1 file (checked {len(files)} source files)" in done.stdout, done.stdout + done.stderr
    assert 'wrong.py:2: error: Unexpected keyword argument "nois"' in done.stdout
    assert 'wrong.py:3: error: Argument "b" to "Shampo" has incompatible type "str"' in done.stdout
    assert 'wrong.py:4: error: Argument "bits" to "Shampo" has incompatible type "str"' in done.stdout


def test_the_package_is_typed_within(tmp_path):
    """mypy --strict of all modules, with the stub that nanobind makes of the compiled one."""
    if tuple(map(int, pytest.importorskip("river").__version__.split(".")[:2])) < (0, 25):
        pytest.skip("River 0.25 changed its types")
    shutil.copytree(ROOT / "python/quorate", tmp_path / "quorate", ignore=shutil.ignore_patterns("*.so", "*.pyi", "__pycache__"))
    run("-m", "nanobind.stubgen", "-q", "-m", "quorate._core", "-o", tmp_path / "quorate/_core.pyi", cwd=ROOT)
    assert "Success" in run("-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path / "cache", "-p", "quorate", cwd=tmp_path)
