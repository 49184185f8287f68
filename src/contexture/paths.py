"""Layout of data/, the same as in conf/base/catalog.yml."""

from pathlib import Path

DATA_DIR = Path("data")
MODELS_DIR = DATA_DIR / "06_models"
RESULTS_DIR = DATA_DIR / "07_model_output"
REPORTS_DIR = DATA_DIR / "08_reporting"
SEARCH_INDEX_DIR = MODELS_DIR / "search"
CORPUS_CARD_FILE = REPORTS_DIR / "corpus/card.html"

#: All records of a system, next to its page.
METRICS_FILE = "metrics.json"
#: Files of a task's results.
RECORDS_FILE, DETAILS_FILE = "records.json", "details.json"


def pretrained_dir(models_dir: Path) -> Path:
    """Return the folder of all pre-trained encoders of a system."""
    return models_dir / "pretrained"


def encoder_dir(pretrained_dir: Path, run: str, seed: int) -> Path:
    """Return the folder of the pre-trained encoder of a run and seed."""
    return pretrained_dir / run / f"seed-{seed}"


def task_models_dir(models_dir: Path, task: str) -> Path:
    """Return the folder of all models fine-tuned on a task."""
    return models_dir / "finetuned" / task


def finetuned_dir(models_dir: Path, task: str, variant: str, seed: int) -> Path:
    """Return the folder of a variant's models fine-tuned on a task, which are named after their options."""
    return task_models_dir(models_dir, task) / variant / f"seed-{seed}"
