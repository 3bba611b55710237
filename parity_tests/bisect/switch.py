"""In a process of the command: each program takes the form, and each array the way, of its site.

What is flipped behaves as on stock JAX after the flip: NumPy arrays are read when JAX reads them,
donated arrays are not protected, captured arrays take part in placement, and are passed once for
each use. The engine fixes all that elsewhere, and the command would pass.

A program has one of the engine's pipelines by its own site. Both are changed in one step, the plan,
which hoists those arrays whose sites are flipped and inlines the others.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import jax

import engine
from engine import jax_internals, tracing
from engine.configuration.choices import Choices
from engine.configuration.parsing import Side
from engine.configuration.policy_table import Entry, read_lines
from engine.ir.array_snapshots import leave_arrays_as_they_are
from engine.ir.captured_constants import CapturedConstant, captured_constants
from engine.ir.closures import with_names
from engine.ir.jaxprs import ClosedJaxpr, Var, bodies_in, constant_key, is_hoistable
from engine.pipeline import LoweringPlan, Pipeline
from legacy_closedjaxpr import pipeline as legacy
from parity_tests import in_place_of_jax
from parity_tests.bisect import sites
from parity_tests.bisect.sites import Site, file_of
from parity_tests.jaxpr.captured_uses import captured_uses
from parity_tests.jaxpr.source_places import code_at, kind_of_file
from simplified_consts import pipeline as simplified
from simplified_consts.const_args import const_args
from simplified_consts.hoisting.closure_conversion import Conversion
from simplified_consts.hoisting.liveness import live_part


def begin(folder: Path) -> bool:
    """Put the switch in the place of JAX's functions, and say whether it was not there yet."""
    if _switches:
        return False
    switch = Switch(folder)
    _switches.append(switch)
    leave_arrays_as_they_are()
    engine.config.update("strict_placement", True)
    jax_internals.tell_captures(switch.not_reached)
    jax_internals.name_functions(name_of_function)
    legacy.PIPELINE = switch.switched(legacy.PIPELINE)
    simplified.PIPELINE = switch.switched(simplified.PIPELINE)
    in_place_of_jax.install(switch.functions, lambda: None)
    return True


_switches: list[Switch] = []
Found = tuple[Hashable, Site]  # an array of a program by its key, and its site


