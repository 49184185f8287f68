"""The stage `derive`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.derive.nodes import mine_negatives, score_margins, write_questions
from contexture.pipelines.named import fixed
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """Pairs and passages → pairs with hard negatives; no nodes if the system derives no examples."""
    config = system.config
    if config.derive is None:
        return Pipeline([])
    vocabulary, nodes = config.vocabulary_dataset, []
    # The passages are written before the folder of the pairs is complete.
    inputs = {"passages": "passages-examples@files", "vocabulary": vocabulary}
    more = {"pairs": "pairs-folder", "pretrained_dir": "params:pretrained_dir"}
    if config.derive.queries.model is not None:
        outputs = {"output_dir": "params:queries-examples_dir"}
        written = ["queries-counts", "queries-folder"]
        nodes.append(node(fixed(write_questions, config), inputs | outputs, written, name="write_questions"))
        more["queries"] = "queries-folder"
    has_margins = config.derive.margins.model is not None
    kind = "mined_pairs" if has_margins else "hard_pairs"
    outputs = {"output_dir": f"params:{kind}-examples_dir"}
    written = [f"{kind}-counts", f"{kind}-folder"]
    nodes.append(node(fixed(mine_negatives, config), inputs | more | outputs, written, name="mine_negatives"))
    if has_margins:
        inputs = {"mined_pairs": "mined_pairs-folder", "vocabulary": vocabulary}
        inputs["output_dir"] = "params:hard_pairs-examples_dir"
        written = ["hard_pairs-counts", "hard_pairs-folder"]
        nodes.append(node(fixed(score_margins, config), inputs, written, name="score_margins"))
    return Pipeline(nodes, namespace=system.name, inputs={vocabulary}, tags="derive")
