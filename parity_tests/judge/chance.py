"""What of a program's findings is chance: it does not repeat itself, as runs of one side showed.

Either a program was run again because its sides differ, or its drift was looked into.
"""

from __future__ import annotations

from dataclasses import replace

from parity_tests.advice import advice
from parity_tests.judge.comparison import worst_in_words
from parity_tests.judge.findings import FAILURE, Findings, NotRepeatable
from reports.rows import Comparison, DriftAttribution, FlipReason
from reports.rows.check_names import AS_WRITTEN


def finding_of(findings: Findings) -> NotRepeatable | None:
    """Return the finding that a program does not repeat itself where its sides differ.

    Outputs that are equal on the ladder may change from run to run: that is rounding. What changes
    on our side alone is no chance, but a fault.

    Example::

        finding_of(Findings(not_repeatable=found)) is found
    """
    found = findings.not_repeatable or _of_drift(findings)
    return None if found and (found.is_ours or _is_of_writes(findings, found)) else found


def _is_of_writes(findings: Findings, found: NotRepeatable) -> bool:
    """Say whether what changes from run to run is what the program writes to a captured array.

    Stock simplified may compute in the memory of the array, and races with who writes to it. Stock
    legacy has the value that was traced, so the chance is what the flip brings.
    """
    if found.side != "jax-simplified" or FAILURE in found.explained:
        return False
    of_side = [each for each in findings.observed if each.side == found.side]
    if any(array.written for each in of_side for array in each.ledger):
        return True
    is_captured = any(each.kind == "writeable NumPy array" for each in findings.hazards)
    return is_captured and (AS_WRITTEN, "") in found.explained


def _of_drift(findings: Findings) -> NotRepeatable | None:
    for drift in findings.drift:
        outputs = _outputs(findings, drift)
        if drift.unrepeated and outputs is not None and outputs.outcome == "different":
            return NotRepeatable(
                side=drift.unrepeated_side or drift.left,
                what=drift.evidence,
                action=advice("seed outputs"),
                explained=frozenset((outputs.metric, leaf.path) for leaf in outputs.leaves),
            )
    return None


def without_chance(findings: Findings) -> Findings:
    """Return the findings without the differences between sides that runs of one side show, too.

    Example::

        without_chance(findings).comparisons
    """
    found = finding_of(findings)
    if found is None:
        return findings
    rest = tuple(_rest(each, found, findings) for each in findings.comparisons)
    return replace(findings, comparisons=rest)


def with_chance_marked(findings: Findings) -> tuple[Comparison, ...]:
    """Return the comparisons as a row shows them: "not judged" where all that differs is chance.

    Example::

        with_chance_marked(findings)[0].outcome
    """
    rest = without_chance(findings).comparisons
    return tuple(
        each.model_copy(update={"outcome": judged.outcome})
        for each, judged in zip(findings.comparisons, rest, strict=True)
    )


def _rest(comparison: Comparison, found: NotRepeatable, findings: Findings) -> Comparison:
    """Return a comparison without what is chance in it: "not judged" where nothing is left."""
    if comparison.outcome in ("equal", "expected difference") and not comparison.leaves:
        return comparison
    if found.explains(comparison, findings.checks):
        return comparison.model_copy(update={"outcome": "not judged", "leaves": ()})
    leaves = tuple(
        each for each in comparison.leaves if (comparison.metric, each.path) not in found.explained
    )
    if leaves == comparison.leaves:
        return comparison
    return comparison.model_copy(update={"leaves": leaves, "detail": worst_in_words(leaves)})


def in_words(found: NotRepeatable | FlipReason) -> str:
    """Return the finding in one text: what changed, where, and what to do.

    Example::

        in_words(found)
        # "jax-legacy does not repeat itself: ... (model.py:12): seed what makes the array"
    """
    where = f" ({found.where})" if found.where else ""
    return f"{found.what}{where}: {found.action}"


def _outputs(findings: Findings, drift: DriftAttribution) -> Comparison | None:
    return next(
        (
            each
            for each in findings.comparisons
            if each.metric == "outputs" and (each.left, each.right) == (drift.left, drift.right)
        ),
        None,
    )
