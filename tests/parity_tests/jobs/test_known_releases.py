"""Which Python and which releases of JAX suit a project."""

import pytest
from packaging.specifiers import SpecifierSet

from parity_tests.jobs import ProjectError
from parity_tests.jobs.facts import suiting


@pytest.mark.parametrize(
    ("python", "jax", "chosen"),
    [
        ("", "", ("3.13", "0.10.2 0.11.2 0.12.0.1")),
        (">=3.11.4", ">=0.11", ("3.13", "0.11.2 0.12.0.1")),
        ("<3.13", "~=0.10.0", ("3.12", "0.10.2")),
        # 0.11 and later have no wheels for Python 3.11.
        ("==3.11.*", "", ("3.11", "0.10.2")),
        ("", "==0.11.0", ("3.13", "0.11.0")),
        ("", "==0.10.*", ("3.13", "0.10.2")),
    ],
)
def test_versions_within_the_bounds_of_the_project_are_chosen(python, jax, chosen):
    found = suiting(SpecifierSet(python), SpecifierSet(jax))
    assert (found.python, " ".join(found.jax)) == chosen
    assert found.has_engine


def test_a_project_on_a_jax_that_the_engine_does_not_know_compares_stock_jax():
    found = suiting(SpecifierSet(), SpecifierSet("<0.10"))
    assert found.jax == ("0.8.3", "0.9.2")
    assert not found.has_engine


@pytest.mark.parametrize("jax", [">=0.13", "==0.6.0", "<0.8"])
def test_a_project_on_a_jax_that_nobody_tried_is_told_so(jax):
    with pytest.raises(ProjectError, match=f"bounds are jax{jax} and Python any, and constp"):
        suiting(SpecifierSet(), SpecifierSet(jax))


def test_the_python_is_one_that_the_classifiers_name():
    assert suiting(SpecifierSet(), SpecifierSet(), [11, 12]).python == "3.12"
    assert suiting(SpecifierSet(), SpecifierSet(), [8]).python == "3.13"


def test_a_project_on_a_python_that_is_too_old_is_refused():
    with pytest.raises(ProjectError, match=r"'<3.11', and constparity needs Python 3.11"):
        suiting(SpecifierSet("<3.11"), SpecifierSet())
