"""`kedro run` of this project: `--params` also takes lists and mappings."""

from collections.abc import Mapping
from typing import Any

import click
from kedro.framework.cli.project import run
from omegaconf import OmegaConf

from contexture.run_parameters import is_complete, split_parameters


def split_params(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Parse the value of `--params`, such as `key=value,other.key=[a,b]`, into nested parameters.

    Values are YAML; commas in brackets and quotes do not separate. The parameters of a file (`--config`) are returned
    unchanged: they are nested already.
    """
    if isinstance(value, Mapping):
        return value
    items = split_parameters(value)
    for item in items:
        key, separator, _ = item.partition("=")
        if not (key.strip() and separator):
            raise click.BadParameter(f"{item!r} is not KEY=VALUE", context, option)
        if not is_complete(item):
            raise click.BadParameter(f"{item!r}: close its brackets and quotes", context, option)
    return OmegaConf.to_container(OmegaConf.from_dotlist(items))


@click.group()
def cli() -> None:
    """Group of the Kedro commands that this project changes: `run`."""


for _option in run.params:
    if _option.name == "params":
        _option.callback = split_params
cli.add_command(run)
