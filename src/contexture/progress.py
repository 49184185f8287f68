"""Progress of long work: a bar on a terminal, lines elsewhere."""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

#: Work of fewer seconds has no bar.
DELAY_SECONDS = 5.0
#: Seconds between two lines, and before the first.
LINE_SECONDS = 60.0
MAX_BAR_CHARS = 120


class Bar(tqdm):  # type: ignore[misc]
    """A bar of tqdm whose count is rounded to one decimal."""

    last_print_t: float
    #: Units that took no time. The remaining time is estimated from the others.
    initial = 0
    # Whether the remaining time is estimated.
    shows_rest = True

    @property
    def format_dict(self) -> dict[str, Any]:
        """Values that tqdm writes in the bar."""
        values: dict[str, Any] = super().format_dict
        return values | {"n": round(values["n"], 1)}


class DelayedBar(Bar):
    """A bar that also delays explicit refreshes, such as those of a postfix."""

    is_drawn = False

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Draw the bar or `msg`, once the delay is over."""
        if not self.is_drawn and self._time() < self.start_t + self.delay:
            return False
        self.is_drawn = True
        return super().display(msg, pos)

    def clear(self, nolock: bool = False) -> None:
        """Clear the bar if it was drawn."""
        if self.is_drawn:
            super().clear(nolock)

    def close(self) -> None:
        """Clear the bar, also if only refreshes have drawn it."""
        if self.is_drawn:
            self.last_print_t = max(self.last_print_t, self.start_t + self.delay)
        super().close()


class ProgressLines(Bar):
    """Lines instead of a bar, where there is no terminal: at most one in `LINE_SECONDS`."""

    last_line: float | None = None

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Write a line if one is due."""
        now = self._time()
        if now < LINE_SECONDS + (self.start_t if self.last_line is None else self.last_line):
            return False
        self.last_line = now
        try:
            self.fp.write(f"{self}\n")
            self.fp.flush()
        except OSError:  # nobody reads; the work goes on
            self.disable = True
        return True

    def __str__(self) -> str:
        """Count, duration and, if it can be estimated, the remaining time."""
        values = self.format_dict
        count, total, elapsed = values["n"], values["total"], values["elapsed"]
        counted = count - self.initial
        parts = [f"{self.desc}: {count:,}" + (f" of {total:,}" if total else ""), self.format_interval(elapsed)]
        if self.shows_rest and total and counted > 0:
            parts.append(f"about {self.format_interval(elapsed * (total - count) / counted)} left")
        return "   ".join(parts)

    def clear(self, nolock: bool = False) -> None:
        """Do nothing; lines are not cleared."""

    def close(self) -> None:
        """End without a last line."""
        if not self.disable:
            self.last_print_t = self.start_t
        super().close()


def progress(
    total: int | None, description: str, unit: str, iterable: Iterable[Any] | None = None, shows_rest: bool = True
) -> Bar:
    """Return a bar for `total` units (None: unknown), a context with `.update(n)` or an iterator over `iterable`.

    `shows_rest`: whether the bar estimates the remaining time, for which all units should take equally long.
    The bar appears on standard error after five seconds and is cleared at the end. If standard error is no terminal, a
    line is written instead, at most one per minute. TQDM_DISABLE disables both.
    """
    kind = DelayedBar if sys.stderr and sys.stderr.isatty() else ProgressLines
    bar = kind(
        iterable,
        total=total,
        desc=description,
        unit=f" {unit}",
        file=sys.stderr,
        ncols=min(MAX_BAR_CHARS, shutil.get_terminal_size().columns),
        leave=False,
        bar_format=None if shows_rest else "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}]",
        disable=not sys.stderr or bool(os.environ.get("TQDM_DISABLE")),
        delay=DELAY_SECONDS,
    )
    bar.shows_rest = shows_rest
    return bar
