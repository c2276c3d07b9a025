"""What `cmake --install` gives is enough for a program of one's own."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("QUORATE", ROOT / "build/release/quorate")).resolve().parent


PUBLIC = sorted(line for line in (ROOT / "cmake/public_headers.txt").read_text().splitlines() if line.startswith("quorate/"))


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_ten_line_program_builds_against_the_installed_package(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    assert run(prefix / "bin/quorate", "--version").startswith("quorate ")
    for path, command in {"man/man1/quorate.1": ["man"], "bash-completion/completions/quorate": ["completion", "bash"],
                          "zsh/site-functions/_quorate": ["completion", "zsh"]}.items():
        assert (prefix / "share" / path).read_text() == run(prefix / "bin/quorate", *command)
    for name in ("LICENSE", "LICENCES-THIRD-PARTY.txt"):
        assert (prefix / "share/doc/quorate" / name).read_bytes() == (ROOT / name).read_bytes()
    assert sorted(str(h.relative_to(prefix / "include")) for h in (prefix / "include").rglob("*.h")) == PUBLIC
    assert not (prefix / "include/quorate/weights/linear.h").exists(), "a header of the inside"
    shutil.copytree(ROOT / "tests/install/project", tmp_path / "project")
    run("cmake", "-S", tmp_path / "project", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-G", "Ninja")
    run("cmake", "--build", tmp_path / "build")
    out = run(tmp_path / "build/user")
    learners = len(json.loads(run(BUILD / "quorate", "describe", "--json")))
    # ann's mail teaches ann and, by a third (K = 2), bob; the third mail finds no label left.
    assert out.splitlines() == ["ann: margin 0, asked", "bob: margin 0.333333, asked", "ann: margin 0.666667, not asked",
                                f"{learners} learners, a model of cohort", "2 labels"]


@pytest.mark.check
def test_installed_headers_say_all_that_they_need(tmp_path):
    """Each public header compiles on its own, with nothing but the installed folder to look in."""
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    headers = sorted((prefix / "include").rglob("*.h"))
    assert headers == [prefix / "include" / header for header in PUBLIC]
    for header in headers:
        run("g++", "-std=c++20", "-fsyntax-only", "-x", "c++", "-I", prefix / "include", header)


LEARNER = """
namespace quorate::TOY {
struct Toy {
  static constexpr std::string_view name = "toy", title = "Toy", source = "none";
  struct Params {
    Query query;
    static constexpr auto fields() { return std::tuple{query_field(&Params::query)}; }
  };
  Toy(const Params& params, const LearnerContext& context) : query(params.query, context) {}
  double score(const Example&) const { return 0; }
  void prefetch(const Example&) const {}
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) { query(round, rng, out); }
  bool learn(const Example&, const Decision&, double, Rng&) { return false; }
  double influence(Task, Task) const { return 0; }
  double VERB(double margin) const { return margin; }
  void CHECK() const {}
  QueryPolicy<Query> query;
  template <class S> static void state(S& s, auto&& v) { v("query", s.query); }
};
constexpr Algorithm kToy = registered<Toy, Capabilities{CAN}>();
const Algorithm* use() { return &kToy; }
}
"""


@pytest.mark.parametrize(("toys", "error"), [
    ([("log_odds", "check", ".calibrated = true"), ("other_verb", "check", "")], None),
    ([("log_odd", "check", ".calibrated = true")], "optional verbs are not those"),  # promised, and misspelt
    pytest.param([("log_odds", "check", "")], "optional verbs are not those", marks=pytest.mark.check),  # there, not promised
    pytest.param([("log_odds", "chekc", ".calibrated = true")], "constraint", marks=pytest.mark.check),  # a verb that all must have
])
def test_a_learner_compiles_only_with_the_verbs_that_its_row_promises(tmp_path, toys, error):
    source = tmp_path / "toy.cc"
    source.write_text('#include "quorate/scaled_learner.h"\n' + "".join(
        LEARNER.replace("TOY", f"toy_{n}").replace("VERB", verb).replace("CHECK", check).replace("CAN", can)
        for n, (verb, check, can) in enumerate(toys)))
    done = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-I", ROOT / "src", source], capture_output=True, text=True)
    assert (done.returncode == 0) == (error is None), done.stderr
    if error:
        assert error in done.stderr
