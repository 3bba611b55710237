"""The examples of JAX's jaxpr documents print as docs/understand/jaxpr_examples.md shows.

Stock JAX printed that page, in each version that prints something else, so these tests compare both
of our representations with stock JAX.

Source: JAX's documents "Understanding jaxprs" and "JAX internals: The jaxpr language".
"""

import functools

import jax
import pytest
from write_jaxpr_examples import printed, sections

import engine

PAGE = sections(jax.__version_info__)


@pytest.fixture(scope="module", params=engine.SIDES)
def ours(request):
    make_jaxpr = functools.partial(engine.make_jaxpr, constants=request.param)
    return request.param, printed(make_jaxpr)


def test_the_page_shows_every_example(ours):
    _, texts = ours
    assert set(texts) == set(PAGE)


@pytest.mark.parametrize("name", PAGE)
def test_example(ours, name):
    side, texts = ours
    assert texts[name] == PAGE[name][side]


@pytest.mark.parametrize("number", range(1, 14))
def test_every_function_of_the_documents_is_there(number):
    # func9 is in neither document
    assert number == 9 or any(name.startswith(f"func{number}") for name in PAGE)


def test_captured_arrays_are_constvars_or_literals():
    """What the two representations are about, on the smallest example that captures arrays."""
    legacy, simplified = PAGE["func6_captured"]["legacy"], PAGE["func6_captured"]["simplified"]
    assert legacy.startswith("{ lambda a:f32[8]")
    assert "[...]:f32[8]" not in legacy
    assert simplified.startswith("{ lambda ; ")
    assert "[...]:f32[8]" in simplified
