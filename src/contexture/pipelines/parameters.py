"""The typed parameters of the run, checked once; pipelines are built from them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader

from contexture.config import ConfigurationError, Parameters, check_parameters
from contexture.pipelines.config_loader import ARGUMENTS

#: Those of this process's run, at most one.
_checked: list[Parameters] = []


def check(loader: Any) -> Parameters:
    """Check what a configuration loader holds and keep it for the pipelines of this process.

    Raises ConfigurationError with every fault, its file and its key, or for an environment that is not there.
    """
    root = Path(loader.conf_source)
    if loader.env and not (root / loader.env).is_dir():
        there = sorted({folder.name for folder in root.iterdir() if folder.is_dir()})
        raise ConfigurationError(f"there is no environment {loader.env!r}; there are {', '.join(there)}")
    folders = [root / (loader.env or loader.default_run_env), root / loader.base_env]
    _checked[:] = [check_parameters(loader["parameters"], folders, loader.runtime_params or {})]
    return _checked[0]


def current() -> Parameters:
    """The parameters of this process's run; those of conf/base where none was begun, as when pipelines are listed."""
    if _checked:
        return _checked[0]
    return check(OmegaConfigLoader(str(Path.cwd() / "conf"), **ARGUMENTS))


def flattened(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested parameters by their dotted keys."""
    for key, value in values.items():
        name = f"{before}{key}".replace("=", "_")
        if isinstance(value, Mapping):
            yield from flattened(value, f"{name}.")
        else:
            yield name, value
