"""Every contestant on the claims of dev and test: frozen, fine-tuned, and what needs no encoder beside them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from contexture.tasks.base import Contestant, Each, Results, make_record, measure_encoders, one_by_one, seeds_of
from contexture.tasks.examples import to_read
from contexture.tasks.fact_verification.model import load_verifier
from contexture.tasks.fact_verification.splits import SPLITS, labels_of
from contexture.tasks.pairs.evaluation import overlap
from contexture.tasks.pairs.features import Labels, classify, coded, frozen_features
from contexture.tasks.sentences.vectors import VectorStore

NAME = "fact_verification"
#: Protocols of frozen encoders: by vectors of claim and evidence, and by the claim's alone.
FROZEN, CLAIM_ONLY = "frozen", "claim_only"
#: Protocol → split → a label for each claim, as a number.
Found = dict[str, dict[str, Labels]]


def evaluate_claims(
    contestants: Sequence[Contestant],
    file: Path,
    data: str,
    heads: Sequence[str],
    place: Path,
    each: Each = one_by_one,
) -> Results:
    """The accuracy of the labels that all contestants and baselines give the claims of dev and test.

    The table `judgements` has every label that was given; the fact `examples` has some claims of the best fine-tuned
    model to read.

    Args:
        contestants: the seeds of the baselines are theirs, too.
        file: the claims, as `splits.ClaimSet.rows` has them.
        data: what they are called.
        heads: the models that were fine-tuned of a contestant, where there are such, each a protocol.
        place: vectors of the texts are kept here.
        each: how encoders are measured, side by side or one by one.
    """
    claims = pd.read_parquet(file)
    known = measure_encoders(measure_frozen, contestants, each, file, place)
    folders = {
        (one.variant, one.seed, head): one.finetuned / head
        for one in contestants
        for head in heads
        if one.finetuned is not None and (one.finetuned / head).exists()
    }
    tuned = dict(zip(folders, each(measure_finetuned, [(folder, file) for folder in folders.values()]), strict=True))
    runs = [(one.variant, one.seed, known[one.encoders]) for one in contestants]
    runs += [(variant, seed, {head: found}) for (variant, seed, head), found in tuned.items()]
    baselines = measure_baselines(file)
    for seed in seeds_of(contestants):
        runs += [(variant, seed, {FROZEN: found}) for variant, found in baselines.items()]
    tables = [table for variant, seed, found in runs for table in _judgements(claims, variant, seed, found)]
    if not tables:
        return Results()
    judgements = pd.concat(tables, ignore_index=True)
    examples = _examples(judgements, claims, set(heads))
    return Results([*_records(judgements, data)], {"examples": examples}, {"judgements": judgements})


def measure_frozen(encoders: Sequence[str], file: Path, place: Path) -> Found:
    """A logistic regression on [u, v, |u−v|, u∗v] of a claim and the mean of its evidence, and one on u alone.

    Texts are embedded once, as texts of no role. The strength of the regression is that of the best accuracy on dev.
    """
    parts, labels, classes = _parts(file)
    texts = sorted({text for rows in parts.values() for found in _texts(rows) for text in found})
    lookup = VectorStore(place)(encoders, texts, NAME)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    claims, both = {}, {}
    for part, rows in parts.items():
        said = torch.from_numpy(lookup(rows["claim"].tolist())).to(device)
        claims[part], both[part] = said, frozen_features(said, mean_evidence(rows, lookup).to(device))
    try:
        return {
            FROZEN: classify(both, labels, len(classes)),
            CLAIM_ONLY: classify(claims, labels, len(classes)),
        }
    except ValueError as error:
        raise ValueError(f"{'+'.join(encoders)} on {NAME}: {error}") from error


def mean_evidence(rows: pd.DataFrame, lookup: Any) -> torch.Tensor:
    """The mean of the vectors of each claim's sentences of evidence, (N, D)."""
    sizes = rows["evidence"].map(len).to_numpy()
    vectors = lookup([text for texts in rows["evidence"] for text in texts])
    sums = np.add.reduceat(vectors, np.cumsum(sizes) - sizes, axis=0)
    return torch.from_numpy((sums / sizes[:, None]).astype(np.float32))


