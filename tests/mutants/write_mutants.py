"""Writes docs/mutants.md: each planted fault, and the verdict of the tester on it.

python tests/mutants/write_mutants.py
"""

import os
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "mutants.md"
INTRO = """# Planted faults, and what names them

{caught} of {count} mutants are caught. A mutant is a small fault in one of our two pipelines, one
function replaced in `tests/mutants/`. Each is measured on a program, on the side that it is a fault
of, and judged against the sides without it: caught is what is not at parity and is named by the
metric that has to name it. Without a mutant all {programs} programs are at parity. Written by
`python tests/mutants/write_mutants.py`; `test_mutants.py` runs them again and holds the page.

"The proof of the side" is evidence in what a side produced that contradicts the side: the tester
refuses to compare it, as it does after an exception. "Proof" compares the [numbers](proof.md) of
the side with the mutant and without it: none that changes what is computed is proved. (c) and (e)
act when a program is called or exported, outside of that claim; (o) is one computation, written
otherwise.
"""
MARKS = {
    "acts when it is called": "(c)",
    "acts when it is exported": "(e)",
    "one computation, written otherwise": "(o)",
}


def page(controls, outcomes):
    """Return the page as text."""
    rows = [
        INTRO.format(
            caught=sum(each.caught for each in outcomes),
            count=len(outcomes),
            programs=len(controls),
        ),
        "| mutant | side | named by | proof |",
        "|---|---|---|---|",
    ]
    for each in outcomes:
        mutant = each.mutant
        metric = mutant.metric if each.caught else f"MISSED by {mutant.metric}"
        cells = (
            f"**{mutant.name}**: {mutant.does}",
            mutant.side,
            metric,
            f"proved {_mark(each)}" if each.proof == "proved" else each.proof,
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _mark(outcome):
    """Say why a mutant may be proved."""
    return MARKS[outcome.may_be_proved] if outcome.may_be_proved else "WRONGLY"


def main():
    """Run the mutants and write the page."""
    devices = "--xla_force_host_platform_device_count=8"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {devices}".strip()
    import catching

    PAGE.write_text(page(*catching.run()), encoding="utf-8")


if __name__ == "__main__":
    main()
