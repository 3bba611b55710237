"""The shell that comments on a pull request or a merge request: one comment, which is updated."""

import json

import pytest
from ci_steps import gitlab_jobs, run_script, steps_of

from parity_tests.jobs.publish import GITLAB, WORKFLOW, published


@pytest.fixture
def commented(tmp_path, machine):
    """Run the step that comments, where `gh` or `curl` record how they are called."""
    work = tmp_path / "work"
    shims = tmp_path / "bin"
    shims.mkdir()

    def run(script, command, answer, comments, variables, second_page="", jobs="[]"):
        for name, text in comments.items():
            (work / "constparity-report" / name).mkdir(parents=True)
            (work / "constparity-report" / name / "comment.md").write_text(text)
        work.mkdir(exist_ok=True)
        shim = shims / command
        log = tmp_path / "log"
        shim.write_text(
            f"#!/bin/sh\nprintf '%s ' \"$@\" >> {log}\necho >> {log}\n"
            f"case \"$*\" in *'&page=2&'*) echo '{second_page}';; *'/jobs?'*) echo '{jobs}';; "
            f"*) echo '{answer}';; esac\n"
        )
        shim.chmod(0o755)
        path = f"{shims}:{machine['PATH']}"
        done = run_script(script, work, {**variables, "PATH": path, "HOME": machine["HOME"]})
        assert done.returncode == 0, done.stderr
        calls = log.read_text().splitlines() if log.exists() else []
        return calls, (work / "comment.md").read_text()

    return run


COMMENTS = {
    "both-0.10.2": "of the tests\n",
    "jax-both-0.10.2": "breaks\n",
    "jax-both-0.9.2": "x" * 60_001,
    "programs-0.11.2": "p",
    "simplified-0.10.2": "The tests pass.\n",
}
GITHUB = {
    "COMMIT": "0123456789abcdef",
    "GH_TOKEN": "t",
    "NUMBER": "7",
    "REPOSITORY": "a/b",
    "RESULT": "success",
    "RUN_URL": "https://example.org/run",
}


def comment_script():
    [_, step] = steps_of(published()[WORKFLOW])["comment"]
    assert set(step.env) == set(GITHUB)
    return step.script


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ("", "--method POST repos/a/b/issues/7/comments --field body=@comment.md "),
        ("12\n34", "--method PATCH repos/a/b/issues/comments/12 --field body=@comment.md "),
    ],
)
def test_one_comment_is_written_and_then_updated(commented, answer, call):
    calls, body = commented(comment_script(), "gh", answer, COMMENTS, GITHUB)
    assert len(calls) == 2
    assert calls[0].startswith("api --paginate repos/a/b/issues/7/comments --jq ")
    assert calls[1] == f"api --silent {call}"
    assert body.startswith(
        "<!-- constparity -->\n[All reports of this run](https://example.org/run), of commit 01234"
    )
    assert body.partition(" 0123456789\n")[2] == (
        "\n### jax-both, JAX 0.10.2\n\nbreaks\n"
        "\n### jax-both, JAX 0.9.2: too long to stand here\n"
        "\n### programs, JAX 0.11.2\n\np"
        "\n### both, JAX 0.10.2\n\nof the tests\n"
        "\n### simplified, JAX 0.10.2\n\nThe tests pass.\n"
    )
    assert len(body) < 65_536


def test_the_comment_of_an_earlier_commit_does_not_stay_where_no_run_left_a_report(commented):
    calls, body = commented(comment_script(), "gh", "12", {}, GITHUB)
    assert "--method PATCH" in calls[1]
    assert body.endswith("\n\n**No run left a report**: they failed or were ended.\n")


def test_a_run_that_left_no_report_is_not_passed_over(commented):
    given = {**GITHUB, "RESULT": "failure"}
    _, body = commented(comment_script(), "gh", "", {"both-0.10.2": "all is well\n"}, given)
    assert body.endswith("\n\n**Not all runs passed**; one that was lost has no report here.\n")


GITLAB_VARIABLES = {
    "CI_API_V4_URL": "https://example.org/api",
    "CI_MERGE_REQUEST_IID": "3",
    "CI_PIPELINE_ID": "8",
    "CI_PROJECT_ID": "9",
    "CONSTPARITY_TOKEN": "t",
    "COMMIT": "0123456789abcdef",
    "RUN_URL": "https://example.org/run",
}


def note_script():
    return "\n".join(gitlab_jobs(published()[GITLAB])[0]["constparity:comment"]["script"])


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ("[]", "--request POST"),
        ('[{"id": 5, "body": "other"}, {"id": 6, "body": "<!-- constparity -->"}]', "notes/6 "),
    ],
)
def test_gitlab_gets_one_note(commented, answer, call):
    calls, body = commented(note_script(), "curl", answer, COMMENTS, GITLAB_VARIABLES)
    assert len(calls) == 3
    assert "https://example.org/api/projects/9/pipelines/8/jobs?" in calls[0]
    assert "https://example.org/api/projects/9/merge_requests/3/notes?per_page=100" in calls[1]
    assert call in calls[2]
    assert body.startswith("<!-- constparity -->\n")


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [("constparity: [0.10.2, both]", True), ("constparity:comment", False), ("lint", False)],
)
def test_a_run_that_was_lost_on_gitlab_is_not_passed_over(commented, name, is_ours):
    jobs = json.dumps([{"id": 1, "name": name}])
    _, body = commented(note_script(), "curl", "[]", COMMENTS, GITLAB_VARIABLES, jobs=jobs)
    assert ("**Not all runs passed**; one that was lost has no report" in body) == is_ours


def test_a_note_behind_the_first_hundred_is_found(commented):
    others = json.dumps([{"id": 5, "body": "other"}] * 100)
    ours = json.dumps([{"id": 101, "body": "<!-- constparity -->"}])
    calls, _ = commented(note_script(), "curl", others, COMMENTS, GITLAB_VARIABLES, ours)
    assert [("page=2&" in each, "notes/101" in each) for each in calls[2:]] == [
        (True, False), (False, True),
    ]  # fmt: skip
