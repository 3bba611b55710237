"""Prove mode: each function that a suite jits is traced in the other form too, and proved.

JAX itself serves the tests: what it traces is one form, and our pipeline of the other side traces
the function again, at once, under the same settings. Nothing is lowered, compiled or run twice.
"""

from __future__ import annotations

import random
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
import pytest

from engine import jax_internals
from engine.api import pipeline_of
from engine.configuration.parsing import Side as OurSide
from engine.runtime.watching import StockTrace, TracedForm, watch_traces
from parity_tests.exception_texts import named
from parity_tests.jax_internals import context_mesh
from parity_tests.jaxpr.captured_uses import CapturedUse
from parity_tests.judge.proofs import breaking, claim, folded, place_apart
from parity_tests.observe.checks.captured_arrays import memory_of
from parity_tests.observe.failures import it_raised
from parity_tests.observe.hazards.arrays import consumed_by, donated_before, written_to_since
from parity_tests.observe.hazards.detection import of_trace, with_code
from parity_tests.observe.hazards.devices import implicit_transfer
from parity_tests.observe.hazards.traced_program import (
    Argument,
    TracedProgram,
    default_device,
    program_of_form,
    transfer_guards,
)
from parity_tests.observe.numbers import numbered_jaxpr, numbers_of_jaxpr, steps_of
from parity_tests.own_jit import options_in
from parity_tests.suites.describing import captured_arrays, describe
from parity_tests.suites.recording import Recorder, Seen
from reports.rows.claims import Claim
from reports.rows.fail_rules import FailRule, parse
from reports.rows.flip import FlipReason, Hazard
from reports.rows.proofs import ProgramProof
from reports.views.texts import type_of

HELD_BYTES = 2**28  # of captured arrays, whose memory tests would have back
_OTHER: dict[OurSide, OurSide] = {"legacy": "simplified", "simplified": "legacy"}
_DERIVED = (
    "its derivative or batch ran outside of jax.jit, by jax.grad, jax.vmap or an interpreter like "
    "them, which is not proved"
)
# What a function may raise in a trace that it was not written for; pytest's are no `Exception`.
_RAISED = (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception)


def prove_with(recorder: Recorder, rules: Sequence[str] = ()) -> Prover:
    """Let a prover be told all programs that JAX traces from now on, and return it.

    A program that is refuted, or breaks one of `rules`, fails its test.
    """
    prover = Prover(recorder, parse(",".join(("not-proved:refuted", *rules))))
    watch_traces(prover)
    return prover


