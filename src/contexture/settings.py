"""Kedro's settings of the project."""

from kedro.config import OmegaConfigLoader

from contexture.hooks import CheckParameters, StartSpark, StartWorkers
from contexture.pipelines.announce import Announce
from contexture.pipelines.console import Console
from contexture.pipelines.record import RecordRun, run_opener

_console = Console()  # first: what it tells libraries they read when they are imported
HOOKS = (CheckParameters(), StartSpark(), StartWorkers(), run_opener(), RecordRun(), Announce(), _console)
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow",)  # run_opener has them
CONFIG_LOADER_CLASS = OmegaConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    # An environment changes single keys of the base; it need not repeat the rest.
    "merge_strategy": {"parameters": "soft", "spark": "soft"},
    "config_patterns": {"spark": ["spark*"], "mlflow": ["mlflow*"]},
}
