"""The configuration environments of the project, as a run reads them."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader

from contexture.config import Parameters, check_parameters
from contexture.run_parameters import merged
from contexture.settings import CONFIG_LOADER_ARGS

CONF = Path(__file__).resolve().parents[1] / "conf"
ENVIRONMENTS = sorted(path.name for path in CONF.iterdir() if path.is_dir() and path.name != "local")


def config_loader(environment: str | None = "base", params: Mapping[str, Any] | None = None) -> OmegaConfigLoader:
    """Return Kedro's loader of an environment, with parameters of the command line."""
    return OmegaConfigLoader(str(CONF), env=environment, runtime_params=dict(params or {}), **CONFIG_LOADER_ARGS)


@cache
def _loaded(environment: str) -> dict[str, Any]:
    return dict(config_loader(environment)["parameters"])


def parameters(environment: str) -> dict[str, Any]:
    """Return all parameters of an environment, unchecked."""
    return deepcopy(_loaded(environment))


@cache
def checked(environment: str) -> Parameters:
    """Return all parameters of an environment, checked."""
    return check_parameters(parameters(environment), [CONF / environment, CONF / "base"], {})


def check_changed(*changes: Mapping[str, Any], environment: str = "base") -> Parameters:
    """Check the parameters of an environment with changes, the last of which came from the command line."""
    values = parameters(environment)
    for change in changes:
        values = merged(values, change)
    return check_parameters(values, [CONF / environment, CONF / "base"], changes[-1] if changes else {})
