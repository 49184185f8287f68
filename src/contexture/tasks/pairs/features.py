"""Features of sentence pairs, and a logistic regression on frozen features."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.cross import CrossLayers
from contexture.metrics.logistic import Design, fit_path, log_probabilities
from contexture.tasks.pairs.config import FeatureKind
from contexture.tasks.sentences.probe_protocols import pair_features

Labels = npt.NDArray[np.int64]
#: Candidates for C, ascending; a larger C means less regularisation.
STRENGTHS = tuple(4.0**power for power in range(-2, 5))
#: Pairs per pass through cross-sequence layers.
PAIRS_AT_ONCE = 4096


def select_cross_layers(encoder: Encoder, features: FeatureKind) -> CrossLayers | None:
    """Return the encoder's cross-sequence layers if their output is classified, or None if its vectors are.

    Encoders with two networks have no layers that read the vectors of both.
    """
    return encoder.cross if features == "cross" and encoder.config.shared else None


def compute_features(first: Tensor, second: Tensor, cross: CrossLayers | None = None) -> Tensor:
    """Return the features [u, v, |u−v|, u∗v] (B, 4D) of pairs with the vectors u, v (B, D).

    With cross-sequence layers, the features are their output [C_0; C_1] (B, 2D; Cross-Thought, equation 11).
    """
    if cross is None:
        return pair_features(first, second, with_vectors=True)
    vectors = torch.stack([first, second], dim=1)
    outputs: Tensor = cross(vectors, torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device))
    return outputs.flatten(1)


@torch.inference_mode()
def frozen_features(first: Tensor, second: Tensor, cross: CrossLayers | None = None) -> Tensor:
    """Return `compute_features` of many pairs, computed in chunks of `PAIRS_AT_ONCE` and without dropout."""
    if cross is None:
        return compute_features(first, second)
    cross.eval()
    parts = zip(torch.split(first, PAIRS_AT_ONCE), torch.split(second, PAIRS_AT_ONCE), strict=True)
    return torch.cat([compute_features(*chunk, cross).float() for chunk in parts])


def classify(features: Mapping[str, Tensor], labels: Mapping[str, Labels], classes: int) -> dict[str, Labels]:
    """Train a logistic regression on the features (N, D) of `train`; return predicted labels of the other parts.

    The strength with the best accuracy on `dev` is chosen; ties: the smallest. Raises ValueError for features that are
    not finite.
    """
    train = features["train"]
    design = Design.from_features(train)
    targets = torch.nn.functional.one_hot(torch.from_numpy(labels["train"]), classes).to(train)
    weights = torch.ones(1, len(train), device=train.device)
    inputs = {part: design.project(rows) for part, rows in features.items() if part != "train"}
    best, best_labels = -1.0, dict[str, Labels]()
    for parameters in fit_path(design, targets, weights, STRENGTHS):
        log_probs = {part: log_probabilities(rows, parameters)[0] for part, rows in inputs.items()}
        predicted = {part: scores.argmax(1).cpu().numpy() for part, scores in log_probs.items()}
        accuracy = float((predicted["dev"] == labels["dev"]).mean())
        if accuracy > best:
            best, best_labels = accuracy, predicted
    return best_labels


def encode_labels(labels: Sequence[str], classes: Sequence[str]) -> Labels:
    """Return the position of each label in `classes`."""
    numbers = {name: number for number, name in enumerate(classes)}
    return np.array([numbers[label] for label in labels], np.int64)
