"""What research/reproduce.py promises: the papers' files are sound, a verdict says no more than was seen, a report is whole; and
the published table of five methods comes out."""
import json
import re
import sys
from pathlib import Path

import pytest

import quorate

RESEARCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RESEARCH), str(RESEARCH.parent / "tests/cli")]
import reproduce  # noqa: E402
import samples  # noqa: E402

PAPERS = sorted((RESEARCH / "papers").glob("*.json"))
MEASURES = {"accuracy", "balanced_accuracy", "f1", "auc", "progressive_f1", "mistakes", "labels", "updates", "error", "progressive_error",
            "brier", "calibration_error"}
GROUP = {"name": "Tiny", "data": "tiny/all.csv", "rows": [{"name": "All", "learner": "perceptron"},
                                                          {"name": "Half", "learner": "perceptron(query=random(p=0.5))"}]}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`run(*words)`: what the script prints, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "PAPERS", tmp_path / "papers")
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)

    def call(*words):
        reproduce.main([*map(str, words)])
        return capsys.readouterr().out
    return call


@pytest.fixture
def tiny(tmp_path):
    """`tiny(**changes)`: a papers folder with one paper, whose one group has these changes; data of 120 examples."""
    for folder in ("papers", "data/tiny"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data/tiny/all.csv").write_text(samples.csv(samples.rows(120, seed=3, noise=1.0)))

    def write(*, paper=(), **changes):
        content = {"title": "A tiny table", "source": "Nobody 1999", "runs": 3, "measures": ["labels", "mistakes"],
                   "groups": [{**GROUP, **changes}], **dict(paper)}
        (tmp_path / "papers/tiny.json").write_text(json.dumps(content))
    return write


def verdicts(text):
    return re.findall(r"^\*\*Verdict: (.*)\.\*\*$", text, re.MULTILINE)


def rows_of(text):
    """The cells of every table, by the first cell of the line."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {line[0]: line for line in lines if line[0] != "---"}


def banded(low, high):
    """Buying everything is 120 labels; the band is for that."""
    return [{**GROUP["rows"][0], "published": {"labels": 118}, "band": {"labels": [low, high]}}, GROUP["rows"][1]]


# ---- the papers' files

def test_the_list_names_every_paper_with_its_title(run):
    lines = run("list", "--papers", RESEARCH / "papers").splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[p.stem, json.loads(p.read_text())["title"]] for p in PAPERS]
    assert {"xu-table-1", "xu-figure-1", "saha-table-1", "saha-figure-1"} <= {line.split()[0] for line in lines}


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_a_papers_file_is_sound(tmp_path, path):
    paper = json.loads(path.read_text())
    source = r"docs/cohort.md" if path.stem.startswith("cohort-") else r"\d{4}.*, "  # ours has not been published
    assert paper["title"] and re.search(source, paper["source"]) and paper["runs"] >= 3
    shown = set(paper["measures"])
    assert shown <= MEASURES and ("figure" not in paper or set(paper["figure"]["y"]) <= MEASURES)
    (tmp_path / "a.csv").write_text(samples.csv(samples.rows(30)))
    for group in paper["groups"]:
        rows = {row["name"]: row for row in group["rows"]}
        assert len(rows) == len(group["rows"]) and isinstance(group["same_data"], bool)
        quorate.compare(tmp_path / "a.csv", [row["learner"].replace("{}", "0.5") for row in rows.values()])
        for row in rows.values():
            assert set(row.get("published", {})) <= shown
            assert row.get("published") or row.get("note") or group.get("note") or paper.get("note")
            for measure, (low, high) in row.get("band", {}).items():
                published = row.get("published", {}).get(measure, low)
                assert low <= high and (low <= published <= high or row.get("note")), (row["name"], measure)
        judged = any("band" in row for row in rows.values()) and "figure" not in paper
        assert judged == (group["same_data"] and "figure" not in paper)
        if not group["same_data"]:
            assert group.get("note") or paper.get("note")  # why the numbers do not compare
        assert "generate" in group or ("sweep" in group) == any("{}" in row["learner"] for row in rows.values())
        claims = group.get("knee", []) + ([group["lowest"]] if "lowest" in group else [])
        for claim in claims:
            assert {claim["measure"]} <= shown and {claim["method"], *claim.get("below", {})} <= set(rows)
            assert "{}" in rows[claim["method"]]["learner"] or "label_budgets" in group
        for a, b, slack in group.get("at_least", {}).get("claims", []):
            assert {a, b} <= set(rows) and 0 <= slack < 0.1
        if "alike" in group:
            assert {group["alike"]["method"], *group["alike"]["others"]} <= set(rows) and group["alike"]["at_most"] > 1
        if not judged and not claims and not {"at_least", "alike"} & set(group):
            order = group["order"]
            assert order["measure"] in shown
            named = order.get("rising") or order.get("falling") or [order["best"]]
            assert set(named) <= set(rows)
            assert "best" not in order or order["from"] in group["label_budgets"]
            for key, sign in (("rising", 1), ("falling", -1)):  # the order is the published one
                values = [sign * rows[name]["published"][order["measure"]] for name in order.get(key, [])]
                assert values == sorted(values)


# ---- verdicts

@pytest.mark.parametrize("low, high, verdict", [(120, 120, "reproduced"), (100, 130, "reproduced"),
                                                (121, 130, "not reproduced"), (100, 119.9, "not reproduced")])
def test_a_band_decides_where_the_data_are_the_papers_own(run, tiny, low, high, verdict):
    tiny(same_data=True, rows=banded(low, high))
    text = run("tiny")
    assert len(verdicts(text)) == 1 and verdicts(text)[0].startswith(verdict + ", ")
    row = rows_of(text)["All"]
    assert row[2:5] == ["118.0", "120.0 +- 0.0", "+2.0"] and row[-1] == verdict
    assert rows_of(text)["Half"][-1] == "-"


def test_one_method_outside_its_band_is_counted(run, tiny):
    rows = banded(120, 120)
    rows[1] = {**rows[1], "band": {"labels": [119, 121], "mistakes": [0, 1000]}}
    tiny(same_data=True, rows=rows)
    text = run("tiny")
    assert verdicts(text) == ["not reproduced, 1 of 2 methods outside their bands"]
    assert (rows_of(text)["All"][-1], rows_of(text)["Half"][-1]) == ("reproduced", "not reproduced")


@pytest.mark.parametrize("key, names, verdict", [
    ("rising", ["Half", "All"], "same"), ("rising", ["All", "Half"], "another"),
    ("falling", ["All", "Half"], "same"), ("falling", ["Half", "All"], "another")])
def test_other_data_are_judged_by_the_order_alone(run, tiny, key, names, verdict):
    tiny(same_data=False, rows=banded(100, 130), order={"measure": "labels", key: names})  # inside its band
    text = run("tiny")
    assert len(verdicts(text)) == 1 and verdicts(text)[0].startswith(f"{verdict} order of methods by labels")
    assert "reproduced" not in text


def test_methods_that_tie_have_no_order(run, tiny):
    twice = [{"name": name, "learner": "perceptron"} for name in ("A", "B")]
    for key in ("rising", "falling"):
        tiny(same_data=False, rows=twice, order={"measure": "labels", key: ["A", "B"]})
        assert verdicts(run("tiny"))[0].startswith("another order")


@pytest.mark.parametrize("changes", [{}, {"same_data": False}, {"same_data": True}], ids=str)
def test_without_a_band_or_an_order_nothing_is_called_reproduced(run, tiny, changes):
    tiny(**changes)
    text = run("tiny")
    assert len(verdicts(text)) == 1 and "reproduced" not in text and "same order" not in text


@pytest.mark.parametrize("best, verdict", [("All", "same order of methods, All is first"),
                                           ("Half", "another order of methods, Half is behind All at 50%, All at 100%")])
def test_the_best_of_a_figure_is_judged_from_the_budget_the_paper_names(run, tiny, best, verdict):
    tiny(label_budgets=["5%", "50%", "100%"], order={"measure": "labels", "best": best, "from": "50%"},
         rows=[GROUP["rows"][0], {"name": "Half", "learner": "perceptron(query=random(p=0.01))"}],
         paper={"figure": {"x": "labels", "y": ["labels"]}})
    text = run("tiny")
    assert verdicts(text)[0].startswith(verdict)
    assert rows_of(text)["All"][1:] == ["6.0", "60.0", "120.0"]


def test_a_best_without_a_first_budget_is_judged_at_every_budget(run, tiny):
    tiny(label_budgets=["5%", "50%"], order={"measure": "labels", "best": "Few"},
         rows=[GROUP["rows"][0], {"name": "Few", "learner": "perceptron(query=random(p=0.01))"}],
         paper={"figure": {"x": "labels", "y": ["labels"]}})
    assert verdicts(run("tiny"))[0].startswith("another order of methods, Few is behind All at 5%")


# ---- sweeps

def sweep(**changes):
    return {"sweep": {"parameter": "p", "values": [0.1, 0.5, 1]}, "paper": {"figure": {"x": "p", "y": ["labels"]}},
            "rows": [{"name": "Random", "learner": "perceptron(query=random(p={}))"}, GROUP["rows"][0]], **changes}


def test_a_sweep_runs_its_learner_at_every_value_and_the_others_once(run, tiny):
    tiny(**sweep(knee=[{"measure": "labels", "method": "Random", "below": {"All": 50}}]))
    rows = rows_of(run("tiny"))
    assert rows["labels at"] == ["labels at", "p=0.1", "p=0.5", "p=1"]
    assert rows["All"][1:] == ["120.0"] * 3 == [rows["Random"][3]] * 3
    assert float(rows["Random"][1]) < float(rows["Random"][2]) < 120


@pytest.mark.parametrize("least, said", [(50, "as expected: Random is best at p=0.1"), (119, "not as expected: Random is best")])
def test_a_knee_is_so_far_below_the_others_or_not(run, tiny, least, said):
    tiny(**sweep(knee=[{"measure": "labels", "method": "Random", "below": {"All": least}}]))
    assert verdicts(run("tiny"))[0].startswith(said)


def test_a_method_as_good_as_the_other_is_not_below_it(run, tiny):
    tiny(**sweep(knee=[{"measure": "labels", "method": "All", "below": {"Same": 0}}],
                 rows=[GROUP["rows"][0], {**GROUP["rows"][0], "name": "Same"}]))
    assert verdicts(run("tiny"))[0].startswith("not as expected: All is best")


def test_the_lowest_is_told_beside_the_papers_choice(run, tiny):
    tiny(**sweep(lowest={"measure": "labels", "method": "Random", "setting": "p=0.5"}))
    verdict = verdicts(run("tiny"))[0]
    assert verdict.startswith("lowest labels") and "with Random, p=0.1; the paper's good choice, Random, p=0.5" in verdict


def test_relations_between_methods_hold_or_are_told(run, tiny):
    claims = [["All", "Half", 0], ["Half", "All", 1000], ["Half", "All", 1]]
    tiny(at_least={"measure": "labels", "claims": claims})
    verdict = verdicts(run("tiny"))[0]
    assert verdict.startswith("2 of 3 relations hold; Half is ") and verdict.endswith(" points below All")


@pytest.mark.parametrize("claim", [{"at_least": {"measure": "labels", "claims": [["Random", "None", 0]]}},
                                   {"knee": [{"measure": "labels", "method": "None", "below": {}}]},
                                   {"knee": [{"measure": "labels", "method": "Random", "below": {"None": 1}}]},
                                   {"lowest": {"measure": "labels", "method": "Random", "setting": "p=7"}}])
def test_a_claim_about_what_is_not_run_is_bad_data(run, tiny, claim):
    tiny(**sweep(**claim))
    with pytest.raises(ValueError, match="a claim about '.*, which is not run"):
        run("tiny")


# ---- what is run

def test_ours_are_the_means_of_a_simulation(run, tiny):
    tiny(train_per_task=15)
    text = run("tiny", "--runs", 4, "--seed", 6, "--threads", 1)
    assert "4 runs, seeds 6 to 9" in text
    assert text == run("tiny", "--runs", 4, "--seed", 6, "--threads", 2)
    for row in GROUP["rows"]:
        alone = quorate.simulate("data/tiny/all.csv", row["learner"], train_per_task=15, runs=4, seed=6).attrs
        ours = [f"{alone['mean'][m]:.1f} +- {alone['std'][m]:.1f}" for m in ("labels", "mistakes")]
        assert [rows_of(text)[row["name"]][at] for at in (2, 3)] == ours


def test_a_share_of_the_data_is_what_is_learned_from(run, tiny):
    tiny(shares=[0.1, 0.5, 1.0], paper={"figure": {"x": "share", "y": ["labels"]}})
    assert rows_of(run("tiny"))["All"][1:] == ["12.0", "60.0", "120.0"]


# ---- reports and failures

def test_a_report_is_a_page_and_leaves_nothing_else(run, tiny, tmp_path):
    tiny(same_data=True, rows=banded(100, 130))
    assert run("all", "--report", "page.md") == ""
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("# ") and f"quorate {quorate.__version__}" in page
    assert "## tiny: A tiny table" in page and "Nobody 1999" in page and verdicts(page)[0].startswith("reproduced")
    assert page.endswith("\n") and not page.endswith("\n\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "page.md", "papers"]
    assert page.endswith(run("tiny").rstrip("\n") + "\n")


@pytest.mark.parametrize("report, link", [("page.md", "figures/tiny.svg"), ("docs/page.md", "../figures/tiny.svg")])
def test_a_report_links_the_picture_it_draws(run, tiny, tmp_path, report, link):
    (tmp_path / "docs").mkdir()
    tiny(label_budgets=["5%", "50%"], rows=banded(100, 130), paper={"figure": {"x": "labels", "y": ["labels"]}})
    run("tiny", "--figures", "figures", "--report", report)
    assert f"]({link})" in (tmp_path / report).read_text()
    picture = (tmp_path / "figures/tiny.svg").read_bytes()
    for word in (b"All", b"Half", b"labels bought", b"Tiny"):
        assert b"<!-- " + word + b" -->" in picture
    run("tiny", "--figures", "figures", "--report", report)
    assert (tmp_path / "figures/tiny.svg").read_bytes() == picture


def test_a_run_that_fails_leaves_the_old_report(run, tiny, tmp_path):
    tiny(data="none/all.csv")
    (tmp_path / "page.md").write_text("old\n")
    with pytest.raises(SystemExit, match="none/all.csv: no such file; ./run data none prepares it"):
        run("tiny", "--report", "page.md")
    assert (tmp_path / "page.md").read_text() == "old\n"


def test_an_unknown_name_says_what_there_is(run, tiny, capsys):
    tiny()
    with pytest.raises(SystemExit):
        run("tinny")
    assert "no paper is called 'tinny'; expected all, or one of tiny" in capsys.readouterr().err


# ---- the real thing

def test_the_published_table_of_five_methods_comes_out(run):
    data = RESEARCH.parent / "data"
    if not all(list((data / name).glob("all.*")) for name in ("landmine", "spam-b", "sentiment")):
        pytest.skip("no data; ./run data all prepares them")
    text = run("xu-table-1", "--papers", RESEARCH / "papers", "--data", data, "--runs", 10)
    assert "10 runs, seeds 1 to 10" in text
    groups = dict(zip(re.findall(r"^### (.*)$", text, re.MULTILINE), re.split(r"^### .*$", text, flags=re.MULTILINE)[1:]))
    assert list(groups) == ["Landmine, 29 tasks", "Spam B, 15 users", "Sentiment, 4 domains"]
    landmine, spam, sentiment = groups.values()
    for group in (landmine, spam):
        assert verdicts(group) == ["reproduced, all 5 methods within their bands"]
        assert [rows_of(group)[name][-1] for name in ("Random", "Independent", "PEER", "PEER+Share", "AMLC")] == [
            "reproduced"] * 5
    assert float(rows_of(landmine)["AMLC, rows=one"][6].split()[0]) > 2000 > 10 * 180
    assert "AMLC, rows=one: " in landmine  # with the explanation
    assert "order of methods" in verdicts(sentiment)[0] and "reproduced" not in sentiment
