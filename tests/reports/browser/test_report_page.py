"""The HTML page of a campaign as a reader uses it, in a real browser."""

from __future__ import annotations

import functools
import http.server
import math
import re
import threading
from urllib.parse import unquote

import pytest
from axe_playwright_python.sync_playwright import Axe

from reports import rows
from reports.output import html_page
from reports.views import programs_table

PHONE = {"width": 360, "height": 740}


def test_nothing_is_fetched_and_the_console_is_empty(show, mixed):
    shown = show(mixed, "#program=drifts&columns=source&group=verdict&sort=reason")
    shown.page.get_by_role("button", name="Show all", exact=True).click()
    shown.page.wait_for_selector("[id='program=safe_4']")
    assert shown.is_quiet(), (shown.said, shown.requests)


def test_the_policy_stops_what_the_page_does_not_hold(show, mixed):
    shown = show(mixed)
    shown.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"http://localhost:1/a.png\">')"
    )
    shown.page.evaluate("document.body.append(Object.assign(document.createElement('script'),"
                        "{textContent: 'window.ran = 1'}))")  # fmt: skip
    shown.page.wait_for_timeout(100)
    assert shown.page.evaluate("window.ran") is None
    # The request was refused, and the console says so: the tests above would see it.
    assert [request.failure for request in shown.requests if "localhost" in request.url] == ["csp"]
    assert len(shown.said) == 2


# -- the first screen ------------------------------------------------------------------------------


def test_the_first_screen_has_the_answer_what_breaks_and_what_to_do(show, mixed):
    shown = show(mixed)
    in_sight = shown.page.evaluate(
        "[...document.querySelectorAll('h1, h2, .broken li, .steps li, .tiles li')]"
        ".filter(each => each.getBoundingClientRect().bottom < innerHeight)"
        ".map(each => each.innerText)"
    )
    text = "\n".join(in_sight)
    for expected in (
        "May the default be flipped? no", "What breaks", "broken_values", "broken type",
        "reads the flag at import", "What to do first", "do not read the flag",
        "What it costs and gains", "StableHLO size",
    ):  # fmt: skip
        assert expected in text


def test_a_dot_names_its_program_and_leads_to_it(show, mixed):
    shown = show(mixed)
    dot = shown.page.locator("a.dot", has_text="larger").first
    assert "8.0 MiB before, 85.8 MiB after (10.7x)" in dot.locator("title").text_content()
    dot.locator("circle").click()
    shown.page.wait_for_selector("[id='program=larger']:focus")


def test_a_sweep_is_drawn_says_the_same_in_words_and_leads_to_its_program(show, mixed):
    shown = show(mixed)
    sweep = shown.page.get_by_role("region", name="larger over the embed threshold")
    picture = sweep.get_by_role("img")
    assert "Recommended: 1,024 bytes" in picture.get_attribute("aria-label")
    titles = sweep.locator("title").all_text_contents()
    assert "larger, threshold 1,024 bytes, recommended: call 6.00 µs, const args 1" in titles
    assert len(titles) == 3 * 4  # calls, compiling and size under four thresholds
    # Further right is a larger threshold, further down is less; the smallest two are as fast.
    places = [dot.bounding_box() for dot in sweep.locator("circle").all()[:4]]
    across, down = [each["x"] for each in places], [each["y"] for each in places]
    assert across == sorted(set(across))
    assert down[0] == down[1] < down[3]
    sweep.get_by_text("The figures as a table").click()
    assert sweep.get_by_role("row", name="1,024 * 1 6.00 µs").is_visible()
    sweep.get_by_role("link").click()
    shown.page.wait_for_selector("[id='program=larger']:focus")


# -- the table -------------------------------------------------------------------------------------


def test_the_worst_come_first(show, mixed):
    assert show(mixed).names()[:3] == ["broken_values", "broken type", "unknown"]


