"""The labelling view in a real browser."""
from contextlib import contextmanager

import pytest
from fake_server import LETTER, text_question

SEVERAL = [text_question(f"message {n}") for n in range(1, 40)]


def answers(visit):
    return [(ticket, label) for ticket, label, _, _ in visit.desk.answers]


def test_keys_answer_the_question_shown_and_the_next_one_is_there_at_once(visit):
    v = visit(SEVERAL)
    page = v.open()
    page.locator("article", has_text="message 1").wait_for()
    for n, key in enumerate("1212", 1):
        v.press(key)
        assert page.locator("article").inner_text() == f"message {n + 1}"  # no wait for the server between key and question
    v.saved("spam")
    assert answers(v) == [(1, "ham"), (2, "spam"), (3, "ham"), (4, "spam")]
    assert all(0.2 < seconds < 30 for _, _, seconds, _ in v.desk.answers)
    assert page.locator("#session").inner_text().startswith("4 answers this session, median ")
    assert page.locator("#budget").inner_text().replace("\n", "") == "143 of 500 labels"
    assert v.complaints == []


def test_a_late_reply_does_not_bring_back_an_older_budget(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    before, answers = len(v.calls("/v1/next")), []
    page.route("**/v1/answer", lambda route: answers.append(route))  # held back until the server has made its reply to /v1/next
    v.desk.slow["/v1/next"] = 1.0  # which arrives last
    with page.expect_response("**/v1/next") as late:
        page.keyboard.press("1")
        while not answers or len(v.calls("/v1/next")) == before:
            page.wait_for_timeout(20)
        answers[0].continue_()
        page.locator("#budget", has_text="140").wait_for()
    late.value.finished()
    page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    assert "140" in page.locator("#budget").inner_text()


def test_saved_appears_only_after_the_servers_reply(visit):
    v = visit(SEVERAL)
    v.desk.slow["/v1/answer"] = 0.8
    page = v.open()
    v.press("1")
    page.wait_for_timeout(300)
    assert page.locator("#saved").inner_text() == "Sending: ham"
    assert "aved" not in page.locator("#live").inner_text()
    v.saved("Saved: ham")
    page.wait_for_timeout(100)
    assert page.locator("#live").inner_text() == "Saved: ham. Next question."


def test_answers_faster_than_the_server_keep_their_order_and_their_leases(visit):
    v = visit(SEVERAL)
    v.desk.slow["/v1/answer"] = 0.5
    v.open()
    for key in "121":
        v.press(key)
    v.saved("ham")
    v.page.wait_for_timeout(1600)
    assert answers(v) == [(1, "ham"), (2, "spam"), (3, "ham")]
    assert [lease for _, _, _, lease in v.desk.answers] == ["a9f3-1", "a9f3-2", "a9f3-3"]


@contextmanager
def at_one_moment(page):
    """The page's stopwatch stands, so that a slow machine does not turn two quick presses into two slow ones."""
    page.evaluate("() => { const at = performance.now(); performance.now = () => at; }")
    yield
    page.evaluate("() => { delete performance.now; }")


def test_a_double_press_a_held_key_and_a_double_click_answer_once(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    with at_one_moment(page):
        page.keyboard.press("1")
        page.wait_for_timeout(60)
        page.keyboard.press("1")
        v.saved("Saved: ham")
        page.keyboard.press("1")
        page.wait_for_timeout(100)
    assert answers(v) == [(1, "ham")]
    v.settle()
    for _ in range(12):  # without an up in between these are repeats
        page.keyboard.down("2")
        page.wait_for_timeout(60)
    page.keyboard.up("2")
    v.saved("spam")
    assert answers(v) == [(1, "ham"), (2, "spam")]
    v.settle()
    with at_one_moment(page):
        page.get_by_role("button", name="ham", exact=True).dblclick()
        v.saved("ham")
        page.wait_for_timeout(200)
    assert answers(v) == [(1, "ham"), (2, "spam"), (3, "ham")]


def test_keys_with_ctrl_in_inputs_and_of_no_choice_answer_nothing(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    for key in ("Control+1", "Meta+2", "Alt+1", "3", "9", "0", "x"):
        page.keyboard.press(key)
    page.get_by_role("button", name="You answer as").click()
    page.keyboard.type("12s")
    assert page.locator("#who-name").input_value() == "12s"
    page.keyboard.press("Escape")
    page.wait_for_timeout(200)
    assert v.desk.answers == [] and v.desk.skips == []


def test_digits_are_their_own_keys(visit):
    v = visit([text_question("an image", choices="0123456789")] * 3)
    v.open()
    v.press("7")
    v.saved("Saved: 7")
    v.press("0")
    v.saved("Saved: 0")
    assert [label for _, label in answers(v)] == ["7", "0"]


def test_offline_answers_wait_survive_a_reload_and_are_sent_in_order(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    page.wait_for_timeout(200)
    v.server.stop()
    v.press("1")
    v.says("No connection. 1 answer waits in this browser")
    v.press("2")
    v.says("2 answers wait in this browser")
    assert page.locator("#saved").inner_text() == "Not sent yet"
    assert page.get_by_role("heading", name="No connection to the server").is_visible()
    page.keyboard.press("u")
    v.says("Undo works again once the waiting answers are sent.")
    v.server.start()
    page.reload()
    v.saved("spam")
    assert answers(v) == [(1, "ham"), (2, "spam")]
    assert page.locator("article").inner_text() == "message 3"
    assert page.locator(".notice").count() == 0


def test_without_a_reload_they_are_sent_when_the_server_is_back(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    page.wait_for_timeout(200)
    v.server.stop()
    v.press("1")
    v.says("1 answer waits")
    v.server.start()
    v.saved("ham")
    assert answers(v) == [(1, "ham")]


@pytest.mark.parametrize("fate", ["drop", "lose", 500, 502])
def test_an_answer_whose_request_or_reply_was_lost_is_sent_again_and_counted_once(visit, fate):
    v = visit(SEVERAL)
    v.desk.fail["/v1/answer"] = [fate]
    v.open()
    v.press("2")
    v.saved("spam")
    assert answers(v) == [(1, "spam")]
    sent = v.calls("/v1/answer")
    assert len(sent) == 2 and sent[0] == sent[1]


def test_a_server_that_takes_no_answers_is_named_and_the_answer_waits(visit):
    v = visit(SEVERAL)
    v.desk.fail["/v1/answer"] = [503, 503]
    page = v.open()
    v.press("2")
    v.says("The server takes no answers at the moment (disk is full). 1 answer waits in this browser")
    page.get_by_role("button", name="Try now").click()
    v.saved("spam")
    assert page.locator(".notice").count() == 0 and answers(v) == [(1, "spam")]


@pytest.mark.parametrize(("status", "words"), [(409, "already answered otherwise"), (410, "was not counted: as planned."), (507, "As planned."),
                                               ({"status": 409, "reason": "daily-limit"}, "in 24 hours as one person may")])
def test_an_answer_refused_for_good_is_said_and_not_sent_again(visit, status, words):
    v = visit(SEVERAL)
    v.desk.fail["/v1/answer"] = [status]
    page = v.open()
    v.press("1")
    v.says(words)
    assert "Your answer \u201cham\u201d was not counted" in page.locator(".notice").inner_text()
    v.press("2")
    v.saved("spam")
    assert answers(v) == [(2, "spam")] and len(v.calls("/v1/answer")) == 2
    page.get_by_role("button", name="All right").click()
    assert page.locator(".notice").count() == 0


def test_undo_brings_the_question_back_and_keys_in_between_answer_nothing(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.press("1")
    v.saved("ham")
    v.desk.slow["/v1/undo"] = 0.5
    v.press("u")
    page.wait_for_timeout(100)
    page.keyboard.press("2")  # would hit message 2, which is about to be replaced
    v.says("Undone: ham. Choose again.")
    assert page.locator("article").inner_text() == "message 1" and v.desk.answers == []
    assert page.locator("#session").inner_text() == ""
    v.press("2")
    v.saved("spam")
    assert page.locator("article").inner_text() == "message 2"  # the displaced question comes next
    assert answers(v) == [(1, "spam")]


def test_undo_waits_for_the_answer_on_its_way(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.desk.slow["/v1/answer"] = 0.6
    v.press("1")
    page.keyboard.press("u")
    v.says("Undone: ham")
    assert [path for _, path, _ in v.desk.calls if path in ("/v1/answer", "/v1/undo")] == ["/v1/answer", "/v1/undo"]
    page.keyboard.press("u")
    v.says("Nothing to undo.")


def test_skip(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.press("s")
    v.saved("Skipped")
    assert v.desk.skips == [1] and v.desk.answers == [] and page.locator("article").inner_text() == "message 2"
    assert page.locator("#session").inner_text() == ""


def test_reasons_come_on_request_only_and_leave_with_the_question(visit):
    v = visit([text_question(LETTER), text_question("plain")])
    page = v.open()
    v.settle()
    assert page.locator("mark").count() == 0 and v.calls("/v1/explain/1") == []
    page.keyboard.press("w")
    v.says("It is close: 54 % spam")
    assert page.locator(".scale").get_attribute("aria-label").replace("\xa0", " ") == "54 % spam; spam begins at 40 %"
    assert page.locator("article mark.own").all_inner_texts() == ["invoice", "invoice", "Friday"]
    assert page.locator("article mark.shared").all_inner_texts() == ["free", "confirm", "your account"]
    rows = page.locator(".reasons tbody tr")
    assert rows.first.inner_text().split() == ["free", "+0.37", "+0.04"] and rows.count() == 6
    assert page.locator("#explain").get_attribute("aria-expanded") == "true"
    page.keyboard.press("w")
    assert page.locator("mark").count() == 0 or page.locator("#why").is_hidden()
    page.keyboard.press("w")
    page.locator("article mark").first.wait_for()
    page.keyboard.press("1")
    page.locator("article", has_text="plain").wait_for()
    assert page.locator("#why").is_hidden() and page.locator("article mark").count() == 0


def test_a_hidden_reason_is_said_neutrally(visit):
    v = visit([text_question(LETTER, audit=True)] * 3)
    page = v.open()
    v.press("w")
    v.says("There is no explanation for this question.")
    assert page.locator("mark").count() == 0
    assert "audit" not in page.locator("main").inner_text().lower() and "random" not in page.locator("main").inner_text().lower()


def test_several_columns_are_a_list_with_their_names_and_features_mark_them(visit):
    fields = [{"name": "subject", "kind": "text", "value": "free lunch\nsecond line\n\nsecond paragraph"}, {"name": "channel", "kind": "category", "value": "mail"},
              {"name": "age", "kind": "number", "value": "47"}, {"name": "empty", "kind": "text", "value": ""}]
    v = visit([text_question("") | {"fields": fields}])
    v.desk.why = {"features": [{"name": "channel=mail", "shared": 0.2, "own": 0.3}, {"name": "age", "shared": 0.1, "own": 0}, {"name": "subject#unc", "shared": 1, "own": 0},
                               {"name": "channel=chat", "shared": 0.2, "own": 0.3}, {"name": "subject^lun", "shared": 9, "own": 0}]}
    page = v.open()
    v.settle()
    assert page.locator("dt").all_inner_texts() == ["subject", "channel", "age", "empty"]
    assert page.locator("dd").first.locator("p").all_inner_texts() == ["free lunch\nsecond line", "second paragraph"]
    v.press("w")
    page.locator("article mark").first.wait_for()
    assert page.locator("article mark").all_inner_texts() == ["unc", "mail", "47"]


def test_images_from_grey_values_and_from_a_data_url(visit):
    dot = "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAP8AACwAAAAAAQABAAACAkQBADs="
    fields = [{"name": "digit", "kind": "image", "value": "2,1:0 200"}, {"name": "photo", "kind": "image", "value": dot},
              {"name": "far", "kind": "image", "value": "https://example.com/a.png"}, {"name": "short", "kind": "image", "value": "2,2:0 1"}]
    v = visit([text_question("") | {"fields": fields}])
    page = v.open()
    canvas = page.get_by_role("img", name="digit, 2 by 1 pixels")
    canvas.wait_for()
    assert canvas.evaluate("c => [...c.getContext('2d').getImageData(0, 0, 2, 1).data]") == [0, 0, 0, 255, 200, 200, 200, 255]
    assert canvas.evaluate("c => getComputedStyle(c).imageRendering") == "pixelated"
    assert page.get_by_role("img", name="photo").evaluate("i => i.decode().then(() => i.naturalWidth)") == 1
    assert page.get_by_text("This image cannot be shown").count() == 2
    assert all(url.startswith((v.server.url, "data:")) for url in v.requests)


MARKUP = "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script><b>bold</b>{{1+1}}"
GUIDELINES = f"""# Spam *or* not {MARKUP}

Text with **strong**, _em_, `code <b>`, [site](https://example.com/a?b=1), [bad](javascript:window.pwned=1), [data](data:text/html,{MARKUP}) and \\*stars\\*.
{MARKUP}

- one
- two
  - two and a half
1. first

> quoted

| a | b |
|---|---|
| 1 | {MARKUP} |

```
<script>window.pwned=1</script>
```
![picture](https://example.com/x.png)
"""


def test_nothing_of_an_example_or_the_guidelines_is_markup(visit):
    question = text_question(MARKUP, task=f"task {MARKUP}", prompt=f"prompt {MARKUP}", choices=[f"yes {MARKUP}", "no"])
    fields = [{"name": f"name {MARKUP}", "kind": "text", "value": MARKUP}, {"name": "c", "kind": "category", "value": MARKUP}, {"name": "i", "kind": "image", "value": MARKUP}]
    v = visit([question, question | {"fields": fields}] + SEVERAL)
    v.desk.guidelines = GUIDELINES
    v.desk.why = {"why": MARKUP, "features": [{"name": MARKUP, "shared": 1, "own": 0}, {"name": "text^bold", "shared": 1, "own": 0}]}
    v.desk.slow["/v1/next"] = 0.3  # the page is loaded before its question is there
    page = v.open()
    v.settle()
    for part in ("article", "#prompt", "#task", "#choices"):
        assert MARKUP in page.locator(part).inner_text()
    v.press("w")
    page.locator(".reasons").wait_for()
    assert MARKUP in page.locator("#why").inner_text()
    v.press("g")
    page.locator("#guidelines h3").wait_for()
    assert MARKUP in page.locator("#guidelines h3").inner_text()
    assert page.locator("#guidelines-text a").evaluate_all("links => links.map(a => [a.href, a.rel])") == [
        ["https://example.com/a?b=1", "noopener noreferrer"], ["https://example.com/x.png", "noopener noreferrer"]]
    assert page.locator("#guidelines-text li").all_inner_texts()[0] == "one" and page.locator("#guidelines-text ul ul li").inner_text() == "two and a half"
    assert page.locator("#guidelines-text :is(strong, em, blockquote, td, pre)").count() == 7
    assert "*stars*" in page.locator("#guidelines-text").inner_text()
    v.press("1")
    v.saved(MARKUP)
    page.locator("dt").first.wait_for()
    assert MARKUP in page.locator("dt").first.inner_text() and page.locator("dd").first.inner_text() == MARKUP
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main script, main b b, #guidelines img, #guidelines script, #guidelines b").count() == 0
    assert v.complaints == [] and all(url.startswith(v.server.url) for url in v.requests)


def test_without_guidelines_that_is_said_and_escape_closes(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.press("g")
    v.says("No guidelines were written")
    page.keyboard.press("Escape")
    assert page.locator("#guidelines").is_hidden()
    assert page.evaluate("document.activeElement.id") == "guide"


def test_a_spent_budget_and_a_limit_that_is_raised(visit):
    v = visit(SEVERAL, limit=139)
    page = v.open()
    page.get_by_role("heading", name="The label budget is spent").wait_for()
    assert "this page continues by itself" in page.locator("#rest").inner_text()
    v.desk.limit = 200
    page.locator("article", has_text="message 1").wait_for(timeout=8000)


def test_nothing_to_ask_then_a_question_arrives(visit):
    v = visit([])
    page = v.open()
    page.get_by_role("heading", name="Nothing to ask right now").wait_for()
    assert "No example is worth a label now." in page.locator("#rest").inner_text()
    assert page.locator("#undo").is_visible() and page.locator("#skip").is_hidden()
    v.desk.pool.append(dict(SEVERAL[0], ticket=1, example="m"))
    page.locator("article", has_text="message 1").wait_for(timeout=8000)
    v.press("1")
    v.saved("ham")


def test_a_server_that_takes_no_answers_from_the_start(visit):
    v = visit(SEVERAL)
    v.desk.fail["/v1/next"] = [503]
    page = v.open()
    page.get_by_role("heading", name="The server takes no answers at the moment").wait_for()
    assert "Disk is full." in page.locator("#rest").inner_text()
    page.locator("article", has_text="message 1").wait_for(timeout=8000)


def test_a_lease_is_renewed_while_somebody_is_active(visit):
    v = visit(SEVERAL, lease_seconds=4)
    page = v.open()
    page.locator("article", has_text="message 1").wait_for()
    for n in range(12):
        page.mouse.move(100 + 5 * n, 300)
        page.wait_for_timeout(500)
    assert {call["lease"] for call in v.calls("/v1/renew")} == {"a9f3-1", "a9f3-2"}
    assert page.locator("article").inner_text() == "message 1"
    page.keyboard.press("1")
    v.saved("ham")
    assert answers(v) == [(1, "ham")]


def test_a_lease_that_ran_out_unattended_is_said_and_goes_on_at_a_key(visit):
    v = visit(SEVERAL, lease_seconds=2)
    page = v.open()
    page.get_by_role("heading", name="Taking a break?").wait_for(timeout=9000)
    page.keyboard.press("1")
    asked = len(v.calls("/v1/next"))
    page.wait_for_timeout(1500)
    assert v.desk.answers == [] and len(v.calls("/v1/next")) == asked  # nothing is leased to an empty chair
    v.desk.lease_seconds = 100
    page.keyboard.press("Enter")
    page.locator("article", has_text="message").wait_for()
    v.press("1")
    v.saved("ham")


def test_a_question_that_was_withdrawn_is_replaced(visit):
    v = visit(SEVERAL, lease_seconds=4)
    page = v.open()
    v.settle()
    v.desk.leases["a9f3-1"]["withdrawn"] = True
    v.desk.lease_seconds = 100
    for n in range(6):
        page.mouse.move(100 + 5 * n, 300)
        page.wait_for_timeout(500)
    v.says("It has expired, and its question was given to somebody else or is no longer asked. Here is the next one.")
    assert page.locator("article").inner_text() == "message 2"


def test_a_reload_keeps_the_questions_it_held(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    page.wait_for_timeout(200)
    page.reload()
    page.locator("article", has_text="message 1").wait_for()
    page.wait_for_timeout(200)
    assert len(v.calls("/v1/next")) == 2 and len(v.calls("/v1/renew")) == 2
    v.press("1")
    v.saved("ham")
    assert answers(v) == [(1, "ham")]


def test_the_name_is_asked_once_and_can_be_changed(visit):
    v = visit(SEVERAL, name=None)
    page = v.open()
    dialog = page.get_by_role("dialog", name="Who is answering?")
    dialog.wait_for()
    page.keyboard.press("Escape")
    assert dialog.is_visible() and v.calls("/v1/next") == []
    page.keyboard.type("  ann ")
    page.keyboard.press("Enter")
    page.locator("article", has_text="message 1").wait_for()
    page.reload()
    page.locator("article", has_text="message 1").wait_for()
    assert not dialog.is_visible() and v.calls("/v1/next")[0] == {"annotator": "ann"}
    page.get_by_role("button", name="You answer as ann").click()
    dialog.wait_for()
    page.keyboard.type("bob")
    page.keyboard.press("Enter")
    for _ in range(200):
        if v.calls("/v1/next")[-1] == {"annotator": "bob"}:
            break
        page.wait_for_timeout(50)
    assert v.calls("/v1/next")[-1] == {"annotator": "bob"}


def test_a_token_comes_from_the_address_and_leaves_it(visit):
    v = visit(SEVERAL)
    v.desk.token = "s3cret"
    page = v.open("/#token=s3cret")
    page.locator("article", has_text="message 1").wait_for()
    assert page.url == v.server.url + "/" and "s3cret" not in page.evaluate("JSON.stringify(localStorage)")


def test_without_a_token_it_is_asked_for_and_waiting_answers_are_kept(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    v.desk.token = "s3cret"
    v.press("1")
    page.get_by_role("heading", name="This server needs your key").wait_for()
    page.keyboard.type("s3cret")
    page.keyboard.press("Enter")
    v.saved("ham")
    assert answers(v) == [(1, "ham")]


def test_by_keyboard_alone_with_focus_that_is_seen(visit):
    v = visit(SEVERAL)
    page = v.open()
    v.settle()
    assert page.evaluate("document.activeElement.id") == "example"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "ham1"
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
    page.keyboard.press("Enter")
    v.saved("ham")
    assert page.evaluate("document.activeElement.id") == "example"
    assert page.evaluate("[...document.querySelectorAll('#row button')].map(b => b.getAttribute('aria-keyshortcuts')).join()") == "s,u,w,g"


def test_no_button_moves_when_the_connection_breaks_and_a_long_text_leaves_choices_in_sight(visit):
    v = visit([text_question("a word or two " * 900)] * 5)
    page = v.open()
    v.settle()
    page.wait_for_timeout(200)
    spam, saved = page.get_by_role("button", name="spam"), page.locator("#saved")
    before = spam.bounding_box()
    assert before["y"] + before["height"] < 820
    v.server.stop()
    v.press("1")
    page.locator("#saved.warn", has_text="Not sent yet").wait_for()
    page.locator(".notice").wait_for()
    assert spam.bounding_box() == before and saved.bounding_box()["y"] < 820
