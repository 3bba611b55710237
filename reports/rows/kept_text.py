"""The row of a long text that is kept in a report, such as a printed jaxpr."""

from __future__ import annotations

import base64
import zlib

from reports.rows.row import Row

MOST_CHARACTERS = 100_000


class KeptText(Row):
    """A text, compressed: `data` is base64 of zlib of UTF-8.

    `cut` is the number of lines that the text had more, beyond the first 100,000 characters.

    Example::

        >>> KeptText.of("lambda a. let\\n  b = mul a a").text
        'lambda a. let\\n  b = mul a a'
    """

    data: str
    cut: int = 0

    @classmethod
    def of(cls, text: str) -> KeptText:
        """Keep a text, up to the last whole line within the first 100,000 characters.

        Example::

            >>> KeptText.of("a\\n" * 60_000).cut
            10000
        """
        kept = text
        if len(text) > MOST_CHARACTERS:
            whole_lines, line_break, _ = text[:MOST_CHARACTERS].rpartition("\n")
            # One line may be longer than all that is kept.
            kept = whole_lines + line_break or text[:MOST_CHARACTERS]
        cut = text.count("\n", len(kept)) + (not text.endswith("\n") and len(kept) < len(text))
        # Lone surrogates come from file names, which a printed jaxpr may hold.
        packed = zlib.compress(kept.encode("utf-8", "backslashreplace"), 9)
        return cls(data=base64.b64encode(packed).decode("ascii"), cut=cut)

    @property
    def text(self) -> str:
        """The text that was kept.

        Raises `ValueError` where `data` is damaged or larger than any text that is kept.
        """
        unpacker = zlib.decompressobj()
        try:
            packed = base64.b64decode(self.data, validate=True)
            # A character takes at most 10 bytes: "\\U0001f600" is the longest escape.
            content = unpacker.decompress(packed, 10 * MOST_CHARACTERS)
        except zlib.error as error:
            raise ValueError(f"the text is damaged: {error}") from error
        if not unpacker.eof:
            raise ValueError("the text is damaged: it is larger than any text that is kept")
        return content.decode("utf-8")


class ProgramTexts(Row):
    """The printed forms of a program on one side, large constants elided."""

    jaxpr: KeptText
    stablehlo: KeptText
