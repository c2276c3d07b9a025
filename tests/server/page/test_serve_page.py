"""The page in a real browser with the real server: what is answered there is in the journal."""
import json
import select
import urllib.request

import pytest


def is_spam(number):
    return number % 3 == 0


@pytest.fixture
def server(quorate):
    process = quorate.start("serve", "--dir", "desk", "--port", "0", "--positive", "spam", "--negative", "ham", "--labels", "100",
                            "--bits", "10", "--prompt", "Is this message spam?")
    assert select.select([process.stdout], [], [], 60)[0]
    url = process.stdout.readline().decode().strip()
    lines = [json.dumps({"id": f"m{n}", "text": f"{'free money' if is_spam(n) else 'lunch on friday'} number {n}"}) for n in range(300)]
    request = urllib.request.Request(url + "/v1/examples", "\n".join(lines).encode(), {"Content-Type": "application/x-ndjson"})
    assert json.load(urllib.request.urlopen(request, timeout=60))["asked"] > 10
    yield url
    process.terminate()
    assert process.wait(60) == 0


def test_answers_of_the_page_are_in_the_journal(browser, server, quorate):
    context = browser.new_context()
    context.add_init_script("localStorage.getItem('quorate.name') ?? localStorage.setItem('quorate.name', '\"ann\"')")
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(server)
    given = {}
    for _ in range(10):
        page.locator("#ask:not([hidden])").wait_for()
        page.wait_for_timeout(330)  # keys before are taken for the second press of the last one
        number = int(page.locator("article").inner_text().split()[-1])
        assert page.locator("#prompt").inner_text() == "Is this message spam?"
        page.keyboard.press("2" if is_spam(number) else "1")
        page.locator("#saved.saved", has_text="spam" if is_spam(number) else "ham").wait_for()
        given[f"m{number}"] = "spam" if is_spam(number) else "ham"
    assert len(given) == 10
    page.wait_for_timeout(330)
    page.keyboard.press("u")
    page.locator("#saved", has_text="Undone").wait_for()
    page.goto(server + "/team")
    page.get_by_text("ann").first.wait_for()
    assert complaints == []
    context.close()
    kept = {row["example"]: row["label"] for row in quorate.ok("journal", "export", "--dir", "desk").lines()}
    assert len(kept) == 9 and kept.items() <= given.items()
