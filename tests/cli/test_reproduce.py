"""What `quorate reproduce` promises: the papers' files are sound, a verdict says no more than was seen, a report is whole; and
the published table of five methods comes out."""
import json
import re
import shutil

import pytest
import samples

from program import CHECKOUT

PAPERS = sorted((CHECKOUT / "papers").glob("*.json"))
MEASURES = {"accuracy", "balanced_accuracy", "f1", "auc", "progressive_f1", "mistakes", "labels", "updates", "error", "progressive_error",
            "brier", "calibration_error"}
GROUP = {"name": "Tiny", "data": "tiny/all.csv", "rows": [{"name": "All", "learner": "perceptron"},
                                                          {"name": "Half", "learner": "perceptron(query=random(p=0.5))"}]}


@pytest.fixture
def tiny(quorate):
    """`tiny(**changes)`: a papers folder with one paper, whose one group has these changes; data of 120 examples."""
    for folder in ("papers", "data/tiny"):
        (quorate.folder / folder).mkdir(parents=True)
    (quorate.folder / "data/tiny/all.csv").write_text(samples.csv(samples.rows(120, seed=3, noise=1.0)))

    def write(*, paper=(), **changes):
        content = {"title": "A tiny table", "source": "Nobody 1999", "runs": 3, "measures": ["labels", "mistakes"],
                   "groups": [{**GROUP, **changes}], **dict(paper)}
        (quorate.folder / "papers/tiny.json").write_text(json.dumps(content))
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

def test_the_list_names_every_paper_with_its_title(quorate):
    lines = quorate.ok("reproduce", "list", cwd=CHECKOUT).out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[p.stem, json.loads(p.read_text())["title"]] for p in PAPERS]
    assert {"xu-table-1", "xu-figure-1", "saha-table-1", "saha-figure-1"} <= {line.split()[0] for line in lines}


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_a_papers_file_is_sound(quorate, path):
    paper = json.loads(path.read_text())
    source = r"docs/cohort.md" if path.stem.startswith("cohort-") else r"\d{4}.*, "  # ours has not been published
    assert paper["title"] and re.search(source, paper["source"]) and paper["runs"] >= 3
    shown = set(paper["measures"])
    assert shown <= MEASURES and ("figure" not in paper or set(paper["figure"]["y"]) <= MEASURES)
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(30)))
    for group in paper["groups"]:
        rows = {row["name"]: row for row in group["rows"]}
        assert len(rows) == len(group["rows"]) and isinstance(group["same_data"], bool)
        quorate.ok("compare", "--data", "a.csv", *(w for row in rows.values() for w in ("--learner", row["learner"].replace("{}", "0.5"))))
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
def test_a_band_decides_where_the_data_are_the_papers_own(quorate, tiny, low, high, verdict):
    tiny(same_data=True, rows=banded(low, high))
    text = quorate.ok("reproduce", "tiny").out
    assert len(verdicts(text)) == 1 and verdicts(text)[0].startswith(verdict + ", ")
    row = rows_of(text)["All"]
    assert row[2:5] == ["118.0", "120.0 +- 0.0", "+2.0"] and row[-1] == verdict
    assert rows_of(text)["Half"][-1] == "-"


def test_one_method_outside_its_band_is_counted(quorate, tiny):
    rows = banded(120, 120)
    rows[1] = {**rows[1], "band": {"labels": [119, 121], "mistakes": [0, 1000]}}
    tiny(same_data=True, rows=rows)
    text = quorate.ok("reproduce", "tiny").out
    assert verdicts(text) == ["not reproduced, 1 of 2 methods outside their bands"]
    assert (rows_of(text)["All"][-1], rows_of(text)["Half"][-1]) == ("reproduced", "not reproduced")


@pytest.mark.parametrize("key, names, verdict", [
    ("rising", ["Half", "All"], "same"), ("rising", ["All", "Half"], "another"),
    ("falling", ["All", "Half"], "same"), ("falling", ["Half", "All"], "another")])
def test_other_data_are_judged_by_the_order_alone(quorate, tiny, key, names, verdict):
    tiny(same_data=False, rows=banded(100, 130), order={"measure": "labels", key: names})  # inside its band
    text = quorate.ok("reproduce", "tiny").out
    assert len(verdicts(text)) == 1 and verdicts(text)[0].startswith(f"{verdict} order of methods by labels")
    assert "reproduced" not in text