def test_sorting_by_a_figure_and_back(show, mixed):
    shown = show(mixed)
    button = shown.page.get_by_role("button", name="StableHLO")
    button.click()
    assert shown.names()[:3] == ["larger", "broken_values", "safe_4"]
    assert shown.names()[-1] == "unknown"  # not measured: last
    heading = shown.page.locator("th", has=button)
    assert heading.get_attribute("aria-sort") == "descending"
    button.click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert shown.names()[:3] == ["broken type", "drifts", "safe_0"]
    assert shown.names()[-1] == "unknown"
    assert shown.address() == "#sort=stablehlo-bytes"


def test_searching(show, mixed):
    shown = show(mixed)
    shown.page.get_by_label("Search").fill("FLAG import")
    assert shown.names() == ["broken_values", "broken type"]
    assert shown.page.get_by_role("status").inner_text() == "2 of 10 programs match."
    shown.page.get_by_label("Search").fill("slow")  # a tag, and the outcome of another
    assert shown.names() == ["broken_values", "larger"]
    assert shown.address() == "#q=slow"


def test_filtering_by_verdict_finding_and_tag(show, mixed):
    shown = show(mixed)
    shown.page.get_by_label("different (2)").check()
    assert shown.names() == ["broken_values", "broken type"]
    shown.page.get_by_label("could not compare (1)").check()
    assert shown.names() == ["broken_values", "broken type", "unknown"]
    shown.page.get_by_label("Tag", exact=True).select_option("slow")
    assert shown.names() == ["broken_values"]
    shown.page.get_by_role("button", name="Clear").click()
    assert len(shown.names()) == 10
    shown.page.get_by_label("Finding").select_option("size")
    assert shown.names() == ["larger"]
    assert shown.address() == "#finding=size"


def test_grouping_by_verdict(show, mixed):
    shown = show(mixed)
    shown.page.get_by_label("Group by").select_option("verdict")
    groups = shown.page.locator("th[scope=rowgroup]").all_inner_texts()
    assert groups == [
        "different (2)", "could not compare (1)", "safe but slower or larger (1)",
        "numerics drift, explained (1)", "safe (5)",
    ]  # fmt: skip
    assert len(shown.names()) == 10


def test_columns_on_request_are_added_sorted_and_taken_away(show, mixed):
    shown = show(mixed)
    before = shown.page.locator("#programs thead th").count()
    assert before <= 8
    shown.page.get_by_text("More columns").click()
    shown.page.get_by_label("StableHLO bytes, jax-simplified").check()
    shown.page.get_by_role("button", name="StableHLO bytes, jax-simplified").click()
    assert shown.names()[0] == "larger"
    assert "85.8 MiB" in shown.page.locator("#programs tbody tr").first.inner_text()
    shown.page.get_by_label("StableHLO bytes, jax-simplified").uncheck()
    assert shown.page.locator("#programs thead th").count() == before


def test_the_address_brings_back_all_of_it(show, mixed):
    first = show(mixed)
    first.page.get_by_label("Search").fill("e")
    first.page.get_by_label("safe (5)").check()
    first.page.get_by_label("Group by").select_option("file")
    first.page.get_by_role("button", name="program").click()
    first.page.get_by_role("button", name="program").click()
    first.page.get_by_text("More columns").click()
    first.page.get_by_label("source", exact=True).check()
    first.page.wait_for_selector("th.extra")
    first.page.locator("#programs").get_by_role("link", name="safe_3").click()
    first.page.wait_for_selector("[id='program=safe_3']:focus")
    again = show(mixed, first.address())
    assert again.names() == first.names() == [f"safe_{n}" for n in (4, 3, 2, 1, 0)]
    assert again.page.locator("[id='program=safe_3']").is_visible()
    for shown in (first, again):
        assert shown.page.locator("th[scope=rowgroup]").all_inner_texts() == ["safe.py (5)"]
        assert shown.page.locator("th.extra").inner_text().startswith("source")
        assert shown.page.get_by_label("safe (5)").is_checked()
    assert first.is_quiet()
    assert again.is_quiet()


