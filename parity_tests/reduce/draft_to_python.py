"""Program text: a draft as a Python function that makes the arrays it captures and returns it.

Each equation is one call: a function of `jax.lax` where it says the same, or else the bind of a
public primitive. Captured arrays are made where `program` is called and closed over.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from parity_tests.evidence.values import dtype_named
from parity_tests.reduce.draft import (
    CALLS,
    FUNCTIONS,
    OF_SEQUENCES,
    SCATTERS,
    Array,
    Atom,
    Body,
    CapturedRef,
    Draft,
    Equation,
    Scalar,
    Store,
    Var,
)
from parity_tests.reduce.python_literals import scalar_type

# As many elements as fit in a line or two; larger arrays go to the .npz, unless any values do.
LITERAL = 32

# Names of primitives that differ from the names in jax.extend.core.primitives.
_NAMES = {"add_any": "add_jaxvals_p", "remat2": "remat_p"}
# Functions of jax.lax that bind the primitive of their name and nothing else.
_LAX = frozenset(
    {
        "abs", "acos", "add", "asin", "atan", "atan2", "cbrt", "ceil", "cos", "cosh", "div",
        "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge", "gt", "is_finite",
        "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "nextafter",
        "pow", "rem", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh",
    }
)  # fmt: skip


class ProgramText:
    """The text of a draft's `program`, and the arrays that it reads from the .npz beside it.

    With `all_beside` the .npz has the small arrays too: the text is the same whatever the elements
    of its arrays are.
    """

    def __init__(self, draft: Draft, store: Store, *, all_beside: bool = False) -> None:
        self.draft = draft
        self.store = store
        self.kept: dict[str, np.ndarray[Any, Any]] = {}
        self._all_beside = all_beside
        self._names: dict[int, str] = {}
        self._bodies = 0

    def npz(self) -> bytes | None:
        """Return the .npz with the arrays that the text reads; None where it reads none."""
        if not self.kept:
            return None
        buffer = io.BytesIO()
        # Bytes, so that one way holds for every dtype; NumPy's own format has no bfloat16.
        kept: Any = {n: np.frombuffer(each.tobytes(), np.uint8) for n, each in self.kept.items()}
        np.savez(buffer, **kept)
        return buffer.getvalue()

    def program(
        self,
        docstring: str = "Return a function and its arguments.",
        donated: Sequence[int] | None = None,
        aliases: Mapping[int, int] = MappingProxyType({}),
    ) -> str:
        """Return the source of `program`, which returns a function and its arguments.

        With the numbers of arguments that it donates, be they none, the function is a `jax.jit`
        that does. `aliases` are numbers of arrays that are one with an array before them, by its
        number.
        """
        draft = self.draft
        for n, var in enumerate(draft.body.inputs):
            self._names[var.number] = f"x{n}"
        for n, array in enumerate(draft.captured):
            self._names[array.number] = f"c{n}"
        arrays = [
            f"    {self._names[array.number]} = {self._made(array, aliases)}"
            for array in (*draft.captured, *draft.arguments)
        ]
        lines = ["def program():", f'    """{in_docstring(docstring)}"""']
        if self.kept:
            # Here and not at the top of the file: whoever lists the programs of a folder imports
            # all of its files, and should not hold all of their arrays.
            lines += [
                '    beside = Path(__file__).with_suffix(".npz")',
                "    with np.load(beside, allow_pickle=False) as stored:",
                "        arrays = {name: stored[name] for name in stored.files}",
            ]
        lines += arrays
        arguments = ", ".join(self._names[var.number] for var in draft.body.inputs)
        lines += ["", f"    def fun({arguments}):"]
        lines += [f"        {line}".rstrip() for line in self._lines(draft.body)]
        outputs = self._tuple(draft.body.outputs)
        comma = "," if len(draft.body.inputs) == 1 else ""
        options = f", donate_argnums={tuple(donated)}" if donated else ""
        fun = "fun" if donated is None else f"jax.jit(fun{options})"
        lines += [f"        return {outputs}", "", f"    return {fun}, ({arguments}{comma})"]
        return "\n".join(lines)

    # -- arrays ------------------------------------------------------------------------------------

    def _made(self, array: Array, aliases: Mapping[int, int]) -> str:
        one = aliases.get(array.number)
        return self._array(array) if one is None else self._names[one]

    def _array(self, array: Array) -> str:
        text = self._elements(array)
        if array.made_by == "scalar":
            return text
        if array.impl:
            text = f"jax.random.wrap_key_data({text}, impl={array.impl!r})"
        elif array.made_by == "jax":
            text = f"jax.numpy.asarray({text})"
        if array.made_by == "jax" and array.type.weak:
            text = (
                f"primitives.convert_element_type_p.bind({text}, "
                f"new_dtype=np.dtype({scalar_type(array.type.dtype)}), weak_type=True, "
                "sharding=None)"
            )
        if array.device is not None:
            text = f"jax.device_put({text}, jax.devices()[{array.device}])"
        return text

    def _elements(self, array: Array) -> str:
        shape, dtype = array.type.shape, array.type.dtype
        recorded = self.store.get(array.number)
        if array.made_by == "scalar":
            assert recorded is not None
            if self._all_beside:
                return f"{self._numbers(recorded, array.number)}.item()"
            return repr(recorded.item())
        if array.impl:
            assert recorded is not None  # keys are small
            return self._numbers(recorded, array.number)
        if array.values == "recorded" and recorded is not None:
            return self._numbers(recorded, array.number)
        if array.values == "random":
            if np.issubdtype(dtype_named(dtype), np.integer):
                text = f"np.random.default_rng({array.number}).integers(0, 8, {shape})"
            else:
                text = f"np.random.default_rng({array.number}).normal(size={shape})"
            return f"{text}.astype({scalar_type(dtype)})"
        return f"np.ones({shape}, {scalar_type(dtype)})"

    def _numbers(self, value: np.ndarray[Any, Any], number: int) -> str:
        dtype = scalar_type(value.dtype.name)
        if not value.size:
            return f"np.zeros({value.shape}, {dtype})"
        flat = value.reshape(-1)
        plain = (
            value.dtype.kind in "biuf"
            and not self._all_beside
            and not (value.dtype.kind == "f" and np.isnan(flat).any())
        )
        if plain and (flat[:1].tobytes() * value.size) == value.tobytes():
            text = _literal(flat[0].item())
            return f"np.full({value.shape}, {text}, {dtype})"
        if plain and value.size <= LITERAL:
            return f"np.array({_literal(value.tolist())}, {dtype})"
        name = self._names.get(number, f"a{number}")
        self.kept[name] = value
        return f'arrays["{name}"].view({dtype}).reshape({value.shape})'

    # -- bodies ------------------------------------------------------------------------------------

    def _lines(self, body: Body) -> Iterator[str]:
        for equation in body.equations:
            yield from self._equation(equation)

    def _equation(self, equation: Equation) -> Iterator[str]:
        if equation.primitive in CALLS:
            yield from self._call(equation)
        elif equation.primitive == "scan":
            yield from self._scan(equation)
        elif equation.primitive == "while":
            yield from self._while(equation)
        elif equation.primitive == "cond":
            yield from self._cond(equation)
        else:
            call = self._first_order(equation)
            yield f"{self._targets(equation, multiple=equation.multiple)} = {call}"

    def _first_order(self, equation: Equation) -> str:
        name, operands = equation.primitive, [self._atom(each) for each in equation.operands]
        params = dict(equation.params)
        if name in SCATTERS:
            return f"lax.{name.replace('-', '_')}({', '.join([*operands, *_keywords(params)])})"
        if name in _LAX and all(value == "None" for value in params.values()):
            return f"lax.{name}({', '.join(operands)})"
        if name in FUNCTIONS:
            taken = [self._tuple(equation.operands)] if name in OF_SEQUENCES else operands
            return f"{FUNCTIONS[name]}({', '.join([*taken, *_keywords(params)])})"
        public = _NAMES.get(name, f"{name.replace('-', '_')}_p")
        return f"primitives.{public}.bind({', '.join([*operands, *_keywords(params)])})"

    def _call(self, equation: Equation) -> Iterator[str]:
        [body] = equation.bodies
        name, kind = self._new_body(), equation.primitive
        yield from ["", f"@jax.{kind.removesuffix('_call')}"]
        yield from self._function(name, body, [self._new(var) for var in body.inputs])
        if kind.startswith("custom"):
            # The program is differentiated already: nobody asks for the rules, but they must exist.
            rules = ["lambda *_: None"] * (1 if kind == "custom_jvp_call" else 2)
            rule = "defjvp" if kind == "custom_jvp_call" else "defvjp"
            yield f"{name}.{rule}({', '.join(rules)})"
        operands = ", ".join(self._atom(each) for each in equation.operands)
        if any(equation.barriers):
            # As JAX lowers the checkpoint of a function that was differentiated.
            pairs = zip(equation.operands, equation.barriers, strict=True)
            operands = ", ".join(
                f"lax.optimization_barrier({self._atom(each)})" if held else self._atom(each)
                for each, held in pairs
            )
        yield f"{self._targets(equation)} = {name}({operands})"

    def _scan(self, equation: Equation) -> Iterator[str]:
        [body] = equation.bodies
        name, n = self._new_body(), equation.carried
        inputs = [self._new(var) for var in body.inputs]
        yield from ["", f"def {name}(carry, xs):"]
        yield f"    {_target(inputs[:n])} = carry"
        yield f"    {_target(inputs[n:])} = xs"
        yield from textwrap.indent("\n".join(self._lines(body)), "    ").split("\n")
        yield f"    return {self._tuple(body.outputs[:n])}, {self._tuple(body.outputs[n:])}"
        yield ""
        init, xs = self._tuple(equation.operands[:n]), self._tuple(equation.operands[n:])
        results = [self._new(var) for var in equation.results]
        options = ", ".join(_keywords(dict(equation.params)))
        targets = f"{_target(results[:n])}, {_target(results[n:])}"
        yield f"{targets} = lax.scan({name}, {init}, {xs}, {options})"

    def _while(self, equation: Equation) -> Iterator[str]:
        names = []
        for body, is_cond in zip(equation.bodies, (True, False), strict=True):
            names.append(self._new_body())
            inputs = [self._new(var) for var in body.inputs]
            yield from ["", f"def {names[-1]}(carry):", f"    {_target(inputs)} = carry"]
            yield from textwrap.indent("\n".join(self._lines(body)), "    ").split("\n")
            outputs = self._atom(body.outputs[0]) if is_cond else self._tuple(body.outputs)
            yield f"    return {outputs}"
        yield ""
        init = self._tuple(equation.operands)
        call = f"lax.while_loop({names[0]}, {names[1]}, {init})"
        yield f"{self._targets(equation)} = {call}"

    def _cond(self, equation: Equation) -> Iterator[str]:
        names = []
        for body in equation.bodies:
            names.append(self._new_body())
            yield ""
            yield from self._function(names[-1], body, [])
        [index] = equation.operands
        yield ""
        if index.type.dtype == "bool":
            call = f"lax.cond({self._atom(index)}, {names[1]}, {names[0]})"
        else:
            call = f"lax.switch({self._atom(index)}, [{', '.join(names)}])"
        yield f"{self._targets(equation)} = {call}"

    def _function(self, name: str, body: Body, inputs: list[str]) -> Iterator[str]:
        yield f"def {name}({', '.join(inputs)}):"
        for line in self._lines(body):
            yield f"    {line}"
        yield f"    return {self._tuple(body.outputs)}"
        yield ""

    # -- names -------------------------------------------------------------------------------------

    def _new(self, var: Var) -> str:
        return self._names.setdefault(var.number, f"v{len(self._names)}")

    def _new_body(self) -> str:
        self._bodies += 1
        return f"body{self._bodies}"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Scalar):
            return atom.text
        assert isinstance(atom, (Var, CapturedRef))
        return self._names[atom.number]

    def _tuple(self, atoms: tuple[Atom, ...]) -> str:
        return f"({', '.join(map(self._atom, atoms))}{',' if len(atoms) == 1 else ''})"

    def _targets(self, equation: Equation, *, multiple: bool = True) -> str:
        names = [self._new(var) for var in equation.results]
        return _target(names) if multiple else names[0]


def in_docstring(text: str) -> str:
    """Return a text as it stands between three quotes."""
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _target(names: list[str]) -> str:
    """Return the target of an assignment: "a, b" in parentheses, or "_" for no names."""
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})" if names else "_"


def _keywords(params: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in params.items()]


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)
