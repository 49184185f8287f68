"""The typed parameters of a run."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader

from contexture.config import Parameters, check_parameters
from contexture.config_errors import ConfigurationError, find_source
from contexture.messages import explain_unknown
from contexture.pipelines.config_loader import ARGUMENTS


class RunParameters:
    """Checked parameters that hooks share with the pipeline registry, which Kedro calls without arguments."""

    def __init__(self) -> None:
        self._parameters: Parameters | None = None

    def check(self, loader: Any) -> Parameters:
        """Check, store and return the parameters of a configuration loader; ConfigurationError if they have errors."""
        root = Path(loader.conf_source)
        if loader.env and not (root / loader.env).is_dir():
            known = {folder.name for folder in root.iterdir() if folder.is_dir()}
            raise ConfigurationError(f"--env: {explain_unknown('environment', [loader.env], known)}")
        folders = [root / (loader.env or loader.default_run_env), root / loader.base_env]
        runtime = loader.runtime_params or {}
        parameters = check_parameters(loader["parameters"], folders, runtime)
        if parameters.workspace != runtime.get("workspace"):
            raise ConfigurationError(
                f"{find_source(['workspace'], folders, {})}: workspace: set it on the command line instead, --params "
                f"workspace={parameters.workspace}: catalog.yml and mlflow.yml read it from there"
            )
        self._parameters = parameters
        return self._parameters

    def get(self) -> Parameters:
        """Return the parameters of the run; without a run, as when pipelines are listed, of conf/base."""
        return self._parameters or self.check(OmegaConfigLoader(str(Path.cwd() / "conf"), **ARGUMENTS))


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted key and value of each parameter in nested ones: ("two_tower.seeds", 3)."""
    for key, value in values.items():
        name = f"{prefix}{key}".replace("=", "_")
        if isinstance(value, Mapping):
            yield from flatten(value, f"{name}.")
        else:
            yield name, value
