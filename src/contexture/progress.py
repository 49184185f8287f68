"""Progress bars, for what takes long enough to be waited for."""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

#: Seconds that work may take without a bar.
DELAY = 5.0
#: Characters in a line, on however wide a terminal.
WIDTH = 120


class DelayedBar(tqdm):  # type: ignore[misc]
    """A bar that nothing shows before its delay is over: tqdm's own comes with the first refresh, as of a postfix."""

    shown = False
    last_print_t: float

    @property
    def format_dict(self) -> dict[str, Any]:
        """What the bar says; of work that is done in part, tenths."""
        found: dict[str, Any] = super().format_dict
        return found | {"n": round(found["n"], 1)}

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Draw the bar, or `msg` in its place."""
        if not self.shown and self._time() < self.start_t + self.delay:
            return False
        self.shown = True
        return super().display(msg, pos)

    def close(self) -> None:
        """Clear the bar, also where only refreshes, and no update, have drawn it."""
        if self.shown:
            self.last_print_t = max(self.last_print_t, self.start_t + self.delay)
        super().close()


def progress(total: int | None, description: str, unit: str, iterable: Iterable[Any] | None = None) -> DelayedBar:
    """A bar for `total` units of work (None: nobody knows how many), to be used as a context with `.update(n)`.

    Iterated over, it gives what is in `iterable`.

    It appears on standard error after five seconds, shows time gone and time left, and goes when the work is done.
    Where standard error is no terminal, or TQDM_DISABLE is set, nothing is shown.
    """
    return DelayedBar(
        iterable,
        total=total,
        desc=description,
        unit=f" {unit}",
        file=sys.stderr,
        ncols=min(WIDTH, shutil.get_terminal_size().columns),
        leave=False,
        disable=bool(os.environ.get("TQDM_DISABLE")) or None,  # None: unless this is a terminal
        delay=DELAY,
    )