def test_methods_that_tie_have_no_order(quorate, tiny):
    twice = [{"name": name, "learner": "perceptron"} for name in ("A", "B")]
    for key in ("rising", "falling"):
        tiny(same_data=False, rows=twice, order={"measure": "labels", key: ["A", "B"]})
        assert verdicts(quorate.ok("reproduce", "tiny").out)[0].startswith("another order")


@pytest.mark.parametrize("changes", [{}, {"same_data": False}, {"same_data": True}], ids=str)
def test_without_a_band_or_an_order_nothing_is_called_reproduced(quorate, tiny, changes):
    tiny(**changes)
    text = quorate.ok("reproduce", "tiny").out
    assert len(verdicts(text)) == 1 and "reproduced" not in text and "same order" not in text


@pytest.mark.parametrize("best, verdict", [("All", "same order of methods, All is first"),
                                           ("Half", "another order of methods, Half is behind All at 50%, All at 100%")])
def test_the_best_of_a_figure_is_judged_from_the_budget_the_paper_names(quorate, tiny, best, verdict):
    tiny(label_budgets=["5%", "50%", "100%"], order={"measure": "labels", "best": best, "from": "50%"},
         rows=[GROUP["rows"][0], {"name": "Half", "learner": "perceptron(query=random(p=0.01))"}],
         paper={"figure": {"x": "labels", "y": ["labels"]}})
    text = quorate.ok("reproduce", "tiny").out
    assert verdicts(text)[0].startswith(verdict)
    assert rows_of(text)["All"][1:] == ["6.0", "60.0", "120.0"]


def test_a_best_without_a_first_budget_is_judged_at_every_budget(quorate, tiny):
    tiny(label_budgets=["5%", "50%"], order={"measure": "labels", "best": "Few"},
         rows=[GROUP["rows"][0], {"name": "Few", "learner": "perceptron(query=random(p=0.01))"}],
         paper={"figure": {"x": "labels", "y": ["labels"]}})
    result = quorate("reproduce", "tiny")
    assert result.code == 1 or verdicts(result.out)[0].startswith("another order of methods, Few is behind All at 5%")


# ---- sweeps

def sweep(**changes):
    return {"sweep": {"parameter": "p", "values": [0.1, 0.5, 1]}, "paper": {"figure": {"x": "p", "y": ["labels"]}},
            "rows": [{"name": "Random", "learner": "perceptron(query=random(p={}))"}, GROUP["rows"][0]], **changes}


def test_a_sweep_runs_its_learner_at_every_value_and_the_others_once(quorate, tiny):
    tiny(**sweep(knee=[{"measure": "labels", "method": "Random", "below": {"All": 50}}]))
    rows = rows_of(quorate.ok("reproduce", "tiny").out)
    assert rows["labels at"] == ["labels at", "p=0.1", "p=0.5", "p=1"]
    assert rows["All"][1:] == ["120.0"] * 3 == [rows["Random"][3]] * 3
    assert float(rows["Random"][1]) < float(rows["Random"][2]) < 120


@pytest.mark.parametrize("least, said", [(50, "as expected: Random is best at p=0.1"), (119, "not as expected: Random is best")])
def test_a_knee_is_so_far_below_the_others_or_not(quorate, tiny, least, said):
    tiny(**sweep(knee=[{"measure": "labels", "method": "Random", "below": {"All": least}}]))
    assert verdicts(quorate.ok("reproduce", "tiny").out)[0].startswith(said)


def test_the_lowest_is_told_beside_the_papers_choice(quorate, tiny):
    tiny(**sweep(lowest={"measure": "labels", "method": "Random", "setting": "p=0.5"}))
    verdict = verdicts(quorate.ok("reproduce", "tiny").out)[0]
    assert verdict.startswith("lowest labels") and "with Random, p=0.1; the paper's good choice, Random, p=0.5" in verdict


def test_relations_between_methods_hold_or_are_told(quorate, tiny):
    claims = [["All", "Half", 0], ["Half", "All", 1000], ["Half", "All", 1]]
    tiny(at_least={"measure": "labels", "claims": claims})
    verdict = verdicts(quorate.ok("reproduce", "tiny").out)[0]
    assert verdict.startswith("2 of 3 relations hold; Half is ") and verdict.endswith(" points below All")


