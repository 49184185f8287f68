"""The stage `adopt`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.adopt.nodes import adopt
from contexture.systems.config import BEST, HELD_OUT
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """What held-out documents say of all encoders → the best of them; nothing where the parameters name the one."""
    if system.config.search != BEST:
        return Pipeline([])
    variants = {name: f"{name}-pretrained" for name in system.config.adoptable}
    inputs = {"results": f"{HELD_OUT}-results", "place": "params:adopted_place", **variants}
    return Pipeline([node(adopt, inputs, "adopted", name="adopt", tags="adopt")], namespace=system.name)
