"""Grids made by hand: each state of a cell, each change of a version, and hostile text."""

from __future__ import annotations

from reports import rows
from reports.rows.grid import Grid
from reports.rows.grid_row import GridVersion, VersionChange
from tests.helpers.built_campaigns import ENVIRONMENT

STOCK = ("jax-legacy", "jax-simplified")
LABELS = ("0.8.3", "0.9.2", "0.10.2", "0.11.2", "0.12.0.1")
HOSTILE = "<script>alert(1)</script> | pipe ` tick *b* [l](x) [red] \x1b[31m\x00"
BROKEN = "'TypedNdArray' object has no attribute 'sharding'"


FAILURE = rows.Failure(
    kind="exception",
    stage="lower",
    type="AttributeError",
    message=BROKEN,
    traceback='  File "model.py", line 3, in f\n'
    '  File "/env/lib/site-packages/jax/_src/pjit.py", line 1413, in _resolve\n    arg.sharding\n',
)


def flip(outcome, kind="outputs", what="outputs are apart"):
    reasons = () if outcome == "safe" else (rows.FlipReason(outcome=outcome, kind=kind, what=what),)
    return rows.FlipVerdict(left=STOCK[0], right=STOCK[1], outcome=outcome, reasons=reasons)


def program(name, outcome="safe", *, fails=(), reasons=(), **of_flip):
    """A program on both stock sides; it raises on those that `fails` names."""
    return rows.ProgramRow(
        name=name,
        source=f"models/{name}.py:12",
        summary=f"The program {name}.",
        verdict="could not compare" if fails else "parity",
        reasons=reasons,
        observations=tuple(
            rows.Observation(program=name, side=side, failure=FAILURE if side in fails else None)
            for side in STOCK
        ),
        comparisons=(),
        flip=flip(outcome, **of_flip),
    )


def not_loaded(name):
    row = program(name, "could not compare", kind="failure", reasons=("its module needs flax",))
    return row.model_copy(update={"observations": ()})


def version(label, *programs, **changes):
    environment = ENVIRONMENT.model_copy(update={"jax": label, "jaxlib": label})
    campaign = rows.Campaign(
        created="2026-08-20T12:00:00Z",
        environment=environment,
        sides=STOCK,
        programs=programs,
    )
    return GridVersion(label=label, campaign=campaign.model_copy(update=changes))


def change(name, before, after, outcome, side="jax-simplified", **fields):
    given = {"detail": f"it is {outcome}"} | fields
    return VersionChange(
        program=name, side=side, before=before, after=after, outcome=outcome, **given
    )


def of(*versions, changes=()):
    return Grid(created="2026-08-20T12:00:00Z", versions=versions, changes=changes)


def counter():
    side = STOCK[1]
    return rows.Comparison(
        metric="StableHLO operations",
        left=side,
        right=side,
        outcome="not judged",
        left_value="12",
        right_value="14",
    )


def rich():
    """Five versions: one flag is broken, one was interrupted, and programs come and go."""
    breaks = {"kind": "failure", "what": f"fails on jax-simplified: AttributeError: {BROKEN}"}
    both = {"kind": "failure", "what": "jax-legacy fails today, alike: AttributeError"}
    return of(
        version(
            "0.8.3",
            program("steady"),
            program("scan", "different", fails=STOCK[1:], **breaks),
            program("old_api"),
            not_loaded("flax_layer"),
            program(HOSTILE, "different", what=HOSTILE),
        ),
        GridVersion(label="0.9.2", missing="interrupted"),
        version("0.10.2", program("steady"), program("scan"), program("old_api")),
        version(
            "0.11.2",
            program("steady"),
            program("scan", "safe but slower or larger", kind="time", what="call takes 2.00x"),
            program("old_api", "could not compare", fails=STOCK, **both),
            program("flax_layer", "not repeatable", what="its noise has no seed"),
        ),
        version(
            "0.12.0.1",
            program("steady"),
            program("scan", "numerics drift, explained"),
            not_run=("flax_layer",),
        ),
        changes=(
            *(
                change("steady", before, after, "equal", side=side)
                for side in STOCK
                for before, after in (("0.8.3", "0.10.2"), ("0.10.2", "0.11.2"))
            ),
            change("scan", "0.8.3", "0.10.2", "fixed failure"),
            change("scan", "0.10.2", "0.11.2", "different", counters=(counter(),)),
            change("scan", "0.11.2", "0.12.0.1", "within tolerance", causes=("argument x",)),
            change("scan", "0.10.2", "0.12.0.1", "different"),
            change("old_api", "0.10.2", "0.11.2", "new failure"),
            change("old_api", "0.10.2", "0.11.2", "new failure", side="jax-legacy"),
        ),
    )
