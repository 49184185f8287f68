"""What `kedro run` is asked to run: checked before Kedro's plugins are set up for it."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from kedro.framework.project import pipelines

from contexture.config import ConfigurationError

#: So many names are all told.
FEW = 20


def check_asked(options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for a pipeline, tag or node that is not there, naming those that are.

    Kedro says of unknown tags that nothing is left to run, and passes over those that stand beside known ones.
    """
    names = options.get("pipelines") or [options.get("pipeline") or "__default__"]
    _check("pipeline", names, sorted(set(pipelines) - {"__default__"}), {"__default__"})
    nodes = [node for name in names for node in pipelines[name].nodes]
    _check("tag", options.get("tags") or [], sorted({tag for node in nodes for tag in node.tags}))
    chosen = [name for option in ("node_names", "from_nodes", "to_nodes") for name in options.get(option) or []]
    _check("node", chosen, sorted({node.name for node in nodes}))


def _check(what: str, asked: Collection[str], known: list[str], besides: Collection[str] = ()) -> None:
    for name in asked:
        if name not in known and name not in besides:
            shown = known if len(known) <= FEW else get_close_matches(name, known)
            raise ConfigurationError(
                f"there is no {what} {name!r}" + (f"; there are {', '.join(shown)}" if shown else "")
            )
