"""Programs: the Python functions that a campaign runs on every side.

Example::

    import jax.numpy as jnp
    import parity_tests

    weights = jnp.arange(12.0).reshape(3, 4)

    @parity_tests.program(args=(jnp.ones(3),))
    def project(x):
        "Project a vector with captured weights."
        return x @ weights
"""

from __future__ import annotations

import inspect
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, overload

from parity_tests.own_jit import OwnJit

_F = TypeVar("_F", bound=Callable[..., Any])
Built: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

# An attribute and not a registry: imports would fill a registry as a side effect, and a function
# that is imported twice would be two programs.
_MARK = "__constparity_program__"
# Of a module that marks functions of its own: where each is, by the number of its mark.
_MARKED = "__constparity_marked__"
_numbers = itertools.count()


class ProgramError(TypeError):
    """A program is declared or built in a way that cannot run; the message says which and why."""


@dataclass(frozen=True)
class Mark:
    """What `program` attaches to a function; `args` is None on a factory.

    `module` is the name of the module that called `program`. A factory with `sizes` is a program
    for each of them, its attribute "n4000" for the size 4,000.
    """

    args: tuple[Any, ...] | Callable[[], tuple[Any, ...]] | None
    kwargs: Mapping[str, Any]
    name: str | None
    tags: tuple[str, ...]
    module: str = ""
    sizes: tuple[int, ...] = ()
    number: int = field(default_factory=lambda: next(_numbers), compare=False)


@dataclass(frozen=True)
class Program:
    """One target: a function and how to get example arguments for it.

    `target` is a string that loads the same program in another process. `source` is `file:line`,
    relative to the working directory where the file lies below it. `anew` is the program whose
    factory runs at each build, where that of this one runs once.
    """

    name: str
    target: str
    source: str
    summary: str
    function: Callable[..., Any]
    mark: Mark
    tags: tuple[str, ...] = ()
    anew: Program | None = None

    def build(self) -> Built:
        """Return `(fun, args, kwargs)`, with `fun` not jitted: the side decides how to jit it.

        Where the target is a jitted function, `fun` is the Python function under it. Its static
        arguments are bound, and none is donated: `build_with_jit` has these options.

        Raises `ProgramError` where a factory or `args` returns something else than it should, and
        lets their own exceptions through.
        """
        own = self.build_with_jit()
        return own.bound, *own.dynamic

    def build_with_jit(self) -> OwnJit:
        """Return what `build` returns, and the options of the program's own `jax.jit`.

        Raises as `build` does.
        """
        return OwnJit.of(*self.build_as_written())

    def build_as_written(self) -> Built:
        """Return what `build` returns, but leave a target that is jitted as it is.

        Raises as `build` does.
        """
        if self.mark.args is None:
            return self._from_factory(self.function())
        args = self.mark.args() if callable(self.mark.args) else self.mark.args
        return self.function, self._checked_args(args), dict(self.mark.kwargs)

    def _from_factory(self, made: Any) -> Built:
        if not (isinstance(made, tuple) and len(made) in (2, 3) and callable(made[0])):
            raise ProgramError(
                f"the factory {self.name} ({self.source}) must return (fun, args) or "
                f"(fun, args, kwargs), with a callable first; it returned {_described(made)}"
            )
        kwargs = made[2] if len(made) == 3 else {}
        if not isinstance(kwargs, Mapping):
            raise ProgramError(
                f"the factory {self.name} ({self.source}) must return a mapping as kwargs; "
                f"it returned {_described(kwargs)}"
            )
        return made[0], self._checked_args(made[1]), dict(kwargs)

    def _checked_args(self, args: Any) -> tuple[Any, ...]:
        if isinstance(args, (tuple, list)):
            return tuple(args)
        raise ProgramError(
            f"args of {self.name} ({self.source}) must be a tuple, as in args=(x,); "
            f"got {_described(args)}"
        )


@overload
def program(function: _F, /) -> _F: ...
@overload
def program(
    *,
    args: tuple[Any, ...] | Callable[[], tuple[Any, ...]] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    name: str | None = None,
    tags: tuple[str, ...] = (),
    sizes: tuple[int, ...] = (),
) -> Callable[[_F], _F]: ...
def program(
    function: Callable[..., Any] | None = None,
    /,
    *,
    args: tuple[Any, ...] | Callable[[], tuple[Any, ...]] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    name: str | None = None,
    tags: tuple[str, ...] = (),
    sizes: tuple[int, ...] = (),
) -> Any:
    """Mark a function as a program of the module that calls this, and return it unchanged.

    With `args` the function itself is the program. `args` is a tuple, or a callable without
    arguments that returns one, so that nothing is allocated at import. Without `args` the function
    is a *factory*: it takes no arguments and returns `(fun, args)` or `(fun, args, kwargs)`.

    A factory with `sizes` takes one, and is a program for each: `loop` with `sizes=(1000, 4000)`
    is `loop.n1000` and `loop.n4000`, and a campaign with rounds says how its times grow.

    Raises `ProgramError` where a factory takes other arguments.

    Example::

        @program(args=lambda: (jnp.ones(3),))
        def double(x):
            return 2 * x

        @program
        def scaled():
            weights = jnp.arange(3.0)
            return (lambda x: weights * x), (jnp.ones(3),)

        gradient = program(args=(jnp.ones(3),))(jax.grad(my_model.loss))
    """
    names = sys._getframe(1).f_globals
    module = names.get("__name__", "")

    def mark(fun: Callable[..., Any]) -> Callable[..., Any]:
        if sizes:
            _check_sizes(fun, sizes, args)
            for n in sizes:
                of_size = Mark(None, {}, f"{name or _name_of(fun)}.n{n}", (*tags, f"n={n}"), module)
                setattr(fun, f"n{n}", partial(fun, n))
                setattr(getattr(fun, f"n{n}"), _MARK, of_size)
        elif args is None and takes_arguments(fun):
            raise ProgramError(
                f"{_name_of(fun)} ({source_of(fun)}) takes arguments, so it needs examples of "
                "them: @program(args=(...,)); without args a program is a factory that takes none"
            )
        if args is None and kwargs is not None:
            raise ProgramError(
                f"{_name_of(fun)} ({source_of(fun)}) is a factory: it returns its kwargs"
            )
        found = Mark(args, dict(kwargs or {}), name, tuple(tags), module, tuple(sizes))
        if getattr(fun, "__module__", "") == module:
            marked = names.setdefault(_MARKED, {})
            before = mark_of(fun)
            marked.pop(before.number if before else None, None)
            marked[found.number] = (name or _name_of(fun), source_of(fun))
        _put(fun, found)
        return fun

    return mark if function is None else mark(function)


