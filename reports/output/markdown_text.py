"""Texts as Markdown in GitHub's dialect: escaped, whatever they hold, and the templates for it."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from reports.output import templating
from reports.views.texts import from_package_on, visible

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# An underscore between letters is text in GitHub's dialect, and names are full of them.
# "@" before a name would call its owner, "#" before a number would link an issue: a comment within
# the two changes nothing for the reader.
_CALLING = re.compile(r"@(?=[A-Za-z0-9])|#(?=[0-9])")
_SPECIAL = re.compile(r"[\\`*\[|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def escape(text: str) -> str:
    r"""Escape `text` as Markdown that shows it, whatever it holds, on one line in one table cell.

    It is not safe at the beginning of a line, where `#` and `-` have a meaning; no template puts
    it there.

    Example::

        >>> escape("a|b\n<script> `x` rank_4 __init__")
        'a\\|b<br>&lt;script&gt; \\`x\\` rank_4 \\_\\_init\\_\\_'
    """
    text = _shown(text).translate(_ENTITIES)
    text = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    return _CALLING.sub(lambda match: match[0] + "<!-- -->", text).replace("\n", "<br>")


def inline_html(text: str) -> Markup:
    """Escape `text` for an element of HTML, where GitHub reads no Markdown, on one line.

    Example::

        >>> print(inline_html("<b> `x` by @jax\\n"))
        &lt;b&gt; &#96;x&#96; by @<!-- -->jax
    """
    text = _shown(text).translate(_ENTITIES).replace("\n", " ")
    text = _CALLING.sub(lambda match: match[0] + "<!-- -->", text)
    return Markup(text.replace("`", "&#96;"))


def fenced(text: str) -> Markup:
    """Fence `text` as a code block that nothing in it can close.

    Example::

        >>> print(fenced("a\\n```"))
        ````text
        a
        ```
        ````
    """
    text = _shown(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}text\n{text}\n{fence}")


def _shown(text: str) -> str:
    return from_package_on(visible(text)).strip("\n")


@cache
def environment() -> Environment:
    """Make the templates of Markdown: every expression in them is escaped."""
    environment = templating.environment(finalize=_finalize)
    environment.filters["fenced"] = fenced
    environment.filters["inline_html"] = inline_html
    return environment


def _finalize(value: object) -> Markup:
    # Returned as Markup, so that HTML escaping does not come on top; templates must not print
    # anything that is Markup for another reason.
    return value if isinstance(value, Markup) else Markup(escape(str(value)))