@pytest.mark.parametrize("claim", [{"at_least": {"measure": "labels", "claims": [["Random", "None", 0]]}},
                                   {"knee": [{"measure": "labels", "method": "None", "below": {}}]},
                                   {"knee": [{"measure": "labels", "method": "Random", "below": {"None": 1}}]},
                                   {"lowest": {"measure": "labels", "method": "Random", "setting": "p=7"}}])
def test_a_claim_about_what_is_not_run_is_bad_data(quorate, tiny, claim):
    tiny(**sweep(**claim))
    result = quorate("reproduce", "tiny")
    assert result.code == 1 and result.err.count("\n") == 1


# ---- what is run

def test_ours_are_the_means_of_a_simulation(quorate, tiny):
    tiny(train_per_task=15)
    text = quorate.ok("reproduce", "tiny", "--runs", 4, "--seed", 6, "--threads", 1).out
    assert "4 runs, seeds 6 to 9" in text
    assert text == quorate.ok("reproduce", "tiny", "--runs", 4, "--seed", 6, "--threads", 2).out
    for row in GROUP["rows"]:
        alone = quorate.ok("simulate", "--data", "data/tiny/all.csv", "--learner", row["learner"], "--train-per-task", 15,
                           "--runs", 4, "--seed", 6, "--json").json()
        ours = [f"{alone['mean'][m]:.1f} +- {alone['std'][m]:.1f}" for m in ("labels", "mistakes")]
        assert [rows_of(text)[row["name"]][at] for at in (2, 3)] == ours


def test_the_document_holds_what_the_page_tells(quorate, tiny):
    tiny(same_data=True, rows=banded(121, 130), note="So it was run.")
    page = quorate.ok("reproduce", "tiny")
    [paper] = quorate.ok("reproduce", "tiny", "--json", "--report", "page.md").json()["papers"]
    [group] = paper["groups"]
    assert [paper[key] for key in ("name", "title", "source", "runs", "seed")] == ["tiny", "A tiny table", "Nobody 1999", 3, 1]
    assert (quorate.folder / "page.md").read_text().rstrip().endswith(page.out.rstrip())
    assert [group["verdict"]] == verdicts(page.out) and group["note"] == "So it was run."
    assert [(m["method"], m["published"], m["verdict"]) for m in group["methods"]] == [
        ("All", {"labels": 118}, "not reproduced"), ("Half", {}, None)]
    for result in group["results"]:
        row = rows_of(page.out)[result["method"]]
        assert result["learner"] == row[1].strip("`")
        assert f"{result['mean']['labels']:.1f} +- {result['std']['labels']:.1f}" == row[3]
    assert {paper["name"] for paper in quorate.ok("reproduce", "list", "--json").json()} == {"tiny"}


def test_the_document_of_a_figure_has_every_setting(quorate, tiny):
    rows = [{"name": "S", "learner": "perceptron(query=random(p={}))"},
            {"name": "U", "learner": "perceptron", "published": {"labels": 7}}]
    tiny(paper={"figure": {"x": "p", "y": ["labels"]}}, rows=rows, sweep={"parameter": "p", "values": [0.25, 0.5]})
    result = quorate.ok("reproduce", "tiny", "--json", "--progress", "lines")
    [group] = result.json()["papers"][0]["groups"]
    assert [(r["method"], r["learner"], r["setting"], r["x"]) for r in group["results"]] == [
        ("S", "perceptron(query=random(p=0.25))", "p=0.25", 0.25), ("S", "perceptron(query=random(p=0.5))", "p=0.5", 0.5),
        ("U", "perceptron", "p=0.25", 0.25), ("U", "perceptron", "p=0.5", 0.5)]
    assert group["methods"][1]["published"] == {"labels": 7}
    assert json.loads(result.err.splitlines()[-1]) == {"fraction": 1.0, "examples": 3 * 3 * 120}


def test_a_share_of_the_data_is_what_is_learned_from(quorate, tiny):
    tiny(shares=[0.1, 0.5, 1.0], paper={"figure": {"x": "share", "y": ["labels"]}})
    assert rows_of(quorate.ok("reproduce", "tiny").out)["All"][1:] == ["12.0", "60.0", "120.0"]


