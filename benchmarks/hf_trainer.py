"""Masked-language-model pre-training compared with Hugging Face's Trainer: speed, and loss after the same tokens.

    pip install accelerate  # the Trainer needs it
    PYTHONPATH=src:. OMP_NUM_THREADS=1 python benchmarks/hf_trainer.py [--text FILE …] [--sizes 4x256 6x384]
        [--vocabulary 4000] [--tokens 128] [--batch 64] [--steps 40] [--rounds 5] [--dropout 0.1] [--precision fp32]
        [--parts 8]

Text files (.txt, .txt.gz) have a paragraph on each line; headings start with `#`. Without --text, paragraphs are made
up: 60 words in the middle, half of them between 35 and 100. A passage is a paragraph as subwords, cut to --tokens.

contexture       `training.pretrain`, the objective `mlm` on the stream `sequences`
Trainer          `Trainer`, `DataCollatorForLanguageModeling` and `AutoModelForMaskedLM`, in the same order
Trainer grouped  the same in the order of `train_sampling_strategy="group_by_length"` for a large corpus, which sorts
                 50 batches together by length; with few passages, the Trainer itself would sort fewer

All start from the same weights and read each passage once, with the same batch size, dropout, precision, threads,
AdamW, schedule and clipping. They take turns, each run in a process of its own. The table has medians of the rounds:

tokens/s   real tokens, without padding, by wall time and by processor time, from the call that trains to its end: with
           batches, logging and the first step, without starting Python, and loading and saving the model
padding    its share of the tokens that the layers compute
held-out   loss of masked tokens in other passages, with the same masks for all, before and after

--parts N shows where the time of N steps goes, by the profiler: milliseconds of a step.
"""

import argparse
import concurrent.futures
import contextlib
import gzip
import importlib.util
import io
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
import transformers
from pydantic import TypeAdapter
from torch.profiler import profile
from transformers import AutoModelForMaskedLM, AutoTokenizer

from contexture.encoders.base import build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.files import save_encoder
from contexture.objectives.masking import IGNORED_TARGET, mask_tokens
from contexture.reporting.provenance import describe_processor
from contexture.seeding import mix
from contexture.streams.rows import ShuffledRows
from contexture.systems.config import SystemConfig
from contexture.training import pretrain
from contexture.training.prepare import RunFiles, prepare
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

#: Layers, width and heads; 6x384 is MiniLM's.
SIZES = {"4x256": (4, 256, 4), "6x384": (6, 384, 12), "tiny": (1, 32, 2)}
SIDES = ("contexture", "Trainer", "Trainer grouped")
HELD_OUT = 256
LEARNING_RATE, WARMUP_SHARE, WEIGHT_DECAY, CLIP_NORM, LOG_EVERY = 5e-4, 0.1, 0.01, 1.0, 10
#: Parts of a step by the names of operators that torch profiles; logits are products with the vocabulary's size.
PARTS = {
    "softmax and loss of logits": ("log_softmax", "nll_loss"),
    "attention": ("bmm", "softmax", "scaled_dot", "flash", "where", "logical"),
    "dropout": ("dropout", "bernoulli", "geometric", "index_fill", "cumsum"),
    "GELU": ("gelu",),
    "layer norms": ("layer_norm",),
    "matrix products of layers": ("addmm", "aten::mm", "aten::linear"),
    "embeddings": ("embedding",),
    "AdamW": ("adam",),
    "clipping": ("norm",),
}


class Run(NamedTuple):
    """Measurements of one training."""

    tokens: int
    computed: int
    seconds: float
    processor_seconds: float
    loss: float


