"""Settings of Kedro for this project."""

from kedro.config import OmegaConfigLoader

from contexture.pipelines.config_loader import ARGUMENTS
from contexture.pipelines.hooks.announce import Announce
from contexture.pipelines.hooks.check import CheckParameters
from contexture.pipelines.hooks.console import Console
from contexture.pipelines.hooks.provenance import WriteProvenance
from contexture.pipelines.hooks.record import RecordRun, run_opener
from contexture.pipelines.hooks.start import StartSpark, StartWorkers
from contexture.pipelines.hooks.workspace import ForgetBuild
from contexture.pipelines.parameters import RunParameters

#: Checked by the first hook; read by other hooks and by the pipeline registry.
RUN_PARAMETERS = RunParameters()
_console = Console()  # first: it sets environment variables that libraries read when they are imported
HOOKS = (
    StartSpark(),
    CheckParameters(RUN_PARAMETERS),  # called before
    StartWorkers(RUN_PARAMETERS),
    run_opener(),
    RecordRun(RUN_PARAMETERS),
    WriteProvenance(RUN_PARAMETERS),
    Announce(RUN_PARAMETERS),
    ForgetBuild(RUN_PARAMETERS),
    _console,
)
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow",)  # run_opener has them
CONFIG_LOADER_CLASS = OmegaConfigLoader
CONFIG_LOADER_ARGS = ARGUMENTS
