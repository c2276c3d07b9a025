"""Both views: accessibility by axe-core, narrow screens, large text, size, and the security policy."""
import gzip
import re
from pathlib import Path

import pytest
from fake_server import LETTER, PAGE, text_question

RULES = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
FIELDS = [{"name": "subject", "kind": "text", "value": LETTER}, {"name": "plan", "kind": "category", "value": "Home 200"}, {"name": "age", "kind": "number", "value": "47"},
          {"name": "digit", "kind": "image", "value": "2,2:0 80 160 255"}]
GUIDELINES = "## Spam\n\nText, [a link](https://example.com), `code`.\n\n### More\n\n- one\n\n```\na long line\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"


def wait_for_question(v):
    v.page.locator("article").wait_for()
    v.settle()


def why(v):
    wait_for_question(v)
    v.page.keyboard.press("w")
    v.page.locator(".reasons").wait_for()


def guidelines(v):
    wait_for_question(v)
    v.page.keyboard.press("g")
    v.page.locator("#guidelines h3").wait_for()


def saved(v):
    v.press("1")
    v.saved("ham")


def offline(v):
    wait_for_question(v)
    v.page.wait_for_timeout(200)
    v.server.stop()
    v.press("1")
    v.says("1 answer waits")


def refused(v):
    v.desk.fail["/v1/answer"] = [409]
    v.press("1")
    v.says("already answered")


def team(v):
    v.page.locator("#link.live").wait_for()
    v.page.get_by_role("button", name="Change the limit").click()
    v.page.get_by_text("Show as a table").click()


ASKED = [text_question(LETTER)] * 4
VIEWS = {
    "question": (ASKED, "/", saved), "columns": ([text_question("") | {"fields": FIELDS}] * 3, "/", wait_for_question), "why": (ASKED, "/", why),
    "many choices": ([text_question("x", choices=[f"class {n}" for n in range(14)])] * 3, "/", wait_for_question),
    "guidelines": (ASKED, "/", guidelines), "offline": (ASKED, "/", offline), "refused": (ASKED, "/", refused),
    "name": (ASKED, "/", lambda v: v.page.locator("#who-name").wait_for()), "nothing": ([], "/", lambda v: v.page.locator("#rest h1").wait_for()),
    "team": (ASKED, "/team", team),
}


@pytest.fixture(scope="session")
def axe():
    import axe_playwright_python
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_no_violation_and_nothing_is_cut_off(visit, axe, view):
    questions, path, act = VIEWS[view]
    v = visit(questions, name=None if view == "name" else "ann")
    v.desk.guidelines = GUIDELINES
    page = v.open(path)
    act(v)
    page.evaluate(axe)  # by the debugger: the security policy stays as it is
    for scheme in ("light", "dark"):
        for width in (1280, 360):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 820})
            page.wait_for_timeout(400)  # fades end
            found = page.evaluate(RULES)
            assert [(x["id"], x["help"], [(n["html"][:160], n["failureSummary"]) for n in x["nodes"]]) for x in found["violations"]] == [], (scheme, width)
            assert len(found["passes"]) > 15
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (scheme, width)


@pytest.mark.parametrize("path", ["/", "/team"])
def test_text_twice_as_large_still_fits(visit, path):
    v = visit(ASKED, width=720)
    page = v.open(path)
    page.locator("article, #link.live").first.wait_for(state="attached")
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cut = page.evaluate("""[...document.querySelectorAll('main button, main h1, main h2, header a')].filter(e => e.offsetParent && !e.closest('.scroll')
                           && (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')).map(e => e.outerHTML)""")
    assert cut == []


def test_motion_is_only_for_those_who_want_it(visit):
    for motion, animated in (("reduce", False), ("no-preference", True)):
        v = visit(ASKED, context={"reduced_motion": motion})
        page = v.open()
        page.locator("article p").first.wait_for()
        name = page.locator("article p").first.evaluate("e => getComputedStyle(e).animationName")
        assert (name != "none") == animated


@pytest.mark.parametrize("path", ["/", "/team"])
def test_the_console_is_clean_and_every_request_is_to_the_server_itself(visit, path):
    v = visit(ASKED)
    page = v.open(path)
    page.wait_for_timeout(500)
    assert v.complaints == [] and v.requests and all(url.startswith(v.server.url + "/") for url in v.requests)
    assert page.evaluate("document.querySelectorAll('script:not([src]), style, [style]').length") == (0 if path == "/team" else page.locator("canvas").count())


def test_the_page_is_under_40_kb_gzipped_and_has_no_inline_code():
    files = sorted(PAGE.iterdir())
    assert {"index.html", "team.html", "style.css", "label.js", "team.js", "icon.svg"} <= {file.name for file in files}
    assert sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) < 40 * 1024
    for file in files:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".html":
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text), file.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), file.name


def test_every_element_that_a_module_looks_up_is_in_its_page():
    text = {file.name: file.read_text(encoding="utf-8") for file in PAGE.iterdir()}
    for module, page in (("label.js", "index.html"), ("team.js", "team.html"), ("dom.js", "index.html"), ("dom.js", "team.html")):
        ids = set(re.findall(r"byId\('([\w-]+)'\)", text[module]))
        assert ids and ids <= set(re.findall(r'id="([\w-]+)"', text[page])), (module, page)
