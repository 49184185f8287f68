"""A system's ablation as a separate system: one run per row, with some encoder sizes changed."""

from dataclasses import asdict, replace

from contexture.encoders.config import AnyEncoderConfig
from contexture.strict import check_names, key_error, validate
from contexture.systems.config import SystemConfig, Variant


def build_ablation(config: SystemConfig) -> SystemConfig:
    """Return a system whose runs and variants are the rows of `config.ablation`; ValidationError for an invalid one."""
    if config.ablation is None:
        raise key_error("this system has none", "ablation")
    check_names("task", config.ablation.tasks, config.tasks, "ablation", "tasks")
    encoders, runs = {}, {}
    for position, row in enumerate(config.ablation.rows):
        key = ("ablation", "rows", str(position))
        check_names("run", [row.run], config.pretrain.runs, *key, "run")
        name = " ".join([row.run, *(f"{key}={value}" for key, value in row.encoder.items())])
        changed = asdict(config.encoders[config.encoder_name(row.run)]) | row.encoder
        if name in runs:
            raise key_error(f"duplicate row {name!r}; remove it", *key)
        encoders[name] = validate(AnyEncoderConfig, changed, *key, "encoder")
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
        published_models={},
        tasks=tasks,
        search=None,
        ablation=None,
        include={},
        select=None,
    )
