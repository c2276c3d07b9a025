"""The team view in a real browser."""
from fake_server import text_question

MARKUP = "<img src=x onerror=\"window.pwned=1\"><b>bold</b>"


def some(count=6):
    return [text_question(f"message {n}", task=f"task {n}") for n in range(count)]


def test_figures_and_their_words(visit):
    v = visit(some())
    page = v.open("/team")
    page.locator("#accuracy", has_text="96.4").wait_for()
    text = page.locator("#grid").inner_text().replace("\u00a0", " ")
    for part in ("96.4 %", "95 % interval 93.1 % to 98.3 %, 41 audits", "361 left of 500", "To reach 98 %", "about 430", "labels in all, 300 to 750; 291 more",
                 "median of 3 people", "8 of 41, those with most labels"):
        assert part in text, part
    label = page.locator("#chart svg").get_attribute("aria-label").replace("\u00a0", " ")
    assert label == "Accuracy went from 63.5 % at 0 labels to 97.0 % at 130 labels, 95 % interval 93.3 % to 99.2 %."
    page.get_by_text("Show as a table").click()
    assert page.locator("#curve tr").count() == 14
    assert "tabular-nums" in page.locator("#accuracy").evaluate("e => getComputedStyle(e).fontVariantNumeric")
    assert v.complaints == []


def test_it_is_live_and_connects_again(visit):
    v = visit(some())
    page = v.open("/team")
    page.locator("#link.live").wait_for()
    lease = v.desk.next({"annotator": "zoe"})["question"]["lease"]
    v.desk.changes += 1
    page.locator("#questions td", has_text="zoe").wait_for()
    v.desk.answer({"lease": lease, "label": "ham", "seconds": 1})
    page.locator("#labels", has_text="140").wait_for()
    v.server.stop()
    page.locator("#link.reconnecting").wait_for()
    v.desk.bought = 150
    v.server.start()
    page.locator("#link.live").wait_for(timeout=9000)
    page.locator("#labels", has_text="150").wait_for()


def test_a_late_reply_does_not_bring_back_older_figures(visit):
    v = visit(some())
    v.desk.slow["/v1/status"] = 1.0  # made at once, sent a second later: the event of a newer state is there first
    with v.page.expect_response("**/v1/status") as late:
        page = v.open("/team")
        page.locator("#labels", has_text="139").wait_for()  # by the event of connecting
        v.desk.bought = 140
        v.desk.changes += 1
        page.locator("#labels", has_text="140").wait_for()
    late.value.finished()
    page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    assert "140" in page.locator("#labels").inner_text()


def test_tables_are_sorted_by_their_heads_and_keep_focus(visit):
    v = visit(some())
    page = v.open("/team")
    names = page.locator("#tasks tbody th")
    names.first.wait_for()
    assert names.all_inner_texts()[:2] == ["carl", "dora"]
    head = page.locator("#tasks th", has=page.get_by_role("button", name="task"))
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert names.all_inner_texts()[:2] == ["jonas", "ines"] and head.get_attribute("aria-sort") == "descending"
    v.desk.bought += 1
    v.desk.changes += 1
    page.locator("#labels", has_text="140").wait_for()
    assert names.all_inner_texts()[:2] == ["jonas", "ines"]
    assert page.evaluate("document.activeElement.dataset.sort") == "name"


def test_a_disagreement_is_decided(visit):
    v = visit(some())
    page = v.open("/team")
    group = page.get_by_role("group", name="Decide mail-9")
    group.wait_for()
    assert page.locator(".votes").inner_text().split("\n") == ["ann: spam", "bob: ham"]
    v.desk.fail["/v1/decide"] = [403]
    group.get_by_role("button", name="spam").click()
    v.says("Only the owner may do this.")
    group.get_by_role("button", name="spam").click()
    page.locator("#disagreements-tile").wait_for(state="hidden")
    assert v.calls("/v1/decide")[-1] == {"ticket": 9, "label": "spam"}


def test_the_owner_changes_the_limit(visit):
    v = visit(some())
    page = v.open("/team")
    page.get_by_role("button", name="Change the limit").click()
    field = page.get_by_label("Labels in all")
    assert field.input_value() == "500"
    field.fill("600")
    v.desk.fail["/v1/limits"] = [403]
    page.keyboard.press("Enter")
    v.says("Only the owner may do this.")
    page.keyboard.press("Enter")
    v.says("461 left of 600")
    assert v.calls("/v1/limits")[-1] == {"labels": 600}


def test_the_owner_gives_labels_left_for_audits_to_learning(visit):
    v = visit(some())
    v.desk.extra = {"audits_left": 20}
    page = v.open("/team")
    v.says("20 labels wait for audits of examples to come. If none will come:")
    page.get_by_role("button", name="Use them for learning").click()
    v.says("They are asked for what the learner is unsure of")
    assert v.calls("/v1/limits")[-1] == {"labels": 500, "audits": False}
    assert page.locator("#audits-left").is_hidden()


def test_a_server_that_takes_no_answers_and_one_with_nothing_yet(visit):
    v = visit([])
    v.desk.taking, v.desk.problem, v.desk.limit = False, "disk is full", None
    v.desk.extra = {"accuracy": None, "curve": [], "forecast": None, "tasks": [], "task_count": 0, "annotators": [], "questions": [], "disagreements": []}
    page = v.open("/team")
    v.says("The server takes no answers at the moment: disk is full. Predictions go on.")
    for words in ("The first audits are still to come", "Nobody has answered yet", "No question is open", "not measured yet", "too early to say"):
        assert page.get_by_text(words).is_visible(), words
    v.desk.taking = True
    v.desk.changes += 1
    page.locator(".notice").wait_for(state="detached")


def test_a_server_without_audits_says_how_to_have_them(visit):
    v = visit([])
    v.desk.extra = {"audited": False, "accuracy": None, "curve": []}
    page = v.open("/team")
    for words in ("not measured: the server was made without --audit", "Nothing measures the accuracy here"):
        page.get_by_text(words).wait_for()


def test_names_are_text(visit):
    v = visit([text_question("x", task=MARKUP)])
    v.desk.extra = {"name": MARKUP, "problem": MARKUP, "taking_answers": False, "tasks": [{"name": MARKUP, "examples": 1, "labels": 1, "mistakes": 0}],
                    "annotators": [{"name": MARKUP, "answers": 1, "skips": 0, "median_seconds": 1, "agreement": None, "holds": 0}],
                    "disagreements": [{"ticket": 1, "example": MARKUP, "task": MARKUP, "fields": [{"name": "text", "kind": "text", "value": MARKUP}],
                                       "answers": [{"annotator": MARKUP, "label": MARKUP}, {"annotator": "b", "label": "ham"}]}]}
    page = v.open("/team")
    page.locator("#link.live").wait_for()
    for part in ("#name", "#notices", "#tasks", "#people", "#questions", ".which", ".votes", ".sample", ".decide"):
        assert MARKUP in page.locator(part).inner_text(), part
    assert page.evaluate("window.pwned") is None and page.locator("main img").count() == 0 and v.complaints == []
