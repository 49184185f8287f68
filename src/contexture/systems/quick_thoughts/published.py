"""Logeswaran and Lee 2018, *An Efficient Framework for Learning Sentence Representations* (Quick-Thoughts)."""

from collections.abc import Iterable

from contexture.reporting.names import PROTOCOLS, REFERENCES, TASKS, in_order
from contexture.reporting.published import TaskColumn, TaskRow, TaskTable
from contexture.tasks.sentences.spec import CAPTION_RECALL_AT

PAPER = "Logeswaran and Lee 2018"

#: Our variants, in the order of the tables and of the colours.
LABELS = {
    "uni": "uni-QT",
    "bi": "bi-QT",
    "combine": "combine-QT",
    "mc": "MC-QT",
    "bow": "BoW-QT",
    "ensemble": "Ensemble",
    "skip_thought": "Skip-Thought",
    "word_average": REFERENCES["word_average"],
    "random": "Untrained uni-QT",
    "random_bi": "Untrained bi-QT",
    "random_combine": "Untrained combine-QT",
    "random_bow": "Untrained BoW-QT",
    "random_mc": "Untrained MC-QT",
    "random_single": "Untrained Skip-Thought",
    # MC-QT's other half, a run alone.
    "fixed": "bi-QT over fixed words",
}
#: The protocols of the probes; the paper's numbers are by the first.
PROBES = ("skip_thoughts", "senteval")
#: What holds the data of Tables 1 to 4 and 8.
DATA = "senteval"
#: Appendix D takes the mean accuracy over these.
AVERAGED = ("mr", "cr", "subj", "mpqa", "trec", "mrpc")
CAPTIONS, ANALOGIES = "image_captions", "analogies"
#: Appendix C: Skip-Thought's time of training over that of Quick-Thoughts, with the same encoder.
SPEED_UP = 4.8

#: (variant, baseline): what the report compares seed by seed. Each first with a new encoder of the same kind and
#: length, as wider vectors alone are better ones.
COMPARISONS = (
    ("combine", "random_combine"),
    ("combine", "word_average"),
    ("combine", "skip_thought"),
    ("mc", "random_mc"),
    ("mc", "combine"),
    ("uni", "random"),
    ("uni", "skip_thought"),
    ("bi", "random_bi"),
    ("bow", "random_bow"),
    ("bow", "word_average"),
    ("skip_thought", "random_single"),
)
#: Variants that no seed changes: one measurement stands for every seed.
UNSEEDED = frozenset({"word_average"})

_N = None

# MR, CR, SUBJ, MPQA, TREC, MSRP accuracy, MSRP F1; SICK r, ρ and MSE.
_TABLE_1 = (
    TaskRow("GloVe BoW", (78.1, 80.4, 91.9, 87.8, 85.2, 72.5, 81.1, 0.764, 0.687, 0.425), "word_average"),
    TaskRow(
        "SDAE",
        (67.6, 74.0, 89.3, 81.3, 77.6, 76.4, 83.4, _N, _N, _N),
        heading="Trained from scratch (the paper's: on BookCorpus)",
    ),
    TaskRow("FastSent", (71.8, 78.4, 88.7, 81.5, 76.8, 72.2, 80.3, _N, _N, _N)),
    TaskRow("ParagraphVec", (61.5, 68.6, 76.4, 78.1, 55.8, 73.6, 81.9, _N, _N, _N)),
    TaskRow("uni-skip", (75.5, 79.3, 92.1, 86.9, 91.4, 73.0, 81.9, 0.848, 0.778, 0.287), "skip_thought"),
    TaskRow("bi-skip", (73.9, 77.9, 92.5, 83.3, 89.4, 71.2, 81.2, 0.841, 0.770, 0.300)),
    TaskRow("combine-skip", (76.5, 80.1, 93.6, 87.1, 92.2, 73.0, 82.0, 0.858, 0.792, 0.269)),
    TaskRow("combine-cnn", (77.2, 80.9, 93.1, 89.1, 91.8, 75.5, 82.6, 0.853, 0.789, 0.279)),
    TaskRow("uni-QT", (77.2, 82.8, 92.4, 87.2, 90.6, 74.7, 82.7, 0.844, 0.778, 0.293), "uni"),
    TaskRow("bi-QT", (77.0, 83.5, 92.3, 87.5, 89.4, 74.8, 82.9, 0.855, 0.787, 0.274), "bi"),
    TaskRow("combine-QT", (78.2, 84.4, 93.3, 88.0, 90.8, 76.2, 83.5, 0.860, 0.796, 0.267), "combine"),
    TaskRow(
        "combine-cnn",
        (77.8, 82.1, 93.6, 89.4, 92.6, 76.5, 83.8, 0.862, 0.798, 0.267),
        heading="With pre-trained word vectors (the paper's: on BookCorpus)",
    ),
    TaskRow("MC-QT", (80.4, 85.2, 93.9, 89.4, 92.8, 76.9, 84.0, 0.868, 0.801, 0.256), "mc"),
    TaskRow(
        "combine-QT",
        (81.3, 84.5, 94.6, 89.5, 92.4, 75.9, 83.3, 0.871, 0.807, 0.247),
        heading="Trained on BookCorpus and UMBC",
    ),
    TaskRow("MC-QT", (82.4, 86.0, 94.8, 90.2, 92.4, 76.9, 84.0, 0.874, 0.811, 0.243)),
)