class Job(NamedTuple):
    """What a process trains."""

    side: str
    folder: Path
    args: argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs="*", type=Path, default=[])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["4x256", "6x384"])
    parser.add_argument("--vocabulary", type=int, default=4000)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--parts", type=int, metavar="N")
    args = parser.parse_args(arguments)
    if args.batch % 2:
        parser.error("--batch: must be even, because our stream reads pairs")
    if importlib.util.find_spec("accelerate") is None:
        raise SystemExit("transformers.Trainer needs accelerate, which is not installed: pip install accelerate")
    print(
        f"{describe_processor()['processor']}, {args.threads} threads, {args.precision}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}; {args.steps} steps of {args.batch} passages, "
        f"{args.vocabulary} subwords, dropout {args.dropout}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        for size in args.sizes:
            folder = Path(temporary) / size
            write_inputs(folder, size, args)
            if args.parts:
                compare_parts(folder, size, args)
            else:
                compare(folder, size, args)


def compare(folder: Path, size: str, args: argparse.Namespace) -> None:
    """Print the table of a size."""
    start = held_out_loss(folder / "start", folder, args)
    runs: dict[str, list[Run]] = {side: [] for side in SIDES}
    for _ in range(args.rounds):
        for side in SIDES:
            runs[side].append(in_new_process(train, Job(side, folder, args)))
    print(
        f"\n| {size} | tokens/s | contexture is faster by | tokens per processor second | faster by | padding "
        f"| held-out loss, from {start:.3f} |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    wall, cpu = (
        {side: statistics.median(run.tokens / getattr(run, clock) for run in runs[side]) for side in SIDES}
        for clock in ("seconds", "processor_seconds")
    )
    for side in SIDES:
        padding = 1 - runs[side][0].tokens / runs[side][0].computed
        print(
            f"| {side} | {wall[side]:,.0f} | {wall[SIDES[0]] / wall[side]:.2f} | {cpu[side]:,.0f} "
            f"| {cpu[SIDES[0]] / cpu[side]:.2f} | {padding:.0%} | {runs[side][0].loss:.3f} |",
            flush=True,
        )


def compare_parts(folder: Path, size: str, args: argparse.Namespace) -> None:
    """Print the milliseconds of each part of a step."""
    shorter = argparse.Namespace(**{**vars(args), "steps": args.parts})
    parts = {side: in_new_process(profile_parts, Job(side, folder, shorter)) for side in SIDES}
    print(f"\n| {size}, ms of a step | " + " | ".join(SIDES) + " |\n|---|" + "---:|" * len(SIDES))
    for part in [*PARTS, "matrix products of logits", "other", "all, by wall time"]:
        print(f"| {part} | " + " | ".join(f"{parts[side].get(part, 0.0):,.1f}" for side in SIDES) + " |", flush=True)


def in_new_process(function: Callable[[Job], Any], job: Job) -> Any:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, job).result()


