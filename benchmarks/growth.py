"""How do time and memory of each stage grow with the text?

    python benchmarks/growth.py OUTPUT [--pages 4000] [--text FOLDER] [--factors 1 2 4 8] [--tokens-per-byte 0.1]
        [--target-gb 100]

The text is the made-up world of `contexture.demo` as a compressed MediaWiki export of so many articles (5.6 kB of XML
each), or the files of a folder: at the largest factor all of them, at half of it every second one, and so on. Each
size has a project folder of its own below OUTPUT. What was measured there with the same options is reused.

corpus      export → pages → paragraphs, with links, cleaning and counts
vocabulary  tokenizer, token ids, and word vectors from co-occurrences
examples    passages, and pairs of query and passage
training    the static encoder of `contexture adapt`; its budget is --tokens-per-byte tokens for each byte of text
embedding   the vectors of all passages
index       BM25, and inverted lists (ivf) over the vectors

Each stage runs in a new process, by `kedro run --tags` or, for the last two, by this script. Seconds include the start
of Spark, but not of Python. Memory is the largest of all processes of the stage together.

Prints two Markdown tables and writes them to OUTPUT/growth.md, the numbers to OUTPUT/growth.json, and a picture to
OUTPUT/growth.png. Exponents of growth: the slope of log seconds over log bytes by least squares, with nothing
subtracted, and that of the last two sizes. Constant costs make exponents of small texts too small. Goal: at most 1.05,
and equal memory. The hours for --target-gb extrapolate from the largest size with the exponent of all sizes, or 1 if it
is smaller. Measure on a machine without other work. Linux only.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import starmap
from pathlib import Path

import numpy as np
from programs import copy_project, format_table, measure_adapt, run_measured

from contexture.demo.config import DemoConfig
from contexture.demo.write import EXPORT_FILE, write_demo_world
from contexture.paths import DataLayout, encoder_dir, pretrained_dir

#: Stage → its tag.
TAGS = {"corpus": "corpus", "vocabulary": "vocabulary", "examples": "examples", "training": "pretrain"}
GOAL = 1.05
PASSAGES_DIR = Path("data/05_model_input/adapt/passages")
ENCODER_DIR = encoder_dir(pretrained_dir(DataLayout().models_dir / "adapt"), "static", 0)
PASSAGES_FILE, VECTORS_DIR, BM25_DIR = "passages.parquet", "vectors", "bm25"


@dataclass(frozen=True)
class Measurement:
    """Time and memory of the stages on a text of `text_bytes`, decompressed."""

    text_bytes: int
    passages: int
    seconds: dict[str, float]
    memory: dict[str, int]


def fit_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of log value over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def extrapolate(sizes: Sequence[float], seconds: Sequence[float], target: float) -> float:
    """Return the seconds at the size `target`: from the last size, with the fitted exponent, or 1 if it is smaller."""
    return seconds[-1] * (target / sizes[-1]) ** max(1.0, fit_exponent(sizes, seconds))


def write_text(project: Path, text: Path | None, factor: int, largest: int, pages: int) -> Path:
    """Write the text of a size to a project folder and return the path for `corpus.input`."""
    folder = project / "text"
    if text is None:
        write_demo_world(DemoConfig(pages=pages * factor, novels=1), folder)
        return folder / EXPORT_FILE
    for file in select_files(sorted(file for file in text.rglob("*") if file.is_file()), factor, largest):
        link = folder / file.relative_to(text)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file.resolve())
    return folder


def select_files(files: Sequence[Path], factor: int, largest: int) -> list[Path]:
    """Return the share factor / largest of the files, evenly spread; larger shares contain smaller ones.

    Raises SystemExit if there are fewer files than `largest`.
    """
    if len(files) < largest:
        raise SystemExit(f"--text: {len(files)} files are too few for --factors up to {largest}: split them")
    return [file for number, file in enumerate(files) if number * factor % largest < factor]


def count_text_bytes(text: Path) -> int:
    """Return the size of a text, decompressed."""
    from contexture.corpus.sources.files import find_files, read_chunks

    return sum(len(chunk) for file in find_files(str(text)) for chunk in read_chunks(file.path))


def measure(project: Path, text: Path, tokens_per_byte: float) -> Measurement:
    """Run all stages on a text in a new project folder."""
    text_bytes = count_text_bytes(text)
    copy_project(project)
    run = "adapt.pretrain.runs.static"
    budget = f"{{unit: tokens, amount: {max(1, round(tokens_per_byte * text_bytes))}}}"
    params = {
        "corpus.input": str(text.absolute()),
        f"{run}.schedule": f"[{{budget: {budget}, weights: {{in_batch_negatives: 1}}}}]",
        f"{run}_none": "null",
    }
    measure_adapt(project, params, "--tags", "sources,tasks")
    seconds, memory = {}, {}
    for stage, tag in TAGS.items():
        labels, memory[stage] = measure_adapt(project, params, "--tags", tag)
        seconds[stage] = next(value for label, value in labels.items() if label.endswith(f" · {tag}"))
        report_progress(project, stage, seconds[stage])
    for stage in PARTS:
        output, memory[stage] = run_measured([sys.executable, __file__, str(project), "--part", stage])
        seconds[stage], passages = json.loads(output.splitlines()[-1])
        report_progress(project, stage, seconds[stage])
    return Measurement(text_bytes, passages, seconds, memory)


def report_progress(project: Path, stage: str, seconds: float) -> None:
    """Print the time of a stage to standard error."""
    print(f"{project.name}: {stage} {seconds:.1f} s", file=sys.stderr, flush=True)


def embed(project: Path) -> None:
    """Write the vectors of the passages."""
    from contexture.retrieval.passage_search import embed_passages, merge_passages

    passages = merge_passages(sorted((project / PASSAGES_DIR).glob("*.parquet")), project / PASSAGES_FILE)
    embed_passages(passages, project / ENCODER_DIR, project / VECTORS_DIR)


def index(project: Path) -> None:
    """Write BM25 over the passages, and inverted lists over their vectors."""
    from contexture.retrieval.candidates import build_bm25
    from contexture.retrieval.config import Bm25Config, IndexConfig
    from contexture.retrieval.parquet_rows import ParquetRows
    from contexture.retrieval.passages import TEXT_COLUMNS, searched_text
    from contexture.retrieval.search_index import open_index
    from contexture.retrieval.vectors import open_vectors

    texts = starmap(searched_text, ParquetRows(project / PASSAGES_FILE).tuples(TEXT_COLUMNS))
    build_bm25(map(" ".join, texts), project / BM25_DIR, Bm25Config())
    open_index(open_vectors(project / VECTORS_DIR, read_all=False), IndexConfig(kind="ivf"))


PARTS = {"embedding": embed, "index": index}


def run_part(name: str, project: Path) -> None:
    """Run a stage in this process; print its seconds and the number of passages as JSON."""
    from contexture.retrieval.parquet_rows import ParquetRows

    start = time.perf_counter()
    PARTS[name](project)
    print(json.dumps([time.perf_counter() - start, len(ParquetRows(project / PASSAGES_FILE))]))


def format_results(results: Sequence[Measurement], target_gb: float) -> str:
    """Return a table of seconds and a table of memory, with a row for each stage."""
    sizes = [result.text_bytes for result in results]
    heads = [f"{result.text_bytes / 1e6:,.1f} MB, {result.passages:,} passages" for result in results]
    times, memories, above = [], [], []
    for stage in results[0].seconds:
        seconds = [result.seconds[stage] for result in results]
        memory = [result.memory[stage] / 1e9 for result in results]
        exponents = [fit_exponent(sizes, seconds), fit_exponent(sizes[-2:], seconds[-2:])]
        hours = extrapolate(sizes, seconds, target_gb * 1e9) / 3600
        above += [stage] if max(exponents) > GOAL else []
        times.append([stage, *map("{:.1f}".format, seconds), *map("{:.2f}".format, exponents)])
        times[-1].append(f"{hours:,.1f}")
        memories.append([stage, *map("{:.2f}".format, memory), f"{memory[-1] / memory[0]:.2f}"])
    time_heads = ["seconds", *heads, "exponent", "exponent of the last two", f"hours for {target_gb:g} GB"]
    memory_heads = ["memory, GB", *heads, "last / first"]
    goal = f"Exponents above {GOAL}: {', '.join(above) or 'none'}."
    return f"{format_table(time_heads, times)}\n\n{goal}\n\n{format_table(memory_heads, memories)}\n"


def draw(results: Sequence[Measurement], file: Path) -> None:
    """Draw seconds over megabytes on logarithmic axes, with a dashed line of slope 1 for each stage."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5), layout="constrained")
    sizes = np.array([result.text_bytes / 1e6 for result in results])
    for stage in results[0].seconds:
        seconds = [result.seconds[stage] for result in results]
        (line,) = axes.loglog(sizes, seconds, "o-", label=f"{stage}: {fit_exponent(sizes, seconds):.2f}")
        axes.loglog(sizes, seconds[-1] * sizes / sizes[-1], "--", color=line.get_color(), alpha=0.4)
    axes.set(xlabel="text, MB", ylabel="seconds", title="Growth of time (dashed: exponent 1, from the last size)")
    axes.set_xticks(sizes, [f"{size:,.1f}" for size in sizes])
    axes.minorticks_off()
    figure.legend(title="stage: exponent", loc="outside right upper")
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


