"""When a run reaches its first node, libraries for training and drawing are not loaded, and imports have no hooks."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HEAVY = ["torch", "pytorch_lightning", "transformers", "faiss", "sklearn", "matplotlib", "nltk"]

RUN = """
import json, os, sys
from pathlib import Path
from kedro.framework.hooks import hook_impl
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

class Stop:
    @hook_impl(tryfirst=True)
    def before_dataset_loaded(self, node):
        finders = [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path]
        print(json.dumps([node.name, finders, list(sys.modules)]), flush=True)
        os._exit(0)

if __name__ == "__main__":
    bootstrap_project(Path.cwd())
    with KedroSession.create(Path.cwd()) as session:
        session._hook_manager.register(Stop())
        session.run(pipeline_names=[sys.argv[1]], tags=sys.argv[2:])
"""


def at_first_node(project: Path, pipeline: str, *tags: str) -> tuple[str, list[str], list[str]]:
    """Return the first node of a run, and the finders of modules and the loaded modules when it begins."""
    (project / "run.py").write_text(RUN)
    command = [sys.executable, "run.py", pipeline, *tags]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    node, finders, modules = json.loads(done.stdout.splitlines()[-1])
    return node, finders, modules


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("corpus",), "text.make_demo_world"),
        pytest.param(("mspp", "pretrain"), "mspp.pretrain", marks=pytest.mark.slow),
    ],
)
def test_nothing_heavy_is_loaded_before_the_first_node(
    arguments: tuple[str, ...], first: str, make_project: Callable[[], Path]
) -> None:
    project = make_project()
    for name in ("04_feature/subword_vectors", "05_model_input/mspp/joint"):  # inputs of training
        (project / "data" / name).mkdir(parents=True)
    node, finders, modules = at_first_node(project, *arguments)
    assert node == first
    assert "ImportHookFinder" not in finders, "MLflow's locks at imports can block the thread that starts Spark"
    assert [name for name in HEAVY if name in modules] == []