# MR, CR, SUBJ, MPQA, SST, TREC, MSRP accuracy, MSRP F1; SICK r.
_TABLE_2 = (
    TaskRow("CaptionRep", (61.9, 69.3, 77.4, 70.8, _N, 72.2, _N, _N, _N)),
    TaskRow("DictRep", (76.7, 78.7, 90.7, 87.2, _N, 81.0, 68.4, 76.8, _N)),
    TaskRow("NMT En-to-Fr", (64.7, 70.1, 84.9, 81.5, _N, 82.8, _N, _N, _N)),
    TaskRow("InferSent", (81.1, 86.3, 92.4, 90.2, 84.6, 88.2, 76.2, 83.1, 0.884)),
    TaskRow("MC-QT", (82.4, 86.0, 94.8, 90.2, 87.6, 92.4, 76.9, 84.0, 0.874), "mc"),
)
_TABLE_3 = (
    TaskRow("Ensemble", (82.7, 86.7, 95.5, 90.3, 88.2, 93.4, 78.5, 85.1, 0.881), "ensemble", "Table 3: ensemble"),
    TaskRow("AdaSent", (83.1, 86.3, 95.5, 93.3, _N, 92.4, _N, _N, _N), heading="Table 3: task-specific methods"),
    TaskRow("CNN", (81.5, 85.0, 93.4, 89.6, 88.1, 93.6, _N, _N, _N)),
    TaskRow("TF-KLD", (_N, _N, _N, _N, _N, _N, 80.4, 85.9, _N)),
    TaskRow("DT-LSTM", (_N, _N, _N, _N, _N, _N, _N, _N, 0.868)),
)

# R@1, R@5, R@10 and median rank of image annotation, then of image search.
_TABLE_4 = (
    TaskRow("Combine-skip", (33.8, 67.7, 82.1, 3, 25.9, 60.0, 74.6, 4), "skip_thought", "Pre-trained representations"),
    TaskRow("Combine-cnn", (34.4, _N, _N, 3, 26.6, _N, _N, 4)),
    TaskRow("MC-QT", (37.1, 72.0, 84.7, 2, 27.9, 63.3, 78.3, 3), "mc"),
    TaskRow("DVSA", (38.4, 69.6, 80.5, 1, 27.4, 60.2, 74.8, 3), heading="Trained with the images"),
    TaskRow("GMM+HGLMM", (39.4, 67.9, 80.9, 2, 25.1, 59.8, 76.6, 4)),
    TaskRow("m-RNN", (41.0, 73.0, 83.5, 2, 29.0, 42.2, 77.0, 3)),
    TaskRow("Order", (46.7, 88.9, _N, 2, 37.9, 85.9, _N, 2)),
)

