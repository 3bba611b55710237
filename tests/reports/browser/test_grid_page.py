"""The HTML page of a grid of versions and flags, in a real browser."""

from __future__ import annotations

import built_grids as built
import pytest
from axe_playwright_python.sync_playwright import Axe

WINDOWS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}


@pytest.fixture
def grid():
    return built.rich()


# Colours depend on the scheme alone, and places on the window.
@pytest.mark.parametrize(
    ("window", "scheme"), [(WINDOWS["desktop"], "light"), (WINDOWS["phone"], "dark")]
)
def test_axe_finds_no_violation_and_the_console_is_empty(show, grid, scheme, window):
    shown = show(grid, color_scheme=scheme, viewport=window)
    for details in shown.page.locator("details").all():
        details.evaluate("each => { each.open = true }")
    found = Axe().run(shown.page)
    assert found.violations_count == 0, found.generate_report()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= window["width"]
    assert shown.is_quiet(), shown.said


def test_a_cell_leads_to_its_programs(show, grid):
    shown = show(grid)
    link = shown.page.locator("tbody a").first
    link.click()
    target = shown.page.locator(f"[id='{shown.address()[1:]}']")
    assert target.count() == 1
