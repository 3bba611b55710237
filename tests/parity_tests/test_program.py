"""`@program` declares a function with its arguments, or refuses it with what to do."""

import dataclasses
import functools

import jax
import pytest

from parity_tests.program import ProgramError, each_size, from_function, mark_of, program


def test_a_marked_function_is_returned_unchanged():
    def double(x):
        "Double it.\n\nAnd more."
        return 2 * x

    assert program(args=(3,))(double) is double
    assert double(4) == 8
    made = from_function(double, "m:double")
    assert (made.name, made.summary, made.target) == ("double", "Double it.", "m:double")
    assert made.build() == (double, (3,), {})


def test_args_may_be_made_late():
    made = []

    @program(args=lambda: made.append(1) or (5,), kwargs={"k": 6}, name="late", tags=("slow",))
    def add(x, k):
        return x + k

    assert made == []
    found = from_function(add, "m:add")
    assert found.build() == (add, (5,), {"k": 6})
    assert (found.name, found.tags) == ("late", ("slow",))


@pytest.mark.parametrize("extra", [(), ({"k": 1},)])
def test_a_factory_makes_function_and_arguments(extra):
    @program
    def factory():
        return (abs, (3,), *extra)

    assert from_function(factory, "m:f").build() == (abs, (3,), *(extra or ({},)))


def test_an_unmarked_function_without_arguments_is_a_factory():
    assert from_function(lambda: (abs, (3,)), "m:f").build() == (abs, (3,), {})


def test_an_unmarked_function_with_arguments_is_refused():
    with pytest.raises(ProgramError, match=r"m:f takes arguments: mark it with"):
        from_function(lambda x: x, "m:f")


def test_a_factory_with_arguments_is_refused_where_it_is_written():
    with pytest.raises(ProgramError, match=r"wrong \(.*test_program.py:\d+\) takes arguments"):

        @program
        def wrong(x):
            return x


def test_a_factory_has_no_kwargs():
    with pytest.raises(ProgramError, match="returns its kwargs"):
        program(kwargs={"k": 1})(lambda: (abs, (1,)))


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        (3, r"must return \(fun, args\) or .* it returned int: 3"),
        ((1, 2), r"must return .* with a callable first"),
        ((abs, 3), r"args of f .* must be a tuple, as in args=\(x,\); got int: 3"),
        ((abs, (3,), 4), r"must return a mapping as kwargs; it returned int: 4"),
        ((abs, (3,), {}, 5), r"must return \(fun, args\)"),
    ],
)
def test_a_factory_that_returns_something_else_is_told(made, complaint):
    @program
    def f():
        return made

    with pytest.raises(ProgramError, match=complaint):
        from_function(f, "m:f").build()


def test_a_jitted_function_is_taken_out_of_its_jit():
    @program(args=(1.0,))
    @jax.jit
    def inner(x):
        return x

    assert from_function(inner, "m:inner").build()[0] is inner.__wrapped__
    fun, _, _ = from_function(lambda: (inner, (1.0,)), "m:f").build()
    assert fun is inner.__wrapped__


def test_a_wrapper_of_a_program_is_a_program_itself():
    @program(args=(1,))
    def inner(x):
        return x

    @functools.wraps(inner)
    def outer(x):
        return -inner(x)

    assert mark_of(outer)
    assert from_function(outer, "m:outer").build()[0] is outer


@dataclasses.dataclass(frozen=True)
class Model:
    """As a module of Equinox, and what `equinox.filter_jit` returns."""

    weight: float

    def __call__(self, x):
        return x * self.weight


class Slotted:
    __slots__ = ()

    def __call__(self, x):
        return x


def test_a_frozen_model_is_marked_and_what_takes_no_attribute_is_refused():
    model = program(args=(1.0,))(Model(2.0))
    assert mark_of(model).args == (1.0,)
    with pytest.raises(ProgramError, match="takes no attributes, so it cannot be marked"):
        program(args=(1.0,))(Slotted())


def test_the_source_is_relative_below_the_working_directory(monkeypatch, request):
    def here():
        pass

    line = here.__code__.co_firstlineno
    monkeypatch.chdir(request.path.parent)
    assert from_function(here, "m:here").source == f"test_program.py:{line}"
    monkeypatch.chdir("/")
    assert from_function(here, "m:here").source == f"{str(request.path)[1:]}:{line}"


def test_a_factory_with_sizes_is_a_program_of_each(tmp_path):
    @program(sizes=(10, 40), tags=("slow",))
    def loop(n):
        "Count to n."
        return (lambda x: x * n), (3,)

    small, large = each_size(loop, "m:loop")
    assert (small.name, small.target, small.summary) == ("loop.n10", "m:loop.n10", "Count to n.")
    assert (large.tags, large.source) == (("slow", "n=40"), small.source)
    function, args, _ = large.build()
    assert function(*args) == 120
    assert loop(2)[1] == (3,)


@pytest.mark.parametrize(
    ("sizes", "function", "args"),
    [
        ((10,), lambda n: (abs, (n,)), None),
        ((10, 10), lambda n: (abs, (n,)), None),
        ((0, 10), lambda n: (abs, (n,)), None),
        (("a", "b"), lambda n: (abs, (n,)), None),
        ((10, 20), lambda: (abs, (3,)), None),
        ((10, 20), lambda n, m: (abs, (3,)), None),
        ((10, 20), lambda n: n, (3,)),
    ],
)
def test_sizes_that_show_no_growth_are_refused(sizes, function, args):
    with pytest.raises(ProgramError, match=r"has sizes=\(.*: these are two integers or more"):
        program(sizes=sizes, args=args)(function)