# Percent; the paper gives fractions.
_TABLE_6_CATEGORIES = (
    "gram4-superlative",
    "gram3-comparative",
    "family",
    "JJR_JJS",
    "VB_VBD",
    "VBD_VBZ",
    "NN_NNS",
    "JJ_JJS",
    "JJ_JJR",
)
_TABLE_6 = {
    ("Combine-skip", "skip_thought"): (0, 0, 4, 12, 38, 44, 0, 0, 0),
    ("MC-QT", "mc"): (4, 6, 34, 18, 34, 52, 6, 6, 8),
}

# News, Forum, WordNet, Tweets, Images, Headlines, Overall.
_TABLE_8 = (
    TaskRow("SDAE", (0.04, 0.13, 0.24, 0.42, 0.38, 0.36, 0.15), heading="Sequence models"),
    TaskRow("Skip-Thoughts", (0.45, 0.12, 0.35, 0.36, 0.62, 0.36, 0.39), "skip_thought"),
    TaskRow("QT (RNN)", (0.48, 0.15, 0.53, 0.62, 0.53, 0.48, 0.49), "combine"),
    TaskRow("CBOW", (0.61, 0.44, 0.69, 0.75, 0.73, 0.59, 0.65), heading="Bags of words"),
    TaskRow("Skipgram", (0.59, 0.42, 0.70, 0.74, 0.67, 0.58, 0.63)),
    TaskRow("FastSent", (0.59, 0.36, 0.70, 0.66, 0.78, 0.59, 0.64)),
    TaskRow("Siamese CBOW", (0.59, 0.41, 0.61, 0.73, 0.65, 0.64, 0.62)),
    TaskRow("QT (BoW)", (0.62, 0.37, 0.76, 0.67, 0.76, 0.60, 0.65), "bow"),
)
_STS14 = {
    "deft-news": "News",
    "deft-forum": "Forum",
    "OnWN": "WordNet",
    "tweet-news": "Tweets",
    "images": "Images",
    "headlines": "Headlines",
}


def unsupervised_table(protocol: str) -> TaskTable:
    """Table 1, beside our records of a protocol."""
    columns = (
        *(_accuracy(task, protocol) for task in ("mr", "cr", "subj", "mpqa", "trec")),
        *_paraphrases(protocol),
        *relatedness("sick_r", protocol),
    )
    return TaskTable(
        title=f"Table 1: unsupervised representations on downstream tasks, {_name(protocol)}",
        source=f"{PAPER}, Table 1",
        data=DATA,
        columns=columns,
        rows=_TABLE_1,
        labels=LABELS,
        remark=_remark(protocol),
    )


def supervised_table(protocol: str) -> TaskTable:
    """Tables 2 and 3, beside our records of a protocol."""
    columns = (
        *(_accuracy(task, protocol) for task in ("mr", "cr", "subj", "mpqa", "sst2", "trec")),
        *_paraphrases(protocol),
        TaskColumn("sick_r", protocol, "pearson", "SICK r", decimals=3),
    )
    return TaskTable(
        title=f"Tables 2 and 3: supervised representations and methods, {_name(protocol)}",
        source=f"{PAPER}, Tables 2 and 3; the paper's MC-QT is that of BookCorpus and UMBC",
        data=DATA,
        columns=columns,
        rows=_TABLE_2 + _TABLE_3,
        labels=LABELS,
        remark=_remark(protocol),
    )


def further_table(protocol: str, measured: Iterable[tuple[str, str]]) -> TaskTable:
    """What was `measured`, as (task, metric), by a protocol and is in none of the paper's tables."""
    published = {(c.task, c.metric) for c in unsupervised_table(protocol).columns + supervised_table(protocol).columns}
    found = set(measured)
    columns: list[TaskColumn] = []
    for task in in_order(task for task, _ in found):
        every = [*relatedness(task, protocol), _accuracy(task, protocol)]
        every.append(TaskColumn(task, protocol, "f1", f"{TASKS.get(task, task)} F1"))
        columns += [c for c in every if (task, c.metric) in found - published]
    return TaskTable(f"Further tasks, {_name(protocol)}", "", DATA, tuple(columns), labels=LABELS)


