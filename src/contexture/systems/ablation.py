"""A system's ablation as a system of its own: a run for every row, with some sizes of its encoder changed."""

from dataclasses import asdict, replace

from pydantic import TypeAdapter

from contexture.encoders.config import AnyEncoderConfig
from contexture.systems.config import SystemConfig, Variant


def ablated(config: SystemConfig) -> SystemConfig:
    """The rows of `config.ablation` as runs, each measured like a variant; ValueError for one that cannot be made."""
    if config.ablation is None:
        raise ValueError("this system has no ablation")
    encoders, runs = {}, {}
    for row in config.ablation.rows:
        if row.run not in config.pretrain.runs:
            raise ValueError(f"ablation: no run {row.run!r}; there are {sorted(config.pretrain.runs)}")
        name = " ".join([row.run, *(f"{key}={value}" for key, value in row.encoder.items())])
        changed = asdict(config.encoders[config.encoder_of(row.run)]) | row.encoder
        encoders[name] = TypeAdapter(AnyEncoderConfig).validate_python(changed)
        runs[name] = replace(config.pretrain.runs[row.run], encoder=name)
    tasks = {
        name: TypeAdapter(type(settings)).validate_python(asdict(settings) | config.ablation.tasks.get(name, {}))
        for name, settings in config.tasks.items()
        if name in config.ablation.tasks
    }
    return replace(
        config,
        encoders=encoders,
        pretrain=replace(config.pretrain, runs=runs),
        variants={name: Variant() for name in runs},
        tasks=tasks,
        search=None,
        ablation=None,
        guests={},
    )
