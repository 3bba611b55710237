"""Which of the programs whose sides differ run again."""

from __future__ import annotations

from typing import Literal

# "unconfirmed" leaves out those that ours and stock JAX's sides show alike.
RunAgain = Literal["all", "unconfirmed"]