class Prover:
    """The watcher of JAX's traces: proves each program once, and records the answer."""

    def __init__(self, recorder: Recorder, rules: Sequence[FailRule]) -> None:
        self._recorder, self._rules = recorder, rules
        self._here = threading.local()  # whether this thread is proving
        # Hazards depend on the arguments of a call, of which each kind is looked at once.
        self._kinds: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()
        # The captured arrays by identity, of the programs that use them.
        self._captured: dict[int, _Captured] = {}
        # Those of a phase until it ends, for what captured them may end before: the first bytes.
        self._held: list[jax.Array] = []
        # Until a program is traced: asking an idle JAX would start a backend.
        self.backend = self.device_kind = ""

    def stop(self) -> None:
        """Prove no more."""
        watch_traces(None)

    def end_phase(self, *, is_last: bool) -> None:
        """Note the captured arrays that a phase of a test has deleted, donated or written to.

        Writes are looked for in the test that traced the program, whose end is its last phase.
        """
        with self._lock:
            for key, captured in list(self._captured.items()):
                array = captured.array()
                if array is None:
                    del self._captured[key]
                    if captured.may_go:
                        self._is_gone(captured)
                    continue
                captured.may_go = False
                if array.is_deleted():
                    del self._captured[key]
                    found = donated_before
                elif captured.memory is None or captured.memory == memory_of(array):
                    captured.memory = None if is_last else captured.memory
                    continue
                else:
                    captured.memory, found = None, written_to_since
                for seen, use in captured.uses:
                    self._breaks(seen, found(use))
            self._held.clear()

    def _breaks(self, seen: Seen, hazard: Hazard) -> None:
        assert seen.proof is not None
        told = {(each.kind, each.file, each.line) for each in seen.proof.hazards}
        if (hazard.kind, hazard.file, hazard.line) in told:
            return  # as where the program itself donates it
        proof = ProgramProof(
            answer="proved", claims=seen.proof.claims, hazards=(with_code(hazard),)
        )
        self._recorder.breaks(seen, proof)
        self._fail_by_rules(seen, proof)

    def _is_gone(self, captured: _Captured) -> None:
        for seen, use in captured.uses:
            assert seen.proof is not None
            why = (
                f"it captures {type_of(use.array.value)}, which nobody has any more: whether it "
                "was deleted or donated, and called after that, is not known"
            )
            proof = ProgramProof(answer="proved", claims=seen.proof.claims, reservations=(why,))
            self._recorder.breaks(seen, proof)

    def __call__(self, trace: StockTrace) -> None:
        """Prove a program that JAX has traced, if it is new, or called otherwise than before."""
        if getattr(self._here, "is_proving", False):
            return  # traced again, or what reading arrays has JAX trace
        self._here.is_proving = True
        try:
            self._prove(trace)
        finally:
            self._here.is_proving = False

    def _prove(self, trace: StockTrace) -> None:
        if not self.backend:
            self.backend, self.device_kind = jax.default_backend(), jax.devices()[0].device_kind
        closed = trace.form.closed_jaxpr
        seen = self._recorder.seen(closed, lambda: Seen(describe(_expanded(trace)[0], trace.name)))
        kind = _kind(trace)
        if kind in self._kinds.setdefault(closed, set()):
            self._recorder.proved(seen, None)
            return
        self._kinds[closed].add(kind)
        known = seen.proof.claims[0] if seen.proof else None
        # Trees and types of the user's are printed, which may raise; no test is to fail by that.
        try:
            found = known or proved(trace)
        except Exception as error:  # noqa: BLE001
            found = _undecided(f"proving it raised {named(error)}")
        proof, uses = _contract(trace, found, captures=seen.row.captured > 0)
        self._recorder.proved(seen, proof)
        self._fail_by_rules(seen, proof, trace)
        self._hold(seen, uses)

    def _hold(self, seen: Seen, uses: Sequence[CapturedUse]) -> None:
        with self._lock:
            for use in uses:
                if not isinstance(array := use.array.value, jax.Array) or array.is_deleted():
                    continue
                known = self._captured.get(id(array))
                if known is None or known.array() is not array:
                    ref = weakref.ref(array)
                    known = self._captured[id(array)] = _Captured(ref, memory_of(array))
                type_ = jax.ShapeDtypeStruct(array.shape, array.dtype)
                known.uses.append((seen, replace(use, array=replace(use.array, value=type_))))
                if sum(each.nbytes for each in self._held) + array.nbytes <= HELD_BYTES:
                    self._held.append(array)
                else:
                    known.may_go = True

    def _fail_by_rules(
        self, seen: Seen, proof: ProgramProof, trace: StockTrace | None = None
    ) -> None:
        if any(each.is_broken_by(proof) for each in self._rules):
            captured = captured_arrays(_expanded(trace)[0]) if trace else ()
            self._recorder.differs(
                seen.difference(
                    "legacy",
                    "simplified",
                    captured=captured,
                    claim=proof.claims[0],
                    reasons=_reasons(proof),
                )
            )


@dataclass
class _Captured:
    """A captured array, checksums of its memory, and the programs that use it.

    `may_go` says that nothing holds it until the phase ends that it was captured in.
    """

    array: weakref.ref[jax.Array]
    memory: list[int] | None
    may_go: bool = False
    uses: list[tuple[Seen, CapturedUse]] = field(default_factory=list)


def _kind(trace: StockTrace) -> Any:
    """Return what the hazards of a call depend on: donations, places and guards.

    Two jits of one function are one program to JAX, whatever their options.
    """
    arrays = [each for each in trace.operands if isinstance(each, jax.Array)]
    places = [] if not trace.executes else [(x.sharding, x.committed) for x in arrays]
    options = options_in(trace.jit_info)
    device = options.get("device"), options.get("backend")
    stated = (*trace.shardings, *jax.tree.leaves(options.get("out_shardings")), device)
    around = context_mesh(trace.jit_info), default_device(), *transfer_guards().values()
    donated, keeps = tuple(trace.donated), options.get("keep_unused")
    return trace.executes, trace.is_stage, donated, tuple(places), stated, keeps, around


def proved(trace: StockTrace) -> Claim:
    """Return what a trace, and another one in the other form, say of a function.

    A function that each trace makes another program of is undecided: its forms may part for no
    reason of theirs.
    """
    other = _OTHER[trace.side]
    form = _traced_again(lambda: trace.on(other), other)
    if isinstance(form, Claim):
        return form
    forms = (trace.form, form) if trace.side == "legacy" else (form, trace.form)
    found = _claim(*forms)
    if found.answer not in ("parted", "refuted"):
        return found
    again = _traced_again(trace.again, trace.side)
    if isinstance(again, Claim):
        return again
    if _claim(trace.form, again).answer != "proved":
        return _undecided("each trace of it is another program, in one form as well")
    before, after = ([*steps_of(numbered_jaxpr(each.closed_jaxpr))] for each in forms)
    return found.model_copy(update={"place": place_apart(before, after)})