def write_inputs(folder: Path, size: str, args: argparse.Namespace) -> None:
    """Write a tokenizer, the examples, held-out passages and the weights that all sides start from."""
    folder.mkdir()
    count = args.steps * args.batch
    texts = read_paragraphs(args.text, count + HELD_OUT) if args.text else make_paragraphs(count + HELD_OUT, args)
    vocabulary = folder / "vocabulary"
    train_tokenizer(texts, VocabularyConfig(size=args.vocabulary), vocabulary)
    encodings = load_tokenizer(vocabulary)[0].encode_batch_fast(texts, add_special_tokens=False)
    passages = [encoding.ids[: args.tokens - 2] for encoding in encodings]
    # The stream reads both sequences of a pair as separate texts.
    pairs = {"first": passages[: count // 2], "second": passages[count // 2 : count]}
    for name, columns in (("sequence_pairs", pairs), ("held_out", {"second": passages[count:]})):
        (folder / name).mkdir()
        table = pa.table({column: pa.array(part, pa.list_(pa.int32())) for column, part in columns.items()})
        pq.write_table(table, folder / name / "0.parquet", row_group_size=8192)
    torch.manual_seed(0)
    config = TypeAdapter(TransformerConfig).validate_python(encoder_settings(size, args))
    lengths = Lengths(query=args.tokens, document=args.tokens)
    save_encoder(build_encoder(config, lengths, Vocabulary.load(vocabulary), head=True), folder / "start")


def read_paragraphs(files: Sequence[Path], count: int) -> list[str]:
    """Return `count` paragraphs of text files, in an order drawn from a seed."""
    lines = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as text:
            lines += [line.strip() for line in text if line.strip() and not line.startswith("#")]
    if len(lines) < count:
        raise SystemExit(f"--text: {len(lines)} paragraphs are fewer than {count}: lower --steps or add files")
    return [lines[row] for row in np.random.default_rng(0).permutation(len(lines))[:count]]


def make_paragraphs(count: int, args: argparse.Namespace) -> list[str]:
    from made_up import Texts

    texts = Texts(args.vocabulary)
    return texts.draw(texts.rng.lognormal(np.log(60), 0.8, count).astype(np.int64).clip(3, 400))


def encoder_settings(size: str, args: argparse.Namespace) -> dict[str, Any]:
    layers, width, heads = SIZES[size]
    sizes = {"layers": layers, "hidden_size": width, "heads": heads, "intermediate_size": 4 * width}
    return {"kind": "transformer", **sizes, "dropout": args.dropout, "initialization": "bert"}


def train(job: Job) -> Run:
    """Train one side and measure it."""
    torch.set_num_threads(job.args.threads)
    with tempfile.TemporaryDirectory() as temporary, contextlib.redirect_stdout(io.StringIO()):
        output = Path(temporary)
        computed = count_computed_tokens()
        side = train_contexture if job.side == "contexture" else train_hugging_face
        seconds, processor_seconds = side(job, output)
        total = sum(computed)
        loss = held_out_loss(output, job.folder, job.args)
    columns = pq.read_table(job.folder / "sequence_pairs").columns
    tokens = sum(pc.sum(pc.list_value_length(column)).as_py() + 2 * len(column) for column in columns)
    return Run(tokens, total, seconds, processor_seconds, loss)


def train_contexture(job: Job, output: Path) -> tuple[float, float]:
    """Train, save the model in `output`, and return seconds and processor seconds."""
    args = job.args
    values = {
        "seeds": 1,
        "lengths": {"query": args.tokens, "document": args.tokens},
        "encoders": {"transformer": encoder_settings(job.folder.name, args)},
        "streams": {"sequences": {}},
        "pretrain": {
            "runs": {"mlm": {"schedule": [{"steps": args.steps, "weights": {"mlm": 1}}]}},
            "batch_size": args.batch // 2,
            "optimizer": {
                "learning_rate": LEARNING_RATE,
                "warmup_steps": round(WARMUP_SHARE * args.steps),
                "weight_decay": WEIGHT_DECAY,
                "clip_norm": CLIP_NORM,
            },
            "precision": args.precision,
            "log_every": LOG_EVERY,
            "checkpoint_every": args.steps + 1,
        },
    }
    config: SystemConfig = TypeAdapter(SystemConfig).validate_python(values)
    examples = {"sequence_pairs": job.folder / "sequence_pairs"}
    files = RunFiles(examples, job.folder / "vocabulary", job.folder / "start")
    prepared = prepare(config.pretraining("mlm"), 0, files)
    output.mkdir(exist_ok=True)
    seconds = measure_seconds(lambda: pretrain.train(config.pretraining("mlm"), 0, prepared, output, 0))
    save_encoder(prepared.encoder, output)
    return seconds


def train_hugging_face(job: Job, output: Path) -> tuple[float, float]:
    """Train, save the model in `output`, and return seconds and processor seconds."""
    import datasets
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments
    from transformers.trainer_pt_utils import get_length_grouped_indices

    args = job.args
    tokenizer = AutoTokenizer.from_pretrained(job.folder / "vocabulary")
    # The order of the stream.
    half = args.batch // 2
    rows = ShuffledRows(job.folder / "sequence_pairs", ["first", "second"], mix(0, 2)).take(0, args.steps * half)
    columns = [rows[name].to_pylist() for name in ("first", "second")]
    ordered = [ids for step in range(args.steps) for column in columns for ids in column[step * half :][:half]]
    passages = [[tokenizer.cls_token_id, *ids, tokenizer.sep_token_id] for ids in ordered]
    if job.side == "Trainer grouped":
        torch.manual_seed(0)
        lengths = [len(ids) for ids in passages]
        order = get_length_grouped_indices(lengths, args.batch, mega_batch_mult=50)  # type: ignore[no-untyped-call]
        passages = [passages[row] for row in order]
    # With this column the collator need not look for special tokens.
    special = [[1, *[0] * (len(ids) - 2), 1] for ids in passages]
    dataset = datasets.Dataset.from_dict({"input_ids": passages, "special_tokens_mask": special})
    trainer = Trainer(
        AutoModelForMaskedLM.from_pretrained(job.folder / "start"),
        TrainingArguments(
            str(output),
            per_device_train_batch_size=args.batch,
            max_steps=args.steps,
            learning_rate=LEARNING_RATE,
            warmup_steps=round(WARMUP_SHARE * args.steps),
            lr_scheduler_type="linear",
            weight_decay=WEIGHT_DECAY,
            max_grad_norm=CLIP_NORM,
            bf16=args.precision == "bf16",
            logging_steps=LOG_EVERY,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            dataloader_pin_memory=False,
            remove_unused_columns=False,
            train_sampling_strategy="sequential",
        ),
        data_collator=DataCollatorForLanguageModeling(tokenizer),
        train_dataset=dataset,
    )
    seconds = measure_seconds(trainer.train)
    trainer.save_model(str(output))
    return seconds


def measure_seconds(function: Callable[[], Any]) -> tuple[float, float]:
    """Call a function and return seconds and processor seconds."""
    began, began_processor = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - began, time.process_time() - began_processor


def count_computed_tokens() -> list[int]:
    """Return a list to which each pass of a BERT through its embeddings adds its tokens, padding included."""
    from transformers.models.bert.modeling_bert import BertEmbeddings

    computed: list[int] = []

    def count(module: torch.nn.Module, _: Any, states: Any) -> None:
        if isinstance(module, BertEmbeddings) and module.training:
            computed.append(states.shape[0] * states.shape[1])

    torch.nn.modules.module.register_module_forward_hook(count)
    return computed


@torch.inference_mode()
def held_out_loss(model_dir: Path, folder: Path, args: argparse.Namespace) -> float:
    """Return the mean loss of masked tokens of the held-out passages."""
    torch.set_num_threads(args.threads)
    model = AutoModelForMaskedLM.from_pretrained(model_dir).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "vocabulary")
    special = torch.zeros(len(tokenizer), dtype=torch.bool)
    special[tokenizer.all_special_ids] = True
    generator = torch.Generator().manual_seed(0)
    total = count = 0.0
    for ids in pq.read_table(folder / "held_out")["second"].to_pylist():
        row = torch.tensor([[tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]])
        masked, targets = mask_tokens(row, special, tokenizer.mask_token_id, 0.15, generator)
        logits = model(input_ids=masked).logits
        total += float(torch.nn.functional.cross_entropy(logits[0], targets[0], reduction="sum"))
        count += int((targets != IGNORED_TARGET).sum())
    return total / count


def profile_parts(job: Job) -> dict[str, float]:
    """Return the milliseconds of each part of a step."""
    torch.set_num_threads(job.args.threads)
    side = train_contexture if job.side == "contexture" else train_hugging_face
    vocabulary = len(AutoTokenizer.from_pretrained(job.folder / "vocabulary"))
    with (
        tempfile.TemporaryDirectory() as temporary,
        contextlib.redirect_stdout(io.StringIO()),
        profile(record_shapes=True) as profiled,
    ):
        seconds, _ = side(job, Path(temporary))
    parts: dict[str, float] = {"all, by wall time": 1e3 * seconds / job.args.steps}
    for event in profiled.key_averages(group_by_input_shape=True):
        if not event.key.startswith("USDT"):
            part = next((part for part, names in PARTS.items() if any(name in event.key for name in names)), "other")
            if part == "matrix products of layers" and vocabulary in np.ravel(flatten(event.input_shapes)):
                part = "matrix products of logits"
            parts[part] = parts.get(part, 0.0) + event.self_cpu_time_total / 1e3 / job.args.steps
    return parts


def flatten(shapes: Any) -> list[int]:
    return [size for shape in shapes for size in flatten(shape)] if isinstance(shapes, list) else [shapes]


if __name__ == "__main__":
    main()
