"""A system's ablation as a separate system: one run per row, with some encoder sizes changed."""

from dataclasses import asdict, replace

from contexture.encoders.config import AnyEncoderConfig
from contexture.strict import validate
from contexture.systems.config import SystemConfig, Variant, check_known


def build_ablation(config: SystemConfig) -> SystemConfig:
    """Return a system whose runs and variants are the rows of `config.ablation`; ValueError for an invalid row."""
    if config.ablation is None:
        raise ValueError("ablation: this system has none")
    check_known("ablation", "task", config.ablation.tasks, config.tasks)
    encoders, runs = {}, {}
    for position, row in enumerate(config.ablation.rows):
        if row.run not in config.pretrain.runs:
            raise ValueError(
                f"ablation.rows.{position}.run: unknown run {row.run!r}; known: {sorted(config.pretrain.runs)}"
            )
        name = " ".join([row.run, *(f"{key}={value}" for key, value in row.encoder.items())])
        changed = asdict(config.encoders[config.encoder_name(row.run)]) | row.encoder
        if name in runs:
            raise ValueError(f"ablation.rows.{position}: duplicate row {name!r}; remove it")
        encoders[name] = validate(AnyEncoderConfig, changed, "ablation", "rows", str(position), "encoder")
        runs[name] = replace(config.pretrain.runs[row.run], encoder=name)
    tasks = {
        name: validate(type(settings), asdict(settings) | config.ablation.tasks[name], "ablation", "tasks", name)
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
        include={},
        select=None,
    )