def measure_finetuned(folder: Path, file: Path) -> dict[str, Labels]:
    """What a fine-tuned model makes of the claims of each split."""
    model = load_verifier(folder)
    parts, _, classes = _parts(file)
    own = np.array([classes.index(label) for label in model.settings.classes])
    return {
        split: own[model.probabilities(model.inputs(rows)).argmax(1).numpy()]
        for split, rows in parts.items()
        if split != "train"
    }


def measure_baselines(file: Path) -> dict[str, dict[str, Labels]]:
    """`majority`: the most frequent label. `word_overlap`: a regression on the shares of words in common.

    Those are the shares that claim and all evidence, read as one text, have in common.
    """
    parts, labels, classes = _parts(file)
    most = int(np.bincount(labels["train"]).argmax())
    shares = {
        part: torch.from_numpy(overlap(rows.assign(first=rows["claim"], second=rows["evidence"].map(" ".join))))
        for part, rows in parts.items()
    }
    return {
        "majority": {part: np.full(len(rows), most) for part, rows in parts.items() if part != "train"},
        "word_overlap": classify(shares, labels, len(classes)),
    }


def _parts(file: Path) -> tuple[dict[str, pd.DataFrame], dict[str, Labels], list[str]]:
    """The claims of each split that there is, their labels as numbers, and the labels."""
    rows = pd.read_parquet(file)
    parts = {split: part for split in SPLITS if len(part := rows[rows["split"] == split])}
    classes = labels_of(rows)
    return parts, {part: coded(found["label"].tolist(), classes) for part, found in parts.items()}, classes


def _texts(rows: pd.DataFrame) -> Iterator[Sequence[str]]:
    yield rows["claim"].tolist()
    yield from rows["evidence"]


def _judgements(claims: pd.DataFrame, variant: str, seed: int, found: Found) -> Iterator[pd.DataFrame]:
    classes = np.array(labels_of(claims))
    for protocol, of_split in found.items():
        for split, labels in of_split.items():
            rows = claims.loc[claims["split"] == split, ["split", "claim_id", "label"]]
            yield rows.assign(variant=variant, seed=seed, protocol=protocol, given=classes[labels])


def _records(judgements: pd.DataFrame, data: str) -> Iterator[dict[str, Any]]:
    for (variant, seed, protocol, split), right in _by_run(judgements):
        yield make_record(variant, int(seed), NAME, data, float(right.mean()), protocol, split)


def _by_run(judgements: pd.DataFrame) -> Iterator[tuple[Any, "pd.Series[bool]"]]:
    """Variant, seed, protocol and split → whether each claim was judged rightly."""
    for run, rows in judgements.groupby(["variant", "seed", "protocol", "split"], sort=False):
        yield run, rows["given"] == rows["label"]


def _examples(judgements: pd.DataFrame, claims: pd.DataFrame, heads: set[str]) -> list[dict[str, Any]]:
    """Of the fine-tuned model that is best on the last split: claims that it judged rightly, and others."""
    last = next(split for split in reversed(SPLITS) if split in set(judgements["split"]))
    tuned = judgements[judgements["protocol"].isin(heads) & (judgements["split"] == last)]
    if tuned.empty:
        return []
    (variant, _, protocol, _), right = max(_by_run(tuned), key=lambda run: run[1].mean())
    chosen = tuned.loc[right.index].reset_index(drop=True)
    texts = claims[claims["split"] == last].reset_index(drop=True)

    def row(place: int) -> dict[str, str]:
        claim = f"{texts['claim'][place]} [{' / '.join(texts['evidence'][place])}]"
        return {"question": claim, "found": chosen["given"][place], "right": chosen["label"][place]}

    return [to_read(variant, protocol, right.tolist(), row)]
