"""Kedro's settings of the project."""

from kedro.config import OmegaConfigLoader

from contexture.hooks import Announce, CheckParameters, RecordRun, StartSpark, StartWorkers
from contexture.pipelines.console import Console

HOOKS = (CheckParameters(), StartSpark(), StartWorkers(), RecordRun(), Announce(), Console())
CONFIG_LOADER_CLASS = OmegaConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    # An environment changes single keys of the base; it need not repeat the rest.
    "merge_strategy": {"parameters": "soft", "spark": "soft"},
    "config_patterns": {"spark": ["spark*"], "mlflow": ["mlflow*"]},
}
