"""Words that follow their numbers, and paths that begin with their package."""

import pytest

from reports.views.texts import counted, from_package_on


def test_nouns_follow_their_numbers():
    assert counted(1, "leaf") == "1 leaf"
    assert counted(2, "leaf") == "2 leaves"
    assert counted(0, "program") == "0 programs"


INSTALLED = "/home/me/.venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{INSTALLED}/jax/core.py:7 (the flag)", "jax/core.py:7 (the flag)"),
        (f'  File "{INSTALLED}/jax/a b.py", line 3', '  File "jax/a b.py", line 3'),
        (f"a.py:1, {INSTALLED}/x.py:2 ({INSTALLED}/y.py)", "a.py:1, x.py:2 (y.py)"),
        (".venv/lib/python3.12/site-packages/optax/_src/base.py:4", "optax/_src/base.py:4"),
        ("/usr/lib/python3/dist-packages/numpy/x.py", "numpy/x.py"),
        # Nobody could say where these begin, or they are no path of a package.
        ("/home/my home/site-packages/jax/core.py", "/home/my home/site-packages/jax/core.py"),
        ("the site-packages/ of Python", "the site-packages/ of Python"),
        ("model.py:12", "model.py:12"),
    ],
)
def test_paths_of_installed_files_begin_with_their_package(text, shown):
    assert from_package_on(text) == shown