def captions_table() -> TaskTable:
    """Table 4."""
    columns = [
        column
        for direction, group in (("annotation", "Image annotation"), ("search", "Image search"))
        for column in (
            *(
                TaskColumn(CAPTIONS, "ranking", f"{direction}_recall_at_{k}", f"R@{k}", group)
                for k in CAPTION_RECALL_AT
            ),
            TaskColumn(CAPTIONS, "ranking", f"{direction}_median_rank", "median rank", group, decimals=0),
        )
    ]
    return TaskTable(
        title="Table 4: image–caption ranking",
        source=f"{PAPER}, Table 4, MSCOCO, folds of 1,000 images",
        data=DATA,
        columns=tuple(columns),
        rows=_TABLE_4,
        labels=LABELS,
    )


def analogies_table(categories: Iterable[str], data: str) -> TaskTable:
    """Table 6, for the categories of our analogies of `data`, "" being all of them."""
    subsets = tuple(categories)
    rows = []
    for (label, variant), scores in _TABLE_6.items():
        known = dict(zip(_TABLE_6_CATEGORIES, scores, strict=True))
        rows.append(TaskRow(label, tuple(known.get(subset) for subset in subsets), variant))
    shared = set(subsets) & set(_TABLE_6_CATEGORIES)
    return TaskTable(
        title=f"{'Table 6: s' if shared else 'S'}entence analogies",
        source=f"{PAPER}, Table 6" if shared else "",
        data=data,
        columns=_of_analogies(subsets, "accuracy", decimals=0),
        rows=tuple(rows) if shared else (),
        labels=LABELS,
    )


def excluding_table(categories: Iterable[str], data: str) -> TaskTable:
    """The laxer count, which the paper leaves out."""
    columns = _of_analogies(categories, "accuracy_excluding")
    remark = "Of A:B::C:D, the sentences A, B and C are no candidates."
    title = "Sentence analogies, without the question's own sentences"
    return TaskTable(title, "", data, columns, (), LABELS, remark)


def similarity_table() -> TaskTable:
    """Table 8."""
    subsets = [
        TaskColumn("sts14", "cosine", "pearson", name, decimals=2, subset=subset) for subset, name in _STS14.items()
    ]
    return TaskTable(
        title="Table 8: STS14 by cosine, Pearson",
        source=f"{PAPER}, Table 8",
        data=DATA,
        columns=(*subsets, TaskColumn("sts14", "cosine", "pearson_weighted_mean", "Overall", decimals=2)),
        rows=_TABLE_8,
        labels=LABELS,
        remark="Overall: the mean weighted by pairs, with which the paper's rows agree, that of SDAE excepted.",
    )


def relatedness(task: str, protocol: str) -> tuple[TaskColumn, ...]:
    """The columns of a trained regression."""
    names = {"pearson": "r", "spearman": "ρ", "mse": "MSE"}
    return tuple(TaskColumn(task, protocol, m, name, TASKS.get(task, task), 3) for m, name in names.items())


def _of_analogies(subsets: Iterable[str], metric: str, decimals: int = 1) -> tuple[TaskColumn, ...]:
    return tuple(
        TaskColumn(ANALOGIES, "nearest", metric, subset or "all", decimals=decimals, subset=subset)
        for subset in subsets
    )


def _accuracy(task: str, protocol: str) -> TaskColumn:
    return TaskColumn(task, protocol, "accuracy", TASKS.get(task, task))


def _paraphrases(protocol: str) -> tuple[TaskColumn, ...]:
    return (
        TaskColumn("mrpc", protocol, "accuracy", "accuracy", "MSRP"),
        TaskColumn("mrpc", protocol, "f1", "F1", "MSRP"),
    )


def _name(protocol: str) -> str:
    return PROTOCOLS.get(protocol, protocol)


def _remark(protocol: str) -> str:
    return "" if protocol == "skip_thoughts" else "The paper's numbers are by the skip-thoughts probe."
