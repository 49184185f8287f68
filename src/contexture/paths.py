"""Layout of data/, the same as in conf/base/catalog.yml."""

from dataclasses import dataclass
from pathlib import Path

DATA_DIR = Path("data")
#: Each workspace is a folder with the layout of `DATA_DIR`.
WORKSPACES_DIR = DATA_DIR / "workspaces"
#: Names of workspaces: they are folders, and parts of names in MLflow.
WORKSPACE_PATTERN = r"[a-z0-9]+(-[a-z0-9]+)*"

#: All records of a system, next to its page.
METRICS_FILE = "metrics.json"
#: How these records were made, next to them.
RUN_FILE = "run.json"
#: Results that are kept in the repository, one file for each name.
RESULTS_DIR = Path("docs/results")
#: Files of a task's results.
RECORDS_FILE, DETAILS_FILE = "records.json", "details.json"


def data_dir(workspace: str | None = None) -> Path:
    """Return the folder of all data of a workspace; without one, that of the project."""
    return DATA_DIR if workspace is None else WORKSPACES_DIR / workspace


@dataclass(frozen=True)
class DataLayout:
    """Paths below a folder of data: that of the project, or of a workspace."""

    root: Path = DATA_DIR

    @property
    def sources_file(self) -> Path:
        """Manifest of the corpus: its inputs and files."""
        return self.root / "01_raw/sources.json"

    @property
    def models_dir(self) -> Path:
        """Folder of the models of all systems."""
        return self.root / "06_models"

    @property
    def search_index_dir(self) -> Path:
        """Folder of the index of `contexture search`."""
        return self.models_dir / "search"

    @property
    def results_dir(self) -> Path:
        """Folder of the results of all systems."""
        return self.root / "07_model_output"

    @property
    def reports_dir(self) -> Path:
        """Folder of all pages and counts."""
        return self.root / "08_reporting"

    @property
    def corpus_card_file(self) -> Path:
        """Page with statistics and samples of the corpus."""
        return self.reports_dir / "corpus/card.html"

    def report_file(self, system: str) -> Path:
        """Return the page of a system."""
        return self.reports_dir / system / "report/report.html"

    @property
    def build_file(self) -> Path:
        """What a finished workspace was made from (`commands.workspaces`)."""
        return self.root / "build.json"


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
