"""Kedro's settings of the project."""

from kedro.config import OmegaConfigLoader

from contexture.pipelines.config_loader import ARGUMENTS
from contexture.pipelines.hooks.announce import Announce
from contexture.pipelines.hooks.check import CheckParameters
from contexture.pipelines.hooks.console import Console
from contexture.pipelines.hooks.record import RecordRun, run_opener
from contexture.pipelines.hooks.start import StartSpark, StartWorkers

_console = Console()  # first: what it tells libraries they read when they are imported
HOOKS = (CheckParameters(), StartSpark(), StartWorkers(), run_opener(), RecordRun(), Announce(), _console)
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow",)  # run_opener has them
CONFIG_LOADER_CLASS = OmegaConfigLoader
CONFIG_LOADER_ARGS = ARGUMENTS
