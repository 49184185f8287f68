"""What `kedro run` is asked to run: checked before MLflow opens a run of it."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from kedro.framework.project import pipelines
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from contexture.config import ConfigurationError
from contexture.pipelines.datasets import absent

#: So many names are all told.
FEW = 20
#: What chooses nodes of a pipeline, as Kedro's `Pipeline.filter` calls it.
CHOICES = ("tags", "from_nodes", "to_nodes", "node_names", "from_inputs", "to_outputs")


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


def check_there(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any], options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError where nodes are to run without what those before them make, with the way out.

    Where the short tour made what its own nodes of the same choice need, these are told.
    """
    missing = {} if options.get("only_missing_outputs") else absent(pipeline, catalog)
    if not missing:
        return
    names = options.get("pipeline_names") or ["__default__"]
    bare = {name.partition("@")[0] for name in missing}  # the same table has a name for each that reads it
    nodes = [node for name in names for node in pipelines[name].nodes]
    makers = [node for node in nodes if bare & {name.partition("@")[0] for name in node.outputs}]
    stages = sorted({tag for node in makers for tag in node.tags})
    first, *others = missing.values()
    more = f", and {len(others)} more that this run needs" if others else ""
    before = f" (--tags {','.join(stages)})" if stages else ""
    instead = "; what make demo made is gone on with by --pipelines tour" if _toured(pipeline, catalog, options) else ""
    raise ConfigurationError(f"{first}{more}: run the stage that makes it first{before}{instead}")


def _toured(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any], options: Mapping[str, Any]) -> bool:
    try:
        chosen = pipelines["tour"].filter(**{name: options.get(name) for name in CHOICES})
    except ValueError:  # it has no such nodes
        return False
    systems = {node.namespace for node in pipeline.nodes}
    same = Pipeline([node for node in chosen.nodes if node.namespace in systems])
    return bool(same.nodes) and len(same.nodes) < len(pipelines["tour"].nodes) and not absent(same, catalog)


def _check(what: str, asked: Collection[str], known: list[str], besides: Collection[str] = ()) -> None:
    for name in asked:
        if name not in known and name not in besides:
            shown = known if len(known) <= FEW else get_close_matches(name, known)
            raise ConfigurationError(
                f"there is no {what} {name!r}" + (f"; there are {', '.join(shown)}" if shown else "")
            )
