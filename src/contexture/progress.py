"""Progress bars for long work."""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

#: Work of fewer seconds has no bar.
DELAY_SECONDS = 5.0
MAX_BAR_CHARS = 120


class DelayedBar(tqdm):  # type: ignore[misc]
    """A bar that also delays explicit refreshes, such as those of a postfix."""

    is_drawn = False
    last_print_t: float

    @property
    def format_dict(self) -> dict[str, Any]:
        """Values that tqdm writes in the bar; the count is rounded to one decimal."""
        values: dict[str, Any] = super().format_dict
        return values | {"n": round(values["n"], 1)}

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Draw the bar or `msg`, once the delay is over."""
        if not self.is_drawn and self._time() < self.start_t + self.delay:
            return False
        self.is_drawn = True
        return super().display(msg, pos)

    def close(self) -> None:
        """Clear the bar, also if only refreshes have drawn it."""
        if self.is_drawn:
            self.last_print_t = max(self.last_print_t, self.start_t + self.delay)
        super().close()


def progress(
    total: int | None, description: str, unit: str, iterable: Iterable[Any] | None = None, shows_rest: bool = True
) -> DelayedBar:
    """Return a bar for `total` units (None: unknown), a context with `.update(n)` or an iterator over `iterable`.

    `shows_rest`: whether the bar estimates the remaining time, for which all units should take equally long.
    The bar appears on standard error after five seconds and is cleared at the end. It is disabled if standard error is
    no terminal or TQDM_DISABLE is set.
    """
    return DelayedBar(
        iterable,
        total=total,
        desc=description,
        unit=f" {unit}",
        file=sys.stderr,
        ncols=min(MAX_BAR_CHARS, shutil.get_terminal_size().columns),
        leave=False,
        bar_format=None if shows_rest else "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}]",
        disable=bool(os.environ.get("TQDM_DISABLE")) or None,  # None: disable without a terminal
        delay=DELAY_SECONDS,
    )