def _under_its_name_in_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let pickle find the function of each process as `jax.jit`."""
    function.__module__, function.__qualname__ = "jax", function.__name__
    return function


class Switch:
    """What is flipped in this process, and the sites that it has met."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._flips = sites.flips_of(folder)
        self._policy = read_lines(sites.policy_of(folder), "the policy")
        self._seen: set[tuple[str, str]] = set()
        self._told: set[tuple[str, str]] = set()

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions that take the place of JAX's, by their names in `jax`."""
        return {"jit": self._jit, "make_jaxpr": self._make_jaxpr}

    @functools.cached_property
    def _jit(self) -> Callable[..., Any]:
        @_under_its_name_in_jax
        @functools.wraps(jax_internals.stock_jit)
        def jit(*function: Any, **options: Any) -> Any:
            if not function:
                engine.jit(**options)  # a misspelled option fails here, where it was written
                return functools.partial(jit, **options)
            return engine.jit(*function, constants=self._side_of(*function), **options)

        return jit

    @functools.cached_property
    def _make_jaxpr(self) -> Callable[..., Any]:
        @_under_its_name_in_jax
        @functools.wraps(engine.make_jaxpr)
        def make_jaxpr(fun: Any, *arguments: Any, **options: Any) -> Any:
            return engine.make_jaxpr(fun, *arguments, constants=self._side_of(fun), **options)

        return make_jaxpr

    def _side_of(self, fun: Any, *_: Any) -> Side:
        site = program_site(jax_internals.jit_info(fun, {}).fun_sourceinfo)
        return "simplified" if site.id in self._flips else "legacy"

    # -- the pipelines -----------------------------------------------------------------------------

    def switched(self, pipeline: Pipeline) -> Pipeline:
        """Return a pipeline of this form whose plans hoist the arrays of flipped sites."""

        def normalize(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
            if tracing.traced_form() is None:  # the outermost program
                self._meet(program_site(_source(closed_jaxpr)))
            return pipeline.normalize(closed_jaxpr)

        def plan(
            closed_jaxpr: ClosedJaxpr, embed_threshold: int, hoist: bool, choices: Choices
        ) -> LoweringPlan:
            self._meet(program_site(_source(closed_jaxpr)))
            if not hoist:
                plan = pipeline.plan(closed_jaxpr, embed_threshold, hoist, choices)
                form = simplified_form(closed_jaxpr)
                found = list(array_sites(live_part(form), embed_threshold))
                self._captured(found, plan, "it is exported")
                self._check_followed(found, form, "they are exported", is_hoisted=False)
                return plan
            return self._plan(pipeline, closed_jaxpr, embed_threshold, choices)

        return dataclasses.replace(pipeline, normalize=normalize, plan=plan, const_args=const_args)

    def _plan(
        self, pipeline: Pipeline, closed_jaxpr: ClosedJaxpr, embed_threshold: int, choices: Choices
    ) -> LoweringPlan:
        form = simplified_form(closed_jaxpr)
        live = live_part(form)
        found = list(array_sites(live, embed_threshold))
        if unconverted := _primitives_that_take_none(live, embed_threshold):
            why = f"its arrays go to bodies of {', '.join(sorted(unconverted))}"
            self._tell_once("together", program_site(_source(closed_jaxpr)).program, why)
            plan = pipeline.plan(closed_jaxpr, embed_threshold, True, choices)
            self._captured(found, plan, "it is flipped with the form of its program")
            self._check_followed(found, form, why, is_hoisted=pipeline.side == "simplified")
            return plan
        for _, site in found:
            self._meet(site)
        chosen = self._chosen(found, form)
        if "hoist" not in chosen.values() and pipeline.side == "legacy":
            plan = pipeline.plan(closed_jaxpr, embed_threshold, True, choices)
            self._captured(found, plan)
            return plan
        if any(choice != "hoist" for choice in chosen.values()):
            choices = choices._replace(policy=_Policy(frozenset(chosen.items())))
        return one_for_each_use(_SIMPLIFIED.plan(form, embed_threshold, True, choices))

    def _chosen(self, found: Sequence[Found], form: ClosedJaxpr) -> dict[Hashable, str | None]:
        """Return what becomes of each array: by the policy, else by whether its site is flipped."""
        flips = {key: "hoist" if site.id in self._flips else "inline" for key, site in found}
        return {**flips, **{key: entry.choice for key, entry in self._by_policy(found, form)}}

    def _by_policy(
        self, found: Sequence[Found], form: ClosedJaxpr
    ) -> Iterator[tuple[Hashable, Entry]]:
        """Yield the arrays that the policy names, each with the entry that decides."""
        if not self._policy.entries:
            return
        constants = {constant_key(each.value): each for each in captured_constants(form)}
        for key, site in found:
            # First the place that `constparity sites` lists. Else the innermost line outside of
            # JAX, which may be a library's: the place that a constant policy goes by elsewhere.
            named = self._policy.naming(_AsConstant(site)) or self._policy.naming(constants[key])
            for entry in named:
                self._tell_once("matched", entry.key, "")
            if named:
                yield key, named[0]

    def _check_followed(
        self, found: Sequence[Found], form: ClosedJaxpr, why: str, *, is_hoisted: bool
    ) -> None:
        """Tell the keys of the policy that name arrays of which all or none are hoisted."""
        for _, entry in self._by_policy(found, form):
            if (entry.choice == "hoist") != is_hoisted:
                self._tell_once("unfollowed", entry.key, why)

    # -- what is told ------------------------------------------------------------------------------

    def not_reached(self, value: Any) -> None:
        """Tell the line of an array that is captured in a trace of JAX's own."""
        threshold = int(engine.config.embedded_constants_max_bytes)
        if tracing.traced_form() is None and is_hoistable(value, threshold):
            place = _place_of_caller()
            if place is not None:
                array = jax.typeof(value).str_short()
                self._tell_once("not_reached", f"{array} at {place}", "")

    def _tell_once(self, what: str, name: str, why: str) -> None:
        if (what, name) not in self._told:
            self._told.add((what, name))
            sites.tell(self._folder, what, {name: why})

    def _captured(self, found: Sequence[Found], plan: LoweringPlan, fixed: str = "") -> None:
        """Tell how many copies of its arrays a program inlines; `fixed` is why none is flipped."""
        copies, told = inlined_copies(plan.closed_jaxpr), {}
        for key, site in found:
            told[site.id] = copies[key]
            if fixed:
                self._meet(site, fixed)
        if told:
            sites.tell(self._folder, "lowered", told)

    def _meet(self, site: Site, fixed: str = "") -> None:
        if (site.id, fixed) not in self._seen:
            self._seen.add((site.id, fixed))
            sites.tell_site(self._folder, site, fixed)
            sites.tell_loaded(self._folder)  # the process may be ended before it tells the rest


_SIMPLIFIED = simplified.PIPELINE
simplified_form = _SIMPLIFIED.normalize


@dataclasses.dataclass(frozen=True)
class _Policy:
    """A constant policy that has the choice of each array, by its key, and inlines others."""

    chosen: frozenset[tuple[Hashable, str | None]]

    @functools.cached_property
    def _by_key(self) -> dict[Hashable, str | None]:
        return dict(self.chosen)

    def __call__(self, constant: CapturedConstant) -> str | None:
        return self._by_key.get(constant_key(constant.value), "inline")


@dataclasses.dataclass(frozen=True)
class _AsConstant:
    """A site, for a policy table to be asked as it is of a captured constant."""

    site: Site

    @property
    def aval(self) -> str:
        return self.site.array

    def captured_at(self) -> tuple[str, int, str]:
        return self.site.file, self.site.line, self.site.function


def _primitives_that_take_none(live: ClosedJaxpr, embed_threshold: int) -> Collection[str]:
    """Return the primitives whose bodies hold arrays, and which can be handed none."""

    def key(value: Any) -> Hashable | None:
        return constant_key(value) if is_hoistable(value, embed_threshold) else None

    conversion = Conversion(key)
    conversion.needs(live)
    return conversion.unconverted


def inlined_copies(closed_jaxpr: ClosedJaxpr) -> Counter[Hashable]:
    """Count the constants that a planned program makes of each array, by its key.

    Example::

        inlined_copies(plan.closed_jaxpr)[constant_key(table)] == 2
    """
    return Counter(
        constant_key(value)
        for body in bodies_in(closed_jaxpr)
        for eqn in body.eqns
        for value in jax_internals.arrays_made_by(eqn)
    )


def _place_of_caller() -> str | None:
    """Return "file:line" of the innermost frame of a user's code; None where it has none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and kind_of_file(frame.f_code.co_filename) != "user":
        frame = frame.f_back
    return f"{file_of(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else None


# -- what a site is --------------------------------------------------------------------------------


def name_of_function(fun: Any, source: str) -> str:
    """Return JAX's text for a function, with what it leaves out.

    That is the column of a lambda where its line has several, and the class of an object that is
    called. So objects of one class are one site.

    Example::

        name_of_function(Scale(), "<unknown>") == "Scale at /me/model.py:12"
    """
    while isinstance(fun := inspect.unwrap(fun), functools.partial):
        fun = fun.func
    if source == "<unknown>":
        kind = fun if isinstance(fun, type) else type(fun)
        code = getattr(kind.__call__, "__code__", None)
        if code is None:
            return f"{kind.__module__}.{kind.__qualname__}"
        return f"{kind.__qualname__} at {code.co_filename}:{code.co_firstlineno}"
    name, file, line = _parts(source)
    if name != "<lambda>" or code_at(file, line).count("lambda") < 2:
        return source
    positions = ((at, column) for at, _, column, end in fun.__code__.co_positions() if end)
    column = min(positions, default=(line, 0))[1]  # of what the lambda returns
    return f"<lambda:{column}> at {file}:{line}"


def program_site(source: str) -> Site:
    """Return the site of a program from what JAX says of its function: "step at /me/model.py:12".

    Example::

        program_site("step at model.py:12").line == 12
    """
    function, file, line = _parts(source)
    named = file_of(file) if file else ""
    place = f" at {named}:{line}" if file else ""
    return Site(
        "program", f"{function}{place}", named, line, function, code=code_at(file, line)
    )  # fmt: skip


def _parts(source: str) -> tuple[str, str, int]:
    function, _, place = source.partition(" at ")
    file, _, line = place.rpartition(":")
    return (function, file, int(line)) if line.isdecimal() else (source, "", 0)


def _source(closed_jaxpr: ClosedJaxpr) -> str:
    return str(closed_jaxpr.jaxpr.debug_info.func_src_info or "")


def array_sites(live: ClosedJaxpr, embed_threshold: int) -> Iterator[Found]:
    """Yield the key and the site of each array of a live program that can be hoisted."""
    program = program_site(_source(live)).program
    numbers: dict[tuple[Any, ...], int] = {}
    for use in captured_uses(live):
        value = use.array.value
        if not is_hoistable(value, embed_threshold):
            continue
        array = jax.typeof(value).str_short()
        told_by = (use.place, array)
        ordinal = numbers[told_by] = numbers.get(told_by, -1) + 1
        file, line, function = use.place
        site = Site(
            "array", program, file_of(file), line, function, array, ordinal, use.array.bytes,
            use.uses, code_at(file, line),
        )  # fmt: skip
        yield constant_key(value), site


# -- const args as stock JAX passes them: an array once for each use -------------------------------


def one_for_each_use(plan: LoweringPlan) -> LoweringPlan:
    """Return a plan with a const arg for each operand and output of the program that is one.

    JAX takes each Literal for a constant of its own; bodies of one equation share theirs. The
    module has as many arguments, and the memory of arguments counts each.

    Source: `core.jaxpr_const_args` (jax 0.10.2).
    """
    body, count = plan.closed_jaxpr, plan.num_const_args
    values = dict(zip(body.invars[:count], plan.const_args, strict=True))
    used: set[Var] = set()
    added: dict[Var, Any] = {}

    def read(atoms: Sequence[Any]) -> list[Any]:
        found = []
        for atom in atoms:
            if isinstance(atom, Var) and atom in values:
                if atom in used:
                    again = jax_internals.new_var(atom.aval)
                    added[again], atom = values[atom], again
                used.add(atom)
            found.append(atom)
        return found

    outvars = read(body.outvars)
    eqns = [eqn.replace(invars=read(eqn.invars)) for eqn in body.eqns]
    if not added:
        return plan
    names = body.debug_info.arg_names
    if names is not None:
        names = (*names[:count], *("" for _ in added), *names[count:])
    changed = jax_internals.replaced(
        body,
        invars=[*body.invars[:count], *added, *body.invars[count:]],
        outvars=outvars,
        eqns=eqns,
        debug_info=body.debug_info if names is None else with_names(body, names),
    )
    const_args = (*plan.const_args, *added.values())
    return dataclasses.replace(plan, closed_jaxpr=changed, const_args=const_args)
