"""The actions of others that the workflows use, each pinned to a commit with its release beside it.

A tag can be moved to other code, and a commit cannot. The commits were compared with what other
public repositories pin for the same release.
"""

from __future__ import annotations

ACTIONS = {
    "cache": "actions/cache@0057852bfaa89a56745cba8c7296529d2fc39830 # v4.3.0",
    "checkout": "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0",
    "download_artifact": (
        "actions/download-artifact@634f93cb2916e3fdff6788551b99b062d0335ce0 # v5.0.0"
    ),
    "setup_python": "actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0",
    "upload_artifact": "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2",
    "upload_sarif": (
        "github/codeql-action/upload-sarif@1c5b675653bb5c22dbe9b12b556ec555138e09fd # v4.38.1"
    ),
}