# -- programs --------------------------------------------------------------------------------------


def test_a_link_to_a_program_opens_it(show, mixed):
    shown = show(mixed, "#program=safe_2")
    article = shown.page.locator("[id='program=safe_2']")
    assert article.evaluate("each => each === document.activeElement")
    top = article.evaluate("each => each.getBoundingClientRect().top")
    assert -5 < top < 600  # in sight
    assert "safe_1" not in shown.page.locator("#sections").inner_text()


def test_the_back_button_leads_back(show, mixed):
    shown = show(mixed, "#q=safe")
    for name in ("safe_0", "safe_1"):
        shown.page.locator("#programs").get_by_role("link", name=name).click()
        shown.page.wait_for_selector(f"[id='program={name}']:focus")
    shown.page.go_back()
    shown.page.wait_for_selector("[id='program=safe_0']:focus")
    assert shown.address() == "#program=safe_0&q=safe"
    assert shown.page.get_by_label("Search").input_value() == "safe"


def test_programs_stand_in_the_order_of_the_table_however_they_are_opened(show, mixed):
    shown = show(mixed)
    for name in ("safe_4", "safe_0", "safe_2"):
        shown.page.locator("#programs").get_by_role("link", name=name).click()
        shown.page.wait_for_selector(f"[id='program={name}']:focus")
    anchors = shown.page.locator("article").evaluate_all("all => all.map(each => each.id)")
    assert anchors[-3:] == ["program=safe_0", "program=safe_2", "program=safe_4"]


def test_a_program_shows_its_programs_side_by_side(show, mixed):
    article = show(mixed, "#program=drifts").page.locator("[id='program=drifts']")
    text = article.inner_text()
    assert "Jaxprs: 2 lines differ, 1 are equal." in text
    assert article.locator(".changed .l del").first.inner_text() == "b:f32[8]"
    assert "accept it" in text


def test_every_program_opens_at_once(show, mixed):
    shown = show(mixed)
    shown.page.get_by_role("button", name="Show all", exact=True).click()
    shown.page.wait_for_selector("[id='program=safe_4']")
    assert shown.page.locator("article.program").count() == 10


def test_an_address_that_somebody_cut_is_harmless(show, mixed):
    shown = show(mixed, "#program=%E4%")
    for address in ("#program=gone", "#sort=gone&group=gone", "#columns=gone", "#&&=", ""):
        assert len(shown.names()) == 10
        assert shown.said == []
        shown.page.goto("about:blank")
        shown.page.goto(f"{shown.file.as_uri()}{address}")
        shown.page.wait_for_selector("body[data-ready]")


# -- however it is read ----------------------------------------------------------------------------


def test_without_a_script_the_answer_the_table_and_the_worst_still_read(show, mixed):
    shown = show(mixed, "#program=unknown", java_script_enabled=False)
    assert shown.page.locator("h1").inner_text() == "May the default be flipped? no"
    assert len(shown.names()) == 10
    assert not shown.page.locator("#controls").is_visible()
    assert shown.page.locator("article.program").count() == 5  # all that are not safe
    assert shown.page.locator("[id='program=unknown']").bounding_box()["y"] < 100
    assert "5 more programs are in this file" in shown.page.locator("#packed-notice").inner_text()
    assert "needs JavaScript" in shown.page.locator("#packed-notice").inner_text()
    assert shown.is_quiet()


@pytest.mark.parametrize("scripts", [True, False])
def test_rows_that_wait_for_a_button_wait_for_none_without_a_script(
    show, mixed, scripts, monkeypatch
):
    monkeypatch.setattr(programs_table, "ROWS_AT_FIRST", 4)
    shown = show(mixed, java_script_enabled=scripts)
    seen = shown.page.locator("#programs tbody th[scope=row]:visible").count()
    assert seen == (4 if scripts else 10)
    assert shown.is_quiet(), shown.said


