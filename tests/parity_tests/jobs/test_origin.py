"""Where an installed constparity came from, as a CI job can install the same."""

import json

import pytest

from parity_tests.jobs import ProjectError, origin
from parity_tests.jobs.origin import installed_origin
from parity_tests.observe import environment

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a constparity 9.1 that has nothing but its metadata."""

    def install(direct_url=None, installer="pip\n"):
        info = tmp_path / "site" / "constparity-9.1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: constparity\nVersion: 9.1\n")
        if installer is not None:
            (info / "INSTALLER").write_text(installer)
        if direct_url is not None:
            (info / "direct_url.json").write_text(json.dumps(direct_url))
        monkeypatch.syspath_prepend(info.parent)

    return install


@pytest.fixture
def checkout(tmp_path, git):
    """A checkout whose only commit is on its remote, and that commit."""
    folder = tmp_path / "a checkout"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "file").write_text("a")
    git(folder, "add", "file")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
    git(folder, "remote", "add", "origin", "git@github.com:owner/constparity.git")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    return folder, (folder / ".git" / "refs" / "heads" / "main").read_text().strip()


def of_repository(url, **more):
    return {"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT}, **more}


@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        (None, "constparity==9.1"),
        (
            of_repository("https://github.com/owner/constparity.git"),
            f"constparity @ git+https://github.com/owner/constparity.git@{COMMIT}",
        ),
        (
            of_repository("https://me:secret@example.org:8443/constparity", subdirectory="py"),
            f"constparity @ git+https://example.org:8443/constparity@{COMMIT}#subdirectory=py",
        ),
        (
            of_repository("ssh://git@example.org:2222/owner/constparity.git"),
            f"constparity @ git+https://example.org/owner/constparity.git@{COMMIT}",
        ),
        (
            {
                "url": "https://me:secret@example.org/constparity-9.1-py3-none-any.whl",
                "archive_info": {"hash": "sha256=ab", "hashes": {"sha256": "ab"}},
            },
            "constparity @ https://example.org/constparity-9.1-py3-none-any.whl#sha256=ab",
        ),
        (
            {"url": "https://example.org/constparity.tar.gz", "archive_info": {}},
            "constparity @ https://example.org/constparity.tar.gz",
        ),
    ],
)
def test_what_is_installed_is_pinned_and_has_no_password(installed, direct_url, requirement):
    installed(direct_url)
    assert installed_origin().arguments == (requirement,)


def test_a_checkout_is_pinned_to_the_commit_that_its_remote_has(installed, checkout):
    folder, commit = checkout
    installed({"url": folder.as_uri(), "dir_info": {"editable": True}})
    requirement = f"constparity @ git+https://github.com/owner/constparity.git@{commit}"
    assert installed_origin() == origin.Origin((requirement,), f"the commit of {folder}")
    (folder / "file").write_text("changed")
    said = f"the commit of {folder}, without its changes that are not committed"
    assert installed_origin().source == said


def test_the_version_names_the_commit_that_was_installed(installed):
    installed(of_repository("https://github.com/owner/constparity.git"))
    assert environment.version() == f"9.1+{COMMIT[:12]}"


def test_a_folder_inside_of_a_checkout_is_named(installed, checkout):
    folder, commit = checkout
    (folder / "tools" / "constparity").mkdir(parents=True)
    installed({"url": (folder / "tools" / "constparity").as_uri(), "dir_info": {}})
    [requirement] = installed_origin().arguments
    assert requirement.endswith(f"constparity.git@{commit}#subdirectory=tools/constparity")


def test_without_an_installer_it_is_the_checkout_that_runs(installed, monkeypatch, checkout):
    folder, commit = checkout
    monkeypatch.setattr(origin, "__file__", str(folder / "parity_tests" / "jobs" / "origin.py"))
    installed(installer=None)
    assert installed_origin().arguments[0].endswith(f"@{commit}")


@pytest.mark.parametrize(
    ("direct_url", "said"),
    [
        ({"url": "file:///tmp/nowhere", "dir_info": {}}, "of which git knows no commit"),
        (of_repository("file:///srv/constparity.git"), "which is on this machine"),
        (of_repository("/srv/constparity.git"), "which is on this machine"),
        ({"url": "file:///tmp/constparity.whl", "archive_info": {}}, "which is on this machine"),
    ],
)
def test_what_no_other_machine_can_install_is_an_error(installed, direct_url, said):
    installed(direct_url)
    with pytest.raises(ProjectError, match=f"{said}.*--constparity 'constparity @ git"):
        installed_origin()


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ([("remote", "remove", "origin")], "has no remote"),
        ([("update-ref", "-d", "refs/remotes/origin/main")], "is on no remote: push it"),
        ([("remote", "set-url", "origin", "/srv/a.git")], "remote /srv/a.git is on this machine"),
    ],
)
def test_a_checkout_that_no_other_machine_has_is_an_error(installed, checkout, git, commands, said):
    folder, _ = checkout
    for command in commands:
        git(folder, *command)
    installed({"url": folder.as_uri(), "dir_info": {"editable": True}})
    with pytest.raises(ProjectError, match=said):
        installed_origin()
