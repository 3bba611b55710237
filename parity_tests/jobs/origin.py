"""Where the constparity that runs here came from, as another machine can install the same."""

from __future__ import annotations

import importlib.metadata
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from parity_tests.jobs import ProjectError
from parity_tests.processes.git import git

_NAME = "constparity"
# As git and ssh write a remote without a scheme: git@github.com:owner/name.git
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]{2,}):(?!//)(.+)")


@dataclass(frozen=True)
class Origin:
    """Arguments of pip that install constparity, and how they were found."""

    arguments: tuple[str, ...]
    source: str


def installed_origin() -> Origin:
    """Return what installs the constparity that is installed here, pinned. Raises `ProjectError`.

    pip and uv leave a `direct_url.json` (PEP 610) unless they installed from an index.

    Example::

        installed_origin().arguments == ("constparity==0.1.0",)
    """
    try:
        installed = importlib.metadata.distribution(_NAME)
    except importlib.metadata.PackageNotFoundError:
        return _from_checkout(Path(__file__).parents[2], "")
    direct = json.loads(installed.read_text("direct_url.json") or "{}")
    if not direct:
        if installed.read_text("INSTALLER") is None:  # what a build leaves in a checkout
            return _from_checkout(Path(__file__).parents[2], "")
        return Origin((f"{_NAME}=={installed.version}",), "as installed from an index")
    url, subfolder = direct["url"], direct.get("subdirectory", "")
    if "dir_info" in direct:
        return _from_checkout(Path(url2pathname(urlsplit(url).path)), subfolder)
    if "vcs_info" in direct:
        return _from_repository(url, direct["vcs_info"], subfolder)
    return _from_archive(url, direct.get("archive_info", {}), subfolder)


def _from_checkout(folder: Path, subfolder: str) -> Origin:
    """Return the commit of a checkout, as its remote has it."""
    commit = git(folder, "rev-parse", "HEAD")
    if not commit:
        raise _error(f"the folder {folder}, of which git knows no commit")
    remotes = (git(folder, "remote") or "").split()
    if not remotes:
        raise _error(f"the checkout {folder}, which has no remote")
    remote = "origin" if "origin" in remotes else remotes[0]
    if not git(folder, "branch", "--remotes", "--contains", commit):
        raise _error(f"the checkout {folder}, whose commit {commit[:12]} is on no remote: push it")
    url = git(folder, "remote", "get-url", remote) or ""
    if _over_https(url) is None:
        raise _error(f"the checkout {folder}, whose remote {url} is on this machine")
    below = (git(folder / subfolder, "rev-parse", "--show-prefix") or "").rstrip("/")
    found = _from_repository(url, {"vcs": "git", "commit_id": commit}, below)
    changed = git(folder, "status", "--porcelain", "--untracked-files=no")
    without = ", without its changes that are not committed" if changed else ""
    return Origin(found.arguments, f"the commit of {folder}{without}")


def _from_repository(url: str, vcs: dict[str, Any], subfolder: str) -> Origin:
    reached = _over_https(url)
    if reached is None:
        raise _error(f"{url}, which is on this machine")
    below = f"#subdirectory={subfolder}" if subfolder else ""
    requirement = f"{_NAME} @ {vcs['vcs']}+{reached}@{vcs['commit_id']}{below}"
    return Origin((requirement,), "the commit that is installed")


def _from_archive(url: str, archive: dict[str, Any], subfolder: str) -> Origin:
    reached = _over_https(url)
    if reached is None:
        raise _error(f"{url}, which is on this machine")
    hashes = [f"{name}={value}" for name, value in archive.get("hashes", {}).items()]
    pinned = (hashes or [archive.get("hash", "")])[0]
    parts = [each for each in (pinned, subfolder and f"subdirectory={subfolder}") if each]
    fragment = f"#{'&'.join(parts)}" if parts else ""
    return Origin((f"{_NAME} @ {reached}{fragment}",), "the archive that is installed")


def _over_https(url: str) -> str | None:
    """Return an address without user and password, for a job has no key; None if it is a path."""
    scp = _SCP.fullmatch(url)
    parts = urlsplit(f"ssh://{scp[1]}/{scp[2]}" if scp else url)
    if parts.hostname is None or parts.scheme == "file":
        return None
    if parts.scheme in ("http", "https"):
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    return f"https://{parts.hostname}{parts.path}"


def _error(where: str) -> ProjectError:
    return ProjectError(
        f"a CI job cannot install this constparity: it is installed from {where}. Name what the "
        "job installs, as pip takes it: --constparity 'constparity @ git+https://...@COMMIT'"
    )
