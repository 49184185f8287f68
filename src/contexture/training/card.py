"""Write the card of a model, `README.md`: metadata for the Hub, architecture, training data, cost, how to load it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from contexture import __version__
from contexture.encoders.saved import CARD_FILE, SETTINGS_FILE, SavedSettings, model_name, read_settings
from contexture.folders import UNFINISHED
from contexture.streams.base_config import StreamConfig
from contexture.training.config import Pretraining, Stage
from contexture.training.corpus_info import read_corpus_info
from contexture.training.pretrain import SUMMARY_FILE, read_summary
from contexture.training.recorder import read_totals

UNKNOWN_LICENSE = "unknown"
MODULES_FILE = "modules.json"
#: A name on the Hub: owner and model.
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_CONTEXTURE_CODE = """from contexture.encoders.models import load_model

encoder = load_model({folder!r})
vectors = encoder.embed(["a question"], "query"), encoder.embed(["a passage"], "document")"""
_SENTENCE_TRANSFORMERS_CODE = """from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer({folder!r})
vectors = encoder.encode(["a text"])"""
_TRANSFORMERS_CODE = """from transformers import AutoModel, AutoTokenizer

encoder, tokenizer = AutoModel.from_pretrained({folder!r}), AutoTokenizer.from_pretrained({folder!r})
states = encoder(**tokenizer(["a text"], return_tensors="pt")).last_hidden_state"""


def write_card(folder: Path, details: Mapping[str, str], metadata: ModelCardData, usage: str = "") -> None:
    """Write the card of the encoder in `folder`, which may be an unfinished folder.

    Args:
        folder: Folder with the saved encoder.
        details: Rows of the table, such as `pretraining_details`.
        metadata: Language and licence, from `pretraining_metadata` or `finetuning_metadata`.
        usage: Markdown on how to use a fine-tuned model.
    """
    name = model_name(folder.with_name(folder.name.removesuffix(UNFINISHED)))
    settings = read_settings(folder)
    dimension = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))["dimension"]
    rows = (
        {"system": name.split("/")[0] if "/" in name else ""}
        | _architecture_rows(settings, dimension)
        | dict(details)
        | _cost_rows(folder)
    )
    lines = [f"# {name}", "", f"An encoder of sentences and passages, trained by Contexture {__version__}.", ""]
    lines += ["| | |", "|---|---|", *(f"| {key} | {_escape_cell(value)} |" for key, value in rows.items() if value)]
    lines += ["", "## To load it", "", *_loading_lines(folder, settings, usage)]
    lines += ["", "## Licence", "", _describe_license(metadata.license), ""]
    metadata.base_model = _base_model(settings)
    metadata.tags = ["contexture", "feature-extraction", "sentence-similarity"]
    if (folder / MODULES_FILE).exists():
        metadata.library_name, metadata.pipeline_tag = "sentence-transformers", "sentence-similarity"
    text = "\n".join(lines)
    ModelCard(f"---\n{metadata.to_yaml()}\n---\n\n{text}").save(folder / CARD_FILE)


def pretraining_metadata(config: Pretraining, examples: Mapping[str, Path]) -> ModelCardData:
    """Return languages and licence of the corpora that the examples were made from; `examples`: kind → folder."""
    corpora = [read_corpus_info(examples[config.streams[name].examples]) for name in config.stream_names]
    languages = list(dict.fromkeys(code for corpus in corpora for code in corpus.languages))
    licenses = {corpus.license.lower() for corpus in corpora}
    known = licenses.pop() if len(licenses) == 1 else ""  # texts of several licences: not known for all
    return ModelCardData(language=languages or None, license=known or UNKNOWN_LICENSE)


def finetuning_metadata(encoders: Sequence[str]) -> ModelCardData:
    """Return languages and licence of a fine-tuned model, from the card of its first encoder."""
    card_file = Path(encoders[0]) / CARD_FILE
    data = ModelCard.load(card_file).data if card_file.exists() else ModelCardData()
    return ModelCardData(language=data.language, license=data.license or UNKNOWN_LICENSE)


def add_results(folder: Path, text: str, results: list[EvalResult]) -> None:
    """Add Markdown `text`, and results for the `model-index`, to the card of the encoder in `folder`."""
    card = ModelCard.load(folder / CARD_FILE)
    card.text += text
    card.data.model_name, card.data.eval_results = _first_heading(card.text), results or None
    card.save(folder / CARD_FILE)


def pretraining_details(
    config: Pretraining, seed: int, examples: Mapping[str, Path], start: Path | None
) -> dict[str, str]:
    """Return rows of the card on pre-training; `examples`: kind → folder."""
    streams = {name: config.streams[name] for name in config.stream_names}
    folders = {examples[stream.examples] for stream in streams.values()}
    sizes = config.settings.batch_sizes(config.run, streams)
    return {
        "variant": config.run,
        "seed": str(seed),
        "continued from": model_name(start) if start else "",
        "text": ", ".join(sorted({read_corpus_info(folder).name for folder in folders})),
        "examples": "; ".join(_format_stream(name, stream) for name, stream in streams.items()),
        "objectives": "; ".join(_format_stage(stage) for stage in config.recipe.schedule),
        "rows of a step": ", ".join(f"{sizes[name]} of {name}" for name in streams),
        "optimizer": _format_settings(asdict(config.settings.optimizer)) if streams else "",
    }


def finetuning_details(
    variant: str, seed: int, task: str, option: str, settings: Any, encoders: Sequence[str]
) -> dict[str, str]:
    """Return rows of the card on fine-tuning."""
    return {
        "variant": variant,
        "seed": str(seed),
        "fine-tuned on": f"{task}, {option}",
        "fine-tuned from": ", ".join(model_name(Path(encoder)) for encoder in encoders),
        "optimizer": _format_settings(asdict(settings.optimizer)),
    }


def _first_heading(text: str) -> str:
    """Return the first heading of a Markdown text."""
    return next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))


def _describe_license(license_id: str | None) -> str:
    """Return the card's sentences on the licence of the training text."""
    if license_id in (None, UNKNOWN_LICENSE):
        return "Unknown: before you share these weights, add the licence of their training text, and your own."
    return f"The training text has the licence {license_id}. Before you share these weights, add your own licence."


