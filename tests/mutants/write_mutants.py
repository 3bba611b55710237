"""Writes docs/mutants.md: each planted fault, and the verdict of the tester on it.

python tests/mutants/write_mutants.py
"""

import os
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "mutants.md"
INTRO = """# Planted faults, and what the tester says of them

{caught} of {count} mutants are caught. A mutant is a small fault in one of our two pipelines: one
function replaced, in `tests/mutants/`. Each is measured on one program, on the side that it is a
fault of, and judged against the sides without it; it counts as caught where the verdict is not
"parity" and the metric that it has to be named by says so. Another metric alone is a miss. Without
a mutant all {programs} programs are at parity.

Written by `tests/mutants/write_mutants.py`; `tests/mutants/test_mutants.py` runs the mutants again
and holds this page against them. "The proof of the side" is the evidence in what a side produced
that contradicts the side, for which the tester refuses to compare it.

The last column compares the numbers of the side with the mutant with those of the side without it
([proof.md](proof.md)): none that changes what is computed is proved. What acts when a program is
called or exported is outside of that claim, and found by running.
"""
LONGEST = 130


def page(controls, outcomes):
    """Return the page as text."""
    rows = [
        INTRO.format(
            caught=sum(each.caught for each in outcomes),
            count=len(outcomes),
            programs=len(controls),
        ),
        "| mutant | what it does | side, program | named by | the tester says | also named by "
        "| proof |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in outcomes:
        mutant = each.mutant
        metric = mutant.metric if each.caught else f"MISSED by {mutant.metric}"
        others = ", ".join(name for name in each.named if name != mutant.metric)
        cells = (
            mutant.name,
            mutant.does,
            f"{mutant.side}, `{mutant.program}`",
            metric,
            f"{each.verdict}: {_short(each.named.get(mutant.metric, 'nothing'))}",
            others,
            f"proved: {each.may_be_proved}" if each.proof == "proved" else each.proof,
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _short(reason):
    """Return the beginning of a reason, without figures of a machine and without line numbers."""
    line = reason.splitlines()[0].split(": max rel")[0].rstrip("(; ")
    line = re.sub(r"(\w+\.py):\d+", r"\1", line)
    line = re.sub(r"\b([0-9a-f]{8})[0-9a-f]{56}\b", r"\1…", line)
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"


def main():
    """Run the mutants and write the page."""
    devices = "--xla_force_host_platform_device_count=8"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {devices}".strip()
    import catching

    PAGE.write_text(page(*catching.run()), encoding="utf-8")


if __name__ == "__main__":
    main()
