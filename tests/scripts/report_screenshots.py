"""Takes the pictures of the HTML page that docs/use/report.md shows.

.venv/bin/python tests/scripts/report_screenshots.py constparity-report/report.html docs
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WIDE = {"width": 1060, "height": 620}
PHONE = {"width": 360, "height": 720}
LINEARIZED = "[id='program=linearize_at_captured'] .difference"
# The name of the file; the address; what is scrolled to; the window; the colours.
SHOTS = (
    ("report_first_screen", "", "body", {"width": 1060, "height": 700}, "light"),
    ("report_pictures", "", ".plots", WIDE, "light"),
    ("report_table", "#q=scan&group=verdict", "#overview", WIDE, "light"),
    ("report_program", "#program=linearize_at_captured", LINEARIZED, WIDE, "light"),
    ("report_dark", "", "body", WIDE, "dark"),
    ("report_phone", "", "body", PHONE, "light"),
)


def shoot(page: Page, address: str, at: str, file: Path) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.locator(at).first.evaluate("each => each.scrollIntoView()")
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=file)


def main() -> None:
    report, folder = (Path(each).resolve() for each in sys.argv[1:])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        for name, fragment, at, window, colours in SHOTS:
            page = browser.new_page(viewport=window, color_scheme=colours)
            shoot(page, f"{report.as_uri()}{fragment}", at, folder / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
