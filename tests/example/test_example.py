"""The reports in docs/example are what constparity writes today; times alone may differ."""

import importlib.metadata
import json

import html_pages
import pytest
import write_example

from reports import load_campaign

AGAIN = "docs/example is stale: python tests/example/write_example.py"


@pytest.fixture(scope="module")
def kept():
    return load_campaign(write_example.RESULT)


@pytest.mark.parametrize("file", write_example.REPORTS)
def test_each_report_is_drawn_from_the_result(kept, file):
    text = write_example.rendered(kept)[file]
    written = (write_example.FOLDER / file).read_text("utf-8")
    # Another zlib may pack the same text into other bytes.
    assert html_pages.whole(written) == html_pages.whole(text), f"{AGAIN} --render"


def test_there_is_no_other_file():
    names = {each.name for each in write_example.FOLDER.iterdir() if each.is_file()}
    assert names == {*write_example.REPORTS, "programs.py", "result.json", "corpus.md"}


def test_the_result_is_what_a_run_comes_to(kept, tmp_path):
    installed = (importlib.metadata.version("jax"), importlib.metadata.version("jaxlib"))
    of_kept = (kept.environment.jax, kept.environment.jaxlib)
    if installed != of_kept:
        pytest.skip(f"the example was measured with jax {of_kept[0]}, and this is {installed[0]}")
    fresh = tmp_path / "result.json"
    fresh.write_text(write_example.measured(), "utf-8")
    assert write_example.steady(load_campaign(fresh)) == write_example.steady(kept), AGAIN


@pytest.mark.parametrize(
    ("path", "value", "is_seen"),
    [
        (("programs", 0, "observations", 0, "proof", "const_args"), 7, True),
        (("programs", 0, "summary"), "another", True),
        (("programs", 2, "flip", "outcome"), "safe", True),
        (("programs", 0, "observations", 0, "times", "compile"), 7.0, False),
        (("created",), "2030-01-01T00:00:00+00:00", False),
    ],
)
def test_what_is_stale_is_seen_and_times_are_not(kept, path, value, is_seen, tmp_path):
    text = json.loads(write_example.RESULT.read_text("utf-8"))
    at = text
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    (tmp_path / "stale.json").write_text(json.dumps(text), "utf-8")
    stale = load_campaign(tmp_path / "stale.json")
    assert (write_example.steady(stale) != write_example.steady(kept)) == is_seen