def _traced_again(trace: Callable[[], TracedForm], side: OurSide) -> TracedForm | Claim:
    """Trace a function again; Python's and NumPy's random numbers are those of no second trace."""
    drawn, drawn_by_numpy = random.getstate(), np.random.get_state()
    try:
        return trace()
    except _RAISED as error:
        return _undecided(f"traced again, in {side} form, it raised {named(error)}")
    finally:
        random.setstate(drawn)
        np.random.set_state(drawn_by_numpy)


def _undecided(reason: str) -> Claim:
    return Claim(of="jaxpr", answer="undecided", reason=reason)


def _claim(before: TracedForm, after: TracedForm) -> Claim:
    """Return the claim of two traces of a function, which have the jit options in common."""
    return claim("jaxpr", "", numbers_of_jaxpr(*before), numbers_of_jaxpr(*after))


def _expanded(trace: StockTrace) -> tuple[Any, str]:
    """Return a program with its hijax primitives expanded, or as it is, and why they are not.

    Those of a derivative or batch may have no rule for that, and JAX does not expand them.
    """
    closed = trace.form.closed_jaxpr
    if not closed.is_high or not trace.executes:
        return closed, ""
    # The rules are the user's. JAX keeps what they make, and lowers that.
    try:
        return jax_internals.expanded(closed), ""
    except _RAISED as error:
        return closed, f"what its hijax primitives capture is not known: {named(error)}"


def _contract(
    trace: StockTrace, found: Claim, *, captures: bool
) -> tuple[ProgramProof, tuple[CapturedUse, ...]]:
    """Return a claim, with what may break for these arguments, and the captured arrays."""
    closed, unknown = _expanded(trace)
    reservations = tuple(filter(None, ("" if trace.executes else _DERIVED, unknown)))
    if not captures:
        return ProgramProof(answer=found.answer, claims=(found,), reservations=reservations), ()
    # The user's own arrays, for it counts who holds them: the second trace has copies.
    simplified = pipeline_of("simplified").normalize(closed)
    of_each = zip(trace.operands, trace.donated, trace.shardings, strict=True)
    arguments = tuple(  # a derivative or batch has stand-ins for some of them
        Argument(*each) for each in of_each if not isinstance(each[0], jax.core.Tracer)
    )
    # A detector asks the program's own trees and arrays, which may raise.
    try:
        options, mesh = options_in(trace.jit_info), context_mesh(trace.jit_info)
        traced = program_of_form(
            trace.fun, simplified, trace.form.out_tree, arguments, options, (), mesh
        )
        hazards = of_trace(traced)
        if not any(each.kind == "captured and donated" for each in hazards):
            reservations = (*reservations, *_later_calls(traced))
        if trace.is_stage:
            reservations = (*reservations, *_calls_of_stages(traced))
    except Exception as error:  # noqa: BLE001
        why = f"its hazards are not known: {it_raised(error)}"
        reservations = (*reservations, why)
        return ProgramProof(answer=found.answer, claims=(found,), reservations=reservations), ()
    proof = ProgramProof(
        answer=found.answer,
        claims=(found,),
        hazards=breaking(hazards),
        folded=folded(hazards),
        reservations=reservations,
    )
    return proof, traced.uses


def _later_calls(traced: TracedProgram) -> Iterator[str]:
    """Yield what later calls with arguments of the same types may do: JAX calls Python no more."""
    donated = {type_of(each) for each in consumed_by(traced)}
    values = (use.array.value for use in traced.uses)
    captured = {type_of(each) for each in values if isinstance(each, jax.Array)}
    if both := sorted(donated & captured):
        yield (
            f"it donates and captures {', '.join(both)}: a later call that donates the captured "
            "array fails after the flip, and is not seen"
        )


def _calls_of_stages(traced: TracedProgram) -> Iterator[str]:
    """Yield what a transfer guard around the first call of a compiled stage stops."""
    guarded = replace(traced, guards=dict.fromkeys(traced.guards, "disallow"))
    moved = sorted({each.array for each in implicit_transfer(guarded)})
    if moved:
        yield (
            f"it is traced for a stage and captures {', '.join(moved)}: a first call of what is "
            "compiled transfers that after the flip, and a transfer guard around it is not seen"
        )


def _reasons(proof: ProgramProof) -> tuple[FlipReason, ...]:
    hazards = [
        FlipReason(
            outcome="safe", kind="hazard", subject=each.kind, what=f"{each.kind}: {each.what}",
            where=f"{each.file}:{each.line}" if each.file else "", action=each.fix,
        )
        for each in proof.hazards
    ]  # fmt: skip
    notes = [FlipReason(outcome="safe", kind="note", what=each) for each in proof.reservations]
    return (*hazards, *notes)
