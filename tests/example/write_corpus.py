"""Writes docs/example/corpus.md: the report of the built-in corpus, without times.

python tests/example/write_corpus.py
"""

import re
from collections.abc import Iterator
from pathlib import Path

from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports import render_report
from reports.rows import Campaign, ProgramRow

FILE = Path(__file__).parent.parent.parent / "docs" / "example" / "corpus.md"
# The four sides, each program called once. Figures of times would differ in every run.
OPTIONS = CampaignOptions(steady_calls=0, attribute=True)
HEAD = """\
# The built-in corpus on four sides

Written by `tests/example/write_corpus.py` with jax {jax} and jaxlib {jaxlib} on {device}. The first
part is what `constparity run --no-times --report comment:corpus.md` writes, without the lines on
where it was measured. `tests/end_to_end/test_whole_corpus.py` compares all of it with a run; it
passes over the distances of floats, for processors round differently.

"""
TABLE = """
## Every program

*Outputs* is the lowest rung of the ladder from jax-legacy to jax-simplified. *Captured* counts
captured arrays, and the columns behind it the const args that each simplified side passes for them.

| program | flip | outputs | verdict of all sides | captured | simplified | jax-simplified |
|---|---|---|---|--:|--:|--:|
"""
_MEASURED = re.compile(r"- (Measured with|`constparity report) .*\n")
_WORD = re.compile(r"- \*\*.{1,40}?:\*\* ")
# What a rounding decides: the rung, the figures, and how XLA was brought to the same bits.
_DISTANCE = re.compile(r"\b(ulp|tolerance)\b( at .*?: max rel \S+ max abs \S+ \d+ ULP)?")
_EVIDENCE = re.compile(r"; cause: ([^,(]*).*")


def text(campaign: Campaign) -> str:
    """Return the report of the corpus as it is kept."""
    facts = campaign.environment
    head = HEAD.format(jax=facts.jax, jaxlib=facts.jaxlib, device=facts.device_kind)
    comment = _MEASURED.sub("", render_report("comment", campaign))
    return f"{head}{comment}{TABLE}{''.join(map(_line, campaign.programs))}"


def steady(report: str) -> str:
    """Return a report without what processors decide, and the legend of that."""
    return "\n".join(
        _EVIDENCE.sub(r"; cause: \1", _DISTANCE.sub("close", line))
        for line in report.splitlines()
        if not _WORD.match(line)
    )


def _line(row: ProgramRow) -> str:
    outcome = row.flip.outcome if row.flip else "not asked"
    cells = (row.name, outcome, _rung(row), row.verdict, *map(str, _counts(row)))
    return f"| {' | '.join(cells)} |\n"


def _rung(row: ProgramRow) -> str:
    pair = ("jax-legacy", "jax-simplified")
    leaves = [
        leaf
        for each in row.comparisons
        if each.metric == "outputs" and (each.left, each.right) == pair
        for leaf in each.leaves
    ]
    return worst_rung(leaves)


def _counts(row: ProgramRow) -> Iterator[int | str]:
    proofs = {each.side: each.proof for each in row.observations}
    of_ours = proofs.get("simplified")
    yield of_ours.unique_captured if of_ours else "-"
    for side in ("simplified", "jax-simplified"):
        proof = proofs.get(side)
        yield proof.const_args if proof and proof.const_args is not None else "-"


def main() -> None:
    """Run the corpus, and write the report."""
    FILE.write_text(text(run.run((), OPTIONS)), "utf-8")


if __name__ == "__main__":
    main()
