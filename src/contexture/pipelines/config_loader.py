"""How Kedro reads conf/."""

from typing import Any

ARGUMENTS: dict[str, Any] = {
    "base_env": "base",
    "default_run_env": "local",
    # An environment changes single keys of the base; it need not repeat the rest.
    "merge_strategy": {"parameters": "soft", "spark": "soft"},
    "config_patterns": {"spark": ["spark*"], "mlflow": ["mlflow*"]},
}