def load_or_measure(project: Path, args: argparse.Namespace, factor: int) -> Measurement:
    """Return what was measured in a project folder with the same options, or measure it."""
    options = {"pages": args.pages, "text": str(args.text), "factors": max(args.factors)}
    options |= {"tokens_per_byte": args.tokens_per_byte}
    file = project / "measurement.json"
    if file.exists():
        content: Mapping[str, Mapping[str, object]] = json.loads(file.read_text(encoding="utf-8"))
        if content["options"] != options:
            raise SystemExit(f"{project} was measured with {content['options']}: delete it, or use another OUTPUT")
        return Measurement(**content["measurement"])  # type: ignore[arg-type]
    if project.exists():
        raise SystemExit(f"{project} was not finished: delete it")
    project.mkdir(parents=True)
    text = write_text(project, args.text, factor, max(args.factors), args.pages)
    result = measure(project, text, args.tokens_per_byte)
    file.write_text(json.dumps({"options": options, "measurement": asdict(result)}, indent=1), encoding="utf-8")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--pages", type=int, default=4000, help="articles at factor 1 (%(default)d)")
    parser.add_argument("--text", type=Path, help="folder of a text, instead of the made-up world")
    parser.add_argument("--factors", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--tokens-per-byte", type=float, default=0.1, help="tokens of training (%(default)g)")
    parser.add_argument("--target-gb", type=float, default=100, help="size to extrapolate to (%(default)g)")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.part:
        run_part(args.part, args.output_dir)
        return
    args.factors = sorted(set(args.factors))
    if len(args.factors) < 2 or args.factors[0] < 1:
        parser.error("--factors: give at least two different positive numbers")
    if args.text is not None and not args.text.is_dir():
        parser.error(f"--text: {args.text} is not a folder")
    output_dir = args.output_dir.absolute()
    results = [load_or_measure(output_dir / f"factor-{factor}", args, factor) for factor in args.factors]
    tables = format_results(results, args.target_gb)
    print(tables, end="")
    (output_dir / "growth.md").write_text(tables, encoding="utf-8")
    (output_dir / "growth.json").write_text(json.dumps(list(map(asdict, results)), indent=1), encoding="utf-8")
    draw(results, output_dir / "growth.png")


if __name__ == "__main__":
    main()
