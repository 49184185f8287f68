"""Progress of long work: bars on a terminal, lines elsewhere."""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

#: Work of fewer seconds has no bar.
DELAY_SECONDS = 5.0
#: Without a terminal, as in a log file, a line is written this often.
LINE_SECONDS = 60.0
MAX_BAR_CHARS = 120
_LINE_FORMAT = "{desc}: {n_fmt} of {total_fmt}   {elapsed}"
_REST_FORMAT = "   about {remaining} left"


class DelayedBar(tqdm):  # type: ignore[misc]
    """A bar that also delays explicit refreshes, such as those of a postfix; without a terminal, it writes lines."""

    is_drawn = False
    last_print_t: float
    # Time of the next line, without a terminal.
    next_line: float | None = None

    @property
    def format_dict(self) -> dict[str, Any]:
        """Values that tqdm writes in the bar; the count is rounded to one decimal."""
        values: dict[str, Any] = super().format_dict
        return values | {"n": round(values["n"], 1)}

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Draw the bar or `msg`, once the delay is over; without a terminal, write a line if one is due."""
        if not is_terminal():
            return self._write_line()
        if not self.is_drawn and self._time() < self.start_t + self.delay:
            return False
        self.is_drawn = True
        return super().display(msg, pos)

    def _write_line(self) -> bool:
        now = self._time()
        if now < (self.next_line or self.start_t + LINE_SECONDS):
            return False
        self.next_line = now + LINE_SECONDS
        self.fp.write(f"{self}\n")
        self.fp.flush()
        return True

    def close(self) -> None:
        """Clear the bar, also if only refreshes have drawn it."""
        if self.is_drawn:
            self.last_print_t = max(self.last_print_t, self.start_t + self.delay)
        elif not self.disable:
            self.last_print_t = self.start_t  # nothing to clear
        super().close()


def is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr.isatty()


def progress(
    total: int | None, description: str, unit: str, iterable: Iterable[Any] | None = None, shows_rest: bool = True
) -> DelayedBar:
    """Return a bar for `total` units (None: unknown), a context with `.update(n)` or an iterator over `iterable`.

    `shows_rest`: whether the bar estimates the remaining time, for which all units should take equally long.
    The bar appears on standard error after five seconds and is cleared at the end. If standard error is no terminal, a
    line is written there every minute instead. TQDM_DISABLE disables both.
    """
    drawn = None if shows_rest else "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}]"
    return DelayedBar(
        iterable,
        total=total,
        desc=description,
        unit=f" {unit}",
        file=sys.stderr,
        ncols=min(MAX_BAR_CHARS, shutil.get_terminal_size().columns),
        leave=False,
        bar_format=drawn if is_terminal() else _LINE_FORMAT + _REST_FORMAT * shows_rest,
        disable=bool(os.environ.get("TQDM_DISABLE")),
        delay=DELAY_SECONDS,
    )
