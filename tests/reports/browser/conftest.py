"""A real browser for the pages: Debian's chromium, headless, driven by Playwright."""

from __future__ import annotations

import contextlib

import pytest
from playwright.sync_api import sync_playwright
from system_programs import needed

from reports import render_report, rows

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="session")
def browser():
    path = needed("chromium")
    with sync_playwright() as playwright:
        # Playwright makes an empty profile for each launch.
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


class Shown:
    """A page in the browser, with all that it wrote to the console and all that it asked for."""

    def __init__(self, browser, file, address="", viewport=DESKTOP, **options):
        self.context = browser.new_context(viewport=viewport, **options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.requests: list = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request))
        self.file = file
        self.page.goto(f"{file.as_uri()}{address}")
        if options.get("java_script_enabled", True) and self.page.locator("#controls").count():
            self.page.wait_for_selector("body[data-ready]")

    def names(self):
        """The programs in the table, from the top."""
        return self.page.locator("#programs tbody th[scope=row]").all_inner_texts()

    def address(self):
        return self.page.evaluate("location.hash")

    def is_quiet(self):
        """Whether the page said nothing, and fetched nothing but itself."""
        return not self.said and [each.url for each in self.requests[1:]] == []


@pytest.fixture
def show(browser, tmp_path):
    """Shows a campaign or a grid: `show(campaign, "#q=x", viewport=PHONE)`."""
    with contextlib.ExitStack() as stack:

        def shown(campaign, address="", **options):
            file = tmp_path / "a report.html"  # a path with a space
            file.write_text(render_report("html", campaign), encoding="utf-8")
            made = Shown(browser, file, address, **options)
            stack.callback(made.context.close)
            return made

        yield shown


def judged(row, outcome, **reason):
    """The program with a verdict on the flip, for one reason."""
    kind = {"kind": "outputs", "what": f"{outcome} it is; and more", "where": "model.py:12"}
    found = rows.FlipReason.model_validate({"outcome": outcome, **kind, **reason})
    verdict = rows.FlipVerdict(
        left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=(found,)
    )
    return row.model_copy(update={"flip": verdict})


def sized(campaigns, name, after, **changes):
    """A program whose StableHLO has `after` bytes after the flip, and texts that differ."""
    observations = []
    for item in campaigns.parity(name).observations:
        simplified = item.side.endswith("simplified")
        binder, operand = ("; a", "[...]:f32[8]") if simplified else ("b:f32[8]; a", "b")
        texts = rows.observation.ProgramTexts(
            jaxpr=rows.observation.KeptText.of(
                f"{{ lambda {binder}:f32[8]. let\n  c:f32[8] = mul a {operand}\n  in (c,) }}"
            ),
            stablehlo=rows.observation.KeptText.of("module @jit_f {\n  return\n}\n"),
        )
        update = {"texts": texts}
        if simplified:
            update["stablehlo"] = item.stablehlo.model_copy(update={"text_bytes": after})
        observations.append(item.model_copy(update=update))
    made = campaigns.parity(name).model_copy(update={"observations": tuple(observations)})
    return made.model_copy(update=changes)


@pytest.fixture
def mixed(campaigns):
    """Ten programs of every outcome: two break, and the rest costs more or less."""
    safe = [
        judged(sized(campaigns, f"safe_{n}", 1000 + n, source="safe.py:1"), "safe", kind="note")
        for n in range(5)
    ]
    flag = {"what": "reads the flag at import", "action": "do not read the flag"}
    return campaigns.campaign(
        *safe,
        judged(sized(campaigns, "broken_values", 9_000_000, tags=("slow",)), "different", **flag),
        judged(sized(campaigns, "broken type", 500), "different", **flag),
        judged(sized(campaigns, "drifts", 600), "numerics drift, explained", action="accept it"),
        judged(sized(campaigns, "larger", 90_000_000), "safe but slower or larger", kind="size"),
        judged(campaigns.not_compared("unknown"), "could not compare", kind="failure"),
        sweeps=(campaigns.sweep("larger", campaigns.parity().source),),
    )
