"""The registry of objectives by their names in a schedule."""

from contexture.imports import resolve
from contexture.objectives.base_config import ObjectiveConfig

#: Settings classes, which name the implementations and import no torch.
_SETTINGS = {
    "bfs": "settings:BfsConfig",
    "bitext": "settings:BitextObjectiveConfig",
    "cmlm": "settings:CmlmConfig",
    "cross_thought": "settings:CrossThoughtConfig",
    "ict": "settings:IctConfig",
    "in_batch_negatives": "settings:InBatchNegativesConfig",
    "lm": "settings:LmConfig",
    "margin_distillation": "settings:MarginDistillationConfig",
    "mlm": "settings:MlmConfig",
    "mspp": "settings:MsppConfig",
    "nli": "settings:NliConfig",
    "quick_thoughts": "settings:QuickThoughtsConfig",
    "simcse": "settings:SimcseConfig",
    "skip_thought": "settings:SkipThoughtConfig",
    "tsdae": "settings:TsdaeConfig",
    "wlp": "settings:WlpConfig",
}

OBJECTIVES: dict[str, type[ObjectiveConfig]] = {
    name: resolve(f"contexture.objectives.{settings}") for name, settings in _SETTINGS.items()
}
