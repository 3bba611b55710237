"""The report as SARIF: each finding at its line, for code scanning."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

from reports.output import sarif
from reports.rows import Campaign
from reports.views.findings import ARRAY, BREAKS, KINDS, Finding, findings
from reports.views.texts import cut, visible

# Code scanning of GitHub takes no more results of a run, and no larger file; it shows 5,000.
MOST_RESULTS = 25_000
MOST_COMPRESSED_BYTES = 10 * 1000 * 1000
_MOST_PROGRAMS = 100
_NAME_LENGTH = 200
_IDS = {BREAKS: "flip-breaks", ARRAY: "captured-array"}
_HELP = {
    BREAKS: "The program fails or gives other results after a flip of the default.",
    ARRAY: "The array reaches the compiled program in another way after a flip of the default.",
}
_HELP_OF_HAZARDS = "A change that a flip could bring to the program: possible, and not certain."


def render(campaign: Campaign) -> str:
    """Render the findings of a campaign as SARIF 2.1.0.

    The worst come first. What exceeds the limits of code scanning is left out, which a notification
    of the log says.

    Example::

        Path("report.sarif").write_text(render(campaign), encoding="utf-8")
    """
    found = findings(campaign)
    count = min(len(found), MOST_RESULTS)
    while True:
        text = _log(campaign, found, count)
        if count == 0 or len(gzip.compress(text.encode())) <= MOST_COMPRESSED_BYTES:
            return text
        count = count * 3 // 4


def rule_id(kind: str) -> str:
    """Return the id of the rule for a kind of finding.

    Example::

        >>> rule_id("writeable NumPy array")
        'writeable-numpy-array'
    """
    return _IDS.get(kind, kind.lower().replace(" ", "-"))


def _log(campaign: Campaign, found: Sequence[Finding], count: int) -> str:
    rules = [
        sarif.SarifRule(rule_id(kind), kind, _HELP.get(kind, _HELP_OF_HAZARDS)) for kind in KINDS
    ]
    notes = [visible(campaign.headline.question)[:1000]]
    if count < len(found):
        notes.append(
            f"{len(found) - count:,} of {len(found):,} findings are left out, the least severe, to "
            "stay within the limits of code scanning; the JSON result has them"
        )
    results = [_result(each) for each in found[:count]]
    return sarif.render(campaign.environment.constparity, rules, results, notes=notes)


def _result(finding: Finding) -> sarif.SarifFinding:
    properties: dict[str, object] = {
        "programs": [
            visible(cut(name, _NAME_LENGTH)) for name in finding.programs[:_MOST_PROGRAMS]
        ],
        "programCount": len(finding.programs),
    }
    if finding.bytes is not None:
        properties["bytes"] = finding.bytes
    return sarif.SarifFinding(
        rule_id=rule_id(finding.kind),
        message=visible(finding.message),
        level=finding.level,
        file=finding.file or None,
        line=finding.line if finding.line > 0 else None,
        snippet=visible(finding.code),
        properties=properties,
    )