def _base_model(settings: SavedSettings) -> str | None:
    """Return the name on the Hub of the model whose weights training started from; None without such a model."""
    start = asdict(settings.config).get("init_from")
    return start if start and _HUB_NAME.fullmatch(start) and not Path(start).exists() else None


def _architecture_rows(settings: SavedSettings, dimension: int) -> dict[str, str]:
    """Return rows of the card on the architecture, its settings, and the length of vectors and texts."""
    config = asdict(settings.config)
    kind = config.pop("kind")
    return {
        "architecture": f"{kind.replace('_', ' ')}, " + _format_settings(config),
        "dimension": str(dimension),
        "texts are cut to": f"{settings.lengths.query} tokens of a query, {settings.lengths.document} of a document",
    }


def _format_stream(name: str, stream: StreamConfig) -> str:
    """Return the name of a stream, with its settings that affect a run."""
    settings = {key: getattr(stream, key) for key in stream.run_keys}
    values = {key: " ".join(value) if isinstance(value, list) else value for key, value in settings.items()}
    return f"{name} ({_format_settings(values)})" if values else name


def _format_stage(stage: Stage) -> str:
    """Return objectives and weights of a stage, and its budget or number of steps, as text."""
    weights = ", ".join(
        name if weight == 1 else f"{name} (weight {weight:g})" for name, weight in stage.weights.items()
    )
    if stage.budget is not None:
        return f"{weights} for {stage.budget.amount:g} {stage.budget.unit}"
    return f"{weights} for {stage.steps} steps"


def _cost_rows(folder: Path) -> dict[str, str]:
    """Return rows of the card on the cost of training, steps and parameters, from the files in `folder`."""
    totals = read_summary(folder) if (folder / SUMMARY_FILE).exists() else read_totals(folder)
    cost = f"{totals['tokens']:,.0f} tokens, {totals['flops']:.3g} FLOPs, {totals['seconds']:,.1f} seconds"
    return {
        "cost": cost if totals["tokens"] else "nothing was trained",
        "steps taken": f"{totals['steps']:,}" if totals.get("steps") else "",
        "parameters": f"{totals['parameters']:,}" if "parameters" in totals else "",
    }


def _format_settings(values: Mapping[str, Any]) -> str:
    """Return settings as text, `key value, …`, without those that are None."""
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def _loading_lines(folder: Path, settings: SavedSettings, usage: str) -> list[str]:
    """Return Markdown lines with the code that loads the encoder, in each library that can load it."""
    shared = settings.config.shared
    network_dirs = [folder] if shared else [folder / "query", folder / "document"]
    note = "" if shared else ": queries and documents have a network each, this is that of queries"
    lines = [usage, "", "Its encoder alone:"] if usage else ["In this folder:"]
    lines += ["", *_code_block(_CONTEXTURE_CODE, ".")]
    libraries = {
        "sentence-transformers": (MODULES_FILE, _SENTENCE_TRANSFORMERS_CODE),
        "transformers, which gives states of tokens": ("config.json", _TRANSFORMERS_CODE),
    }
    for library, (file, code) in libraries.items():
        if all((network_dir / file).exists() for network_dir in network_dirs):
            lines += ["", f"In {library}{note}:", "", *_code_block(code, "." if shared else "query")]
    if not any((network_dirs[0] / file).exists() for file, _ in libraries.values()):
        lines += ["", "Neither sentence-transformers nor transformers has this architecture."]
    return lines


def _code_block(code: str, folder: str) -> list[str]:
    """Return Markdown lines of a Python code block, with `folder` filled in."""
    return ["```python", code.format(folder=folder), "```"]


def _escape_cell(value: str) -> str:
    return value.replace("|", r"\|").replace("\n", " ")