def _put(fun: Callable[..., Any], mark: Mark) -> None:
    """Attach a mark, to a frozen dataclass as well: `equinox.filter_jit` returns one."""
    try:
        setattr(fun, _MARK, mark)
    except FrozenInstanceError:
        object.__setattr__(fun, _MARK, mark)
    except AttributeError as error:
        raise ProgramError(
            f"{_name_of(fun)} ({source_of(fun)}) takes no attributes, so it cannot be marked: mark "
            "a function that calls it"
        ) from error


def _check_sizes(fun: Callable[..., Any], sizes: tuple[int, ...], args: object) -> None:
    are_sizes = len(set(sizes)) > 1 and all(isinstance(n, int) and n > 0 for n in sizes)
    try:
        inspect.signature(fun).bind(sizes[0])
    except TypeError:
        are_sizes = False
    if args is not None or not are_sizes:
        raise ProgramError(
            f"{_name_of(fun)} ({source_of(fun)}) has sizes={sizes!r}: these are two integers or "
            "more above 0, of a factory that takes one alone, def make(n): ..., and has no args"
        )


def each_size(fun: Callable[..., Any], target: str) -> list[Program]:
    """Make the `Program` of a marked function, or one for each of the sizes that it declares.

    Example::

        [each.name for each in each_size(loop, "my_model.py:loop")] == ["loop.n1000", "loop.n4000"]
    """
    mark = mark_of(fun)
    if mark is None or not mark.sizes:
        return [from_function(fun, target)]
    return [from_function(getattr(fun, f"n{n}"), f"{target}.n{n}") for n in mark.sizes]


def mark_of(obj: object) -> Mark | None:
    """Return what `program` attached to `obj`, or None.

    `functools.wraps` copies the mark to a wrapper, and rightly so: the wrapper is a program, too.
    """
    mark = getattr(obj, _MARK, None) if callable(obj) else None
    return mark if isinstance(mark, Mark) else None


def marked_without_a_name(module: ModuleType) -> Mapping[tuple[str, str], int]:
    """Return name and place of functions that a module marks, and that it has under no name.

    They are in a list or a class, or another function took their name; with how many there are, as
    of a function that a loop makes.

    Example::

        marked_without_a_name(my_model) == {("step", "my_model.py:7"): 1}
    """
    there = {mark.number for each in vars(module).values() if (mark := mark_of(each))}
    marked = vars(module).get(_MARKED, {})
    return Counter(what for number, what in marked.items() if number not in there)


def from_function(fun: Callable[..., Any], target: str) -> Program:
    """Make the `Program` of a marked function, or of an unmarked one that takes no arguments.

    Raises `ProgramError` where the function is unmarked and takes arguments.
    """
    mark = mark_of(fun)
    if mark is None:
        if takes_arguments(fun):
            raise ProgramError(
                f"{target} takes arguments: mark it with @parity_tests.program(args=(...,)) so "
                "that example arguments are known, or name a function without arguments that "
                "returns (fun, args)"
            )
        mark = Mark(None, {}, None, ())
    doc = (inspect.getdoc(_without_partial(fun)) or "").strip()
    called = target.rpartition(":")[2]  # the name of a partial, which has none of its own
    return Program(
        name=mark.name or str(getattr(fun, "__name__", called)),
        target=target,
        source=source_of(fun),
        summary=doc.splitlines()[0] if doc else "",
        function=fun,
        mark=mark,
        tags=mark.tags,
    )


def takes_arguments(fun: Callable[..., Any]) -> bool:
    """Say whether a function cannot be called without arguments."""
    try:
        inspect.signature(fun).bind()
    except TypeError:
        return True
    except ValueError:  # some builtins have no signature; only a call would tell
        return False
    return False


def source_of(fun: Callable[..., Any]) -> str:
    """Return "file:line" of a function, relative to the working directory where it lies below."""
    code = getattr(inspect.unwrap(_without_partial(fun)), "__code__", None)
    if code is None:
        return f"{getattr(fun, '__module__', None) or '<unknown>'}:0"
    path = Path(code.co_filename)
    if path.is_relative_to(os.getcwd()):
        path = path.relative_to(os.getcwd())
    return f"{path}:{code.co_firstlineno}"


def _without_partial(fun: Callable[..., Any]) -> Callable[..., Any]:
    return _without_partial(fun.func) if isinstance(fun, partial) else fun


def _name_of(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


def _described(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__}: {text if len(text) <= 80 else text[:77] + '...'}"
