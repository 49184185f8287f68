"""The layout of data/ as code knows it; conf/base/catalog.yml names the same folders, and a test compares the two."""

from pathlib import Path

DATA_DIR = Path("data")
MODELS_DIR = DATA_DIR / "06_models"
RESULTS_DIR = DATA_DIR / "07_model_output"
REPORTS_DIR = DATA_DIR / "08_reporting"
#: The index of `contexture search`.
SEARCH_INDEX_DIR = MODELS_DIR / "search"
CORPUS_CARD_FILE = REPORTS_DIR / "corpus/card.html"

#: The file of all records of a system, next to its page.
METRICS_FILE = "metrics.json"
#: Files of a task's results.
RECORDS_FILE, DETAILS_FILE = "records.json", "details.json"


def pretrained_dir(models_dir: Path) -> Path:
    """Folder of a system's encoders."""
    return models_dir / "pretrained"


def encoder_dir(pretrained_dir: Path, run: str, seed: int) -> Path:
    """Folder of the encoder of a run and a seed."""
    return pretrained_dir / run / f"seed-{seed}"


def task_models_dir(models_dir: Path, task: str) -> Path:
    """Folder of all models that are fine-tuned on a task."""
    return models_dir / "finetuned" / task


def finetuned_dir(models_dir: Path, task: str, variant: str, seed: int) -> Path:
    """Folder of the models that are fine-tuned of a variant on a task; they are named after their options."""
    return task_models_dir(models_dir, task) / variant / f"seed-{seed}"
