"""The stage `adopt`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.adopt.nodes import adopt
from contexture.pipelines.named import fixed
from contexture.systems.config import BEST, HELD_OUT, SystemConfig


def create_pipeline(system: str, config: SystemConfig) -> Pipeline:
    """What held-out documents say of all encoders → the best of them; nothing where the parameters name the one."""
    if config.search != BEST:
        return Pipeline([])
    variants = config.adoptable
    inputs = [f"{HELD_OUT}-results", "params:adopted_place", *(f"{name}-pretrained" for name in variants)]
    return Pipeline(
        [node(fixed(adopt, variants), inputs, "adopted", name="adopt", tags="adopt")],
        namespace=system,
    )
