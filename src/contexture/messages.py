"""Messages of errors: where an error is, and unknown names with the closest known one."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches

#: A message lists at most this many known names.
MAX_LISTED_NAMES = 20


def find_closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`, apart from case; None if none is similar."""
    by_lower = {other.lower(): other for other in sorted(known)}
    lower = name.lower()

    def similarity_key(other: str) -> tuple[float, bool]:
        """Return the sort key of a known name: its similarity to `name`, then whether it has the same beginning."""
        matcher = SequenceMatcher(None, other, lower)
        return matcher.ratio(), other.startswith(lower[:-1])

    closest = max(get_close_matches(lower, by_lower), key=similarity_key, default=None)
    return by_lower[closest] if closest is not None else None


def suggest(name: str, known: Collection[str]) -> str:
    """Return the end of a message: "; did you mean 'x'?", or "; known: a, b" if no known name is similar to `name`."""
    if (closest := find_closest(name, known)) is not None:
        return f"; did you mean {closest!r}?"
    names = sorted(known)
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return f"; known: {', '.join(names[:MAX_LISTED_NAMES])}{more}" if names else "; there are none"


def explain_unknown(noun: str, names: Iterable[str], known: Collection[str]) -> str:
    """Return a message about unknown names: "unknown run 'mml'; did you mean 'mlm'?"."""
    return " ".join(f"unknown {noun} {name!r}{suggest(name, known)}" for name in names)


@contextmanager
def errors_at(source: str, hint: str = "", kind: type[ValueError] = ValueError) -> Iterator[None]:
    """Turn ValueErrors of the block into errors of `kind` that begin with an option or key, and end with a hint."""
    try:
        yield
    except ValueError as error:
        raise kind(f"{source}: {error}{hint}") from error