# ---- reports and failures

def test_a_report_is_a_dated_page_and_leaves_nothing_else(quorate, tiny):
    tiny(same_data=True, rows=banded(100, 130))
    result = quorate.ok("reproduce", "all", "--report", "page.md")
    page = (quorate.folder / "page.md").read_text()
    version = quorate.ok("--version").out.split()[1]
    assert result.out == "" and page.startswith("# ") and f"quorate {version}" in page
    assert "## tiny: A tiny table" in page and "Nobody 1999" in page and verdicts(page)[0].startswith("reproduced")
    assert page.endswith("\n") and not page.endswith("\n\n")
    assert sorted(p.name for p in quorate.folder.iterdir()) == ["data", "page.md", "papers"]
    assert page.endswith(quorate.ok("reproduce", "tiny").out.rstrip("\n") + "\n")


@pytest.mark.parametrize("report, link", [("page.md", "figures/tiny.svg"), ("docs/page.md", "../figures/tiny.svg")])
def test_a_report_links_the_picture_it_draws(quorate, tiny, report, link):
    if shutil.which("gnuplot") is None:
        pytest.skip("no gnuplot (Debian: gnuplot-nox)")
    (quorate.folder / "docs").mkdir()
    tiny(label_budgets=["5%", "50%"], rows=banded(100, 130), paper={"figure": {"x": "labels", "y": ["labels"]}})
    quorate.ok("reproduce", "tiny", "--plot-dir", "figures", "--report", report)
    assert f"]({link})" in (quorate.folder / report).read_text()
    picture = (quorate.folder / "figures/tiny.svg").read_text()
    for word in ("All", "Half", "All, published end point", "labels bought", "Tiny"):
        assert f"> {word}<" in picture or f">{word}<" in picture


def test_a_run_that_fails_leaves_the_old_report(quorate, tiny):
    tiny(data="none/all.csv")
    (quorate.folder / "page.md").write_text("old\n")
    result = quorate("reproduce", "tiny", "--report", "page.md")
    assert (result.code, result.out) == (3, "") and "none/all.csv" in result.err
    assert (quorate.folder / "page.md").read_text() == "old\n"
    tiny()
    result = quorate("reproduce", "tiny", "--report", "none/page.md")
    assert result.code == 3 and "none/page.md" in result.err
    assert sorted(p.name for p in quorate.folder.iterdir()) == ["data", "page.md", "papers"]


def test_an_unknown_name_is_bad_usage_and_says_where_names_are(quorate, tiny):
    tiny()
    result = quorate("reproduce", "tinny", "--report", "page.md")
    assert (result.code, result.out) == (2, "") and "'tinny'" in result.err and "list" in result.err
    assert not (quorate.folder / "page.md").exists()


def test_a_missing_papers_folder_is_file_trouble(quorate):
    for name in ("list", "all"):
        result = quorate("reproduce", name)
        assert (result.code, result.out) == (3, "") and "--papers" in result.err


@pytest.mark.parametrize("content", ["{", "[]", "{}", ""])
def test_a_broken_papers_file_is_bad_data_and_named(quorate, tiny, content):
    tiny()
    (quorate.folder / "papers/tiny.json").write_text(content)
    result = quorate("reproduce", "tiny")
    assert (result.code, result.out) == (1, "") and "papers/tiny.json" in result.err and "expected" in result.err


# ---- the real thing

def test_the_published_table_of_five_methods_comes_out(quorate, data):
    folder = [data(name) for name in ("landmine", "spam-b", "sentiment")][0].parent
    text = quorate.ok("reproduce", "xu-table-1", "--papers", CHECKOUT / "papers", "--data", folder, "--runs", 10).out
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


def test_outside_of_a_checkout_the_message_says_where_papers_and_data_come_from(quorate, tiny):
    run = quorate("reproduce", "tiny", "--papers", "none")
    assert run.code == 3 and "none: no such folder here; run it in a checkout of quorate, or name the folder with --papers FOLDER" in run.err
    tiny(data="spam-x/all")
    run = quorate("reproduce", "tiny")
    assert run.code == 3 and "spam-x" in run.err and "./run data spam-x prepares it" in run.err
