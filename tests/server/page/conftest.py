"""A real Chromium on the page, served by fake_server.py."""
import os
import shutil

import pytest
from fake_server import Desk, FakeServer

BROWSER = os.environ.get("QUORATE_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser():
    if not BROWSER:
        reason = "no browser: apt-get install chromium, or set QUORATE_BROWSER to the path of one"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    from playwright.sync_api import sync_playwright
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield running
        running.close()


class Visit:
    """A page in a context of its own (storage too), its server and desk, what it asked for and what it complained of."""

    def __init__(self, browser, server, name, scheme, width, **context):
        self.server, self.desk = server, server.desk
        self.context = browser.new_context(viewport={"width": width, "height": 820}, color_scheme=scheme, **context)
        if name:
            self.context.add_init_script(f"localStorage.getItem('quorate.name') ?? localStorage.setItem('quorate.name', '\"{name}\"')")
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: message.type in ("error", "warning") and self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path="/"):
        self.page.goto(self.server.url + path)
        return self.page

    def settle(self):
        """Waits for a question (or the reason why there is none), then longer than a key counts as the second press of the last one."""
        self.page.locator("#ask:visible, #rest:visible").first.wait_for()
        self.page.wait_for_timeout(330)

    def press(self, key):
        self.settle()
        self.page.keyboard.press(key)

    def saved(self, words):
        self.page.locator("#saved.saved", has_text=words).wait_for(timeout=8000)

    def says(self, words, **kwargs):
        """Waits for words that are seen; what is spoken only is elsewhere."""
        self.page.locator("main, dialog, aside").get_by_text(words).first.wait_for(**kwargs)

    def calls(self, path):
        return [body for _, called, body in self.desk.calls if called == path]


@pytest.fixture
def visit(browser):
    """`visit(questions, ...)`: a Visit; everything of it is closed after the test."""
    opened = []

    def make(questions, name="ann", scheme="light", width=1000, context=None, **desk):
        server = FakeServer(Desk(questions, **desk))
        server.start()
        made = Visit(browser, server, name, scheme, width, **(context or {}))
        opened.append(made)
        return made

    yield make
    for made in opened:
        made.context.close()
        made.server.stop()
