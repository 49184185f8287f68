"""The typed parameters of the run, checked once; pipelines are built from them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader

from contexture.config import ConfigurationError, Parameters, check_parameters
from contexture.pipelines.config_loader import ARGUMENTS


class RunParameters:
    """The checked parameters of a run, which its hooks share with the registry of pipelines.

    Kedro calls the registry without arguments, so the hook that checks the parameters leaves them here.
    """

    def __init__(self) -> None:
        self._parameters: Parameters | None = None

    def check(self, loader: Any) -> Parameters:
        """Check what a configuration loader holds, and keep it.

        Raises ConfigurationError with every fault, its file and its key, or for an environment that does not exist.
        """
        root = Path(loader.conf_source)
        if loader.env and not (root / loader.env).is_dir():
            known = sorted({folder.name for folder in root.iterdir() if folder.is_dir()})
            raise ConfigurationError(f"there is no environment {loader.env!r}; there are {', '.join(known)}")
        folders = [root / (loader.env or loader.default_run_env), root / loader.base_env]
        self._parameters = check_parameters(loader["parameters"], folders, loader.runtime_params or {})
        return self._parameters

    def get(self) -> Parameters:
        """The parameters of the run; those of conf/base without a run, as when pipelines are listed."""
        return self._parameters or self.check(OmegaConfigLoader(str(Path.cwd() / "conf"), **ARGUMENTS))


def flattened(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested parameters by their dotted keys."""
    for key, value in values.items():
        name = f"{before}{key}".replace("=", "_")
        if isinstance(value, Mapping):
            yield from flattened(value, f"{name}.")
        else:
            yield name, value
