"""How Kedro reads conf/."""

from typing import Any

from contexture.paths import data_dir


def name_experiment(name: str, workspace: str | None) -> str:
    """Return the name of the MLflow experiment of a workspace; without one, `name`."""
    return name if workspace is None else f"{name}/{workspace}"


ARGUMENTS: dict[str, Any] = {
    "base_env": "base",
    "default_run_env": "local",
    # An environment changes single keys of the base; it need not repeat the rest.
    "merge_strategy": {"parameters": "soft", "spark": "soft"},
    "config_patterns": {"spark": ["spark*"], "mlflow": ["mlflow*"]},
    # For catalog.yml and mlflow.yml.
    "custom_resolvers": {"data_dir": lambda workspace: str(data_dir(workspace)), "experiment": name_experiment},
}
