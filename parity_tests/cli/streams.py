"""Standard output and error of a command, which may end before it does: `constparity run | head`.

What was measured is worth more than a place to print it, so no command ends because of them. A
closed pipe is no failure: whoever read from it has seen enough. A full disk is one, and is said.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


class LastingStream:
    """A stream that takes text even where nobody takes it on; `lost` says what went wrong."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write text, unless the stream is lost."""
        with self._lasting():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was written, unless the stream is lost."""
        with self._lasting():
            self._stream.flush()

    def write_bytes(self, content: bytes) -> None:
        """Write bytes as they are, whatever the encoding of the stream."""
        with self._lasting():
            self._stream.flush()
            self._stream.buffer.write(content)
            self._stream.buffer.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _lasting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.lost = self.lost or error
            # Its buffer still holds what nobody takes, and is flushed when the process ends.
            null = os.open(os.devnull, os.O_WRONLY)
            with contextlib.suppress(OSError, ValueError):  # a stream of a test has no number
                os.dup2(null, self._stream.fileno())
            os.close(null)


@contextlib.contextmanager
def lasting_streams() -> Iterator[LastingStream]:
    """Let standard output and error last as long as the command, and hold standard output."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w") as nowhere:
        # A stream is None where the process was started without one, as by `>&-`.
        streams = [LastingStream(each or nowhere) for each in before]
        sys.stdout, sys.stderr = (cast(TextIO, each) for each in streams)
        try:
            yield streams[0]
        finally:
            for each in streams:
                each.flush()
            sys.stdout, sys.stderr = before