def test_figures_stand_on_one_line_and_headings_in_their_cells(show, mixed):
    shown = show(mixed, "#sort=stablehlo-bytes&dir=desc")
    too_wide = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)"
    lines = "all => all.map(e => e.offsetHeight / parseFloat(getComputedStyle(e).lineHeight))"
    for width in (360, 390, 768, 1024, 1280, 1600):
        shown.page.set_viewport_size({"width": width, "height": 800})
        assert shown.page.locator("#programs thead th, .tiles li").evaluate_all(too_wide) == []
        figures = shown.page.locator(".tiles .figures").evaluate_all(lines)
        assert figures == pytest.approx([1.0] * len(figures), abs=0.1), width
        assert figures


# Colours depend on the scheme alone, and places on the window.
@pytest.mark.parametrize(
    ("options", "scheme"), [({}, "light"), ({"viewport": PHONE}, "dark")], ids=["desktop", "phone"]
)
def test_axe_finds_no_violation(show, mixed, options, scheme):
    shown = show(
        mixed, "#program=safe_1&group=verdict&columns=source", color_scheme=scheme, **options
    )
    for details in shown.page.locator("details").all():
        details.evaluate("each => { each.open = true }")
    found = Axe().run(shown.page)
    assert found.violations_count == 0, found.generate_report()


def test_axe_can_find_one(show, mixed):
    shown = show(mixed)
    shown.page.evaluate("document.documentElement.lang = ''")
    assert Axe().run(shown.page).violations_count == 1


def test_dark_and_light_are_the_readers(show, mixed):
    style = "getComputedStyle(document.body)"
    colours = [
        show(mixed, color_scheme=scheme).page.evaluate(f"[{style}.backgroundColor, {style}.color]")
        for scheme in ("light", "dark")
    ]
    light, dark = ([sum(map(int, re.findall(r"\d+", each))) for each in pair] for pair in colours)
    assert light[0] > 600 > light[1]
    assert dark[0] < 150 < 600 < dark[1]


def test_a_phone_scrolls_down_alone(show, mixed):
    shown = show(mixed, "#program=drifts&columns=source,tags", viewport=PHONE)
    for details in shown.page.locator("details").all():
        details.evaluate("each => { each.open = true }")
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 360
    row = shown.page.locator("#programs tbody tr").first
    inside = "each => each.scrollWidth <= each.parentElement.clientWidth"
    assert shown.page.locator("#programs").evaluate(inside)
    assert "reads the flag at import" in row.inner_text()


def test_print_has_what_decides_and_no_controls(show, mixed):
    shown = show(mixed)
    shown.page.emulate_media(media="print")
    assert not shown.page.locator("#controls").is_visible()
    for visible in ("h1", ".steps", "#programs", "[id='program=drifts']", ".plot svg >> nth=0"):
        assert shown.page.locator(visible).first.is_visible()
    assert shown.page.pdf().startswith(b"%PDF")


def test_the_keyboard_alone_is_enough(show, mixed):
    shown = show(mixed)
    keyboard = shown.page.keyboard
    keyboard.press("Tab")
    assert shown.page.evaluate("document.activeElement.className") == "skip"
    keyboard.press("Enter")
    reached = []
    for _ in range(40):
        keyboard.press("Tab")
        reached.append(shown.page.evaluate(
            "document.activeElement.id || document.activeElement.innerText"))  # fmt: skip
        if reached[-1].startswith("program"):
            break
    assert "search" in reached
    keyboard.press("Enter")  # sorts by name
    assert shown.page.locator("th[aria-sort]").inner_text().startswith("program")
    assert shown.names()[0] == "broken type"
    while shown.page.evaluate("document.activeElement.tagName") != "A":
        keyboard.press("Tab")
    keyboard.press("Enter")
    shown.page.wait_for_selector("[id='program=broken%20type']:focus")
    assert unquote(shown.address()) == "#program=broken type&sort=program"


