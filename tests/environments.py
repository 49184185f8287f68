"""The configuration environments of the project, as a run reads them."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader

from contexture.config import Parameters, check_parameters
from contexture.settings import CONFIG_LOADER_ARGS

CONF = Path(__file__).resolve().parents[1] / "conf"
ENVIRONMENTS = sorted(path.name for path in CONF.iterdir() if path.is_dir() and path.name != "local")


@cache
def _loaded(environment: str) -> dict[str, Any]:
    arguments: dict[str, Any] = CONFIG_LOADER_ARGS
    return dict(OmegaConfigLoader(str(CONF), env=environment, **arguments)["parameters"])


def parameters(environment: str) -> dict[str, Any]:
    """All parameters of an environment, unchecked."""
    return deepcopy(_loaded(environment))


@cache
def checked(environment: str) -> Parameters:
    """The same, checked."""
    return check_parameters(parameters(environment), [CONF / environment, CONF / "base"], {})
