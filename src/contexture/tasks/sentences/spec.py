"""Specification of the sentence tasks."""

import math

from contexture.metrics.measures import AGGREGATES, CORRELATIONS, Metric, correlation_metric
from contexture.tasks.sentences.config import SentenceSettings, SentenceTasksConfig
from contexture.tasks.spec import LeagueUse, TaskSpec

#: R@k of image–caption ranking, in both directions.
CAPTION_RECALL_AT = (1, 5, 10)


def _median_rank_metric(label: str) -> Metric:
    """Return the description of a metric that is a median rank: not a percentage, and lower is better."""
    return Metric(label, high=math.inf, scale=1, lower_is_better=True)


SPEC = TaskSpec(
    name="sentences",
    title="Sentence tasks",
    settings=SentenceSettings,
    source=SentenceTasksConfig,
    implementation="contexture.tasks.sentences.task:SentencesTask",
    corpus=("paragraphs", "words"),
    model_evaluator="contexture.tasks.sentences.command:measure_models",
    former_key="sentence_tasks",
    subtasks={
        "mr": "MR",
        "cr": "CR",
        "subj": "SUBJ",
        "mpqa": "MPQA",
        "sst2": "SST",
        "sst5": "SST-5",
        "trec": "TREC",
        "mrpc": "MSRP",
        "sick_e": "SICK-E",
        "sick_r": "SICK-R",
        "stsb": "STS-B",
        "sts12": "STS12",
        "sts13": "STS13",
        "sts14": "STS14",
        "sts15": "STS15",
        "sts16": "STS16",
        "analogies": "Sentence analogies",
        "image_captions": "Image–caption ranking",
    },
    data={"senteval": "SentEval"},
    protocols={
        "senteval": "SentEval's protocol",
        "skip_thoughts": "skip-thoughts probe",
        "cosine": "cosine",
        "nearest": "nearest",
        "ranking": "ranking",
    },
    metrics={
        # Analogies A:B::C:D without A, B and C as candidates.
        "accuracy_excluding": Metric("accuracy without A, B and C"),
        **{
            f"{kind}_{aggregate}": correlation_metric(f"{title} {name}")
            for kind, name in CORRELATIONS.items()
            for aggregate, title in AGGREGATES.items()
        },
        # Image to caption, and caption to image.
        **{f"annotation_recall_at_{k}": Metric(f"annotation R@{k}") for k in CAPTION_RECALL_AT},
        "annotation_median_rank": _median_rank_metric("annotation median rank"),
        **{f"search_recall_at_{k}": Metric(f"search R@{k}") for k in CAPTION_RECALL_AT},
        "search_median_rank": _median_rank_metric("search median rank"),
    },
    league=(
        LeagueUse(
            "Classification",
            "Sort sentences into classes: praise or blame, kinds of question …",
            "For classification",
            "accuracy",
            "accuracy",
            "sentences in a hundred put into the right class by a simple classifier on their vectors",
            protocols=("senteval", "skip_thoughts"),
        ),
        LeagueUse(
            "Similarity",
            "Tell how alike two sentences are in meaning.",
            "For similarity",
            "spearman_mean",
            "Spearman",
            "100 if pairs are ordered as people order them, 0 if by chance",
            protocols=("cosine",),
        ),
    ),
)
