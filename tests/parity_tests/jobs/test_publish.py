"""The files that other repositories call are those that the templates give."""

from pathlib import Path

import pytest

from parity_tests.jobs import publish

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", publish.published(), ids=str)
def test_a_published_file_is_up_to_date(path):
    text = publish.published()[path]
    assert (ROOT / path).read_text("utf-8") == text, "run: python -m parity_tests.jobs.publish"


def test_they_are_written_where_others_look_for_them(tmp_path):
    publish.write(tmp_path)
    written = {each.relative_to(tmp_path) for each in tmp_path.rglob("*.yml")}
    assert written == {publish.WORKFLOW, publish.ACTION, publish.GITLAB}