def test_hostile_programs_are_shown_as_text(show, campaigns):
    bad = (
        "<script>window.ran=1</script><img src=x onerror=window.ran=1>'\"&amp; "
        "\N{PILE OF POO}\x1b[2J\x00\u202e"
    )
    hostile = campaigns.not_compared(bad)
    shown = show(campaigns.campaign(hostile, campaigns.not_compared(bad), campaigns.parity("safe")))
    shown.page.get_by_label("Search").fill("<script>")
    assert len(shown.names()) == 2
    for link in shown.page.locator("#programs tbody a").all():
        link.click()
    shown.page.wait_for_timeout(100)
    assert shown.page.evaluate("window.ran") is None
    assert shown.page.locator("article h3").first.inner_text().startswith("<script>window.ran=1")
    assert shown.is_quiet(), shown.said


def test_a_jaxpr_of_a_megabyte_and_figures_that_are_no_numbers(show, campaigns):
    line = "    b:f32[] = sin[text='</script><!--'] a\n"
    kept = rows.observation.KeptText.of("{ lambda ; a:f32[]. let\n" + line * 25_000)
    texts = rows.observation.ProgramTexts(jaxpr=kept, stablehlo=kept)
    observations = [
        item.model_copy(
            update={
                "texts": texts,
                "times": item.times.model_copy(update={"call": math.nan, "compile": math.inf}),
            }
        )
        for item in campaigns.parity("huge").observations
    ]
    huge = campaigns.parity("huge").model_copy(update={"observations": tuple(observations)})
    shown = show(campaigns.campaign(huge, campaigns.difference()), "#program=huge")
    text = shown.page.locator("[id='program=huge']").text_content()
    assert "more lines are left out here" in text
    assert "more lines were cut when it was measured" in text
    shown.page.get_by_text("More columns").click()
    shown.page.get_by_label("call seconds, legacy").check()
    shown.page.get_by_role("button", name="call seconds, legacy").click()
    assert shown.names() == ["overwritten_numpy", "huge"]
    assert shown.is_quiet(), shown.said


def test_a_report_on_a_server_is_quiet_as_well(browser, mixed, tmp_path):
    (tmp_path / "report.html").write_text(html_page.render(mixed), encoding="utf-8")
    handler = functools.partial(QuietHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(f"http://127.0.0.1:{server.server_port}/report.html#q=drifts")
        page.wait_for_selector("body[data-ready]")
        page.wait_for_timeout(200)
        page.close()
        server.shutdown()
    assert said == []


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_many_programs_open_with_few_elements(show, mixed):
    programs = [
        row.model_copy(update={"name": f"{row.name}_{n}"})
        for n in range(60)
        for row in mixed.programs
    ]
    shown = show(mixed.model_copy(update={"programs": tuple(programs)}))
    elements = shown.page.evaluate("document.getElementsByTagName('*').length")
    assert elements < 15_000
    assert len(shown.names()) == 200
    assert shown.page.get_by_role("status").inner_text() == "600 programs; the first 200 are shown."
    above, below = shown.page.get_by_role("button", name="Show all 600 rows").all()
    head = shown.page.locator("#programs thead").bounding_box()["y"]
    assert head - 100 < above.bounding_box()["y"] < head < below.bounding_box()["y"]
    above.click()
    assert not above.is_visible()
    assert not below.is_visible()
    assert len(shown.names()) == 600
    shown.page.get_by_label("Search").fill("safe_3_47")
    assert shown.names() == ["safe_3_47"]
    shown.page.locator("#programs").get_by_role("link").click()
    shown.page.wait_for_selector("[id='program=safe_3_47']:focus")
    assert shown.is_quiet(), shown.said
