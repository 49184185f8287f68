"""Speed of the corpus pipeline compared with the programs that one would use instead.

    python benchmarks/corpus.py EXPORT.xml.bz2 --peers PEERS/bin/python [--megabytes 70] [--memory]

EXPORT is repeated, with new numbers and titles, to a multistream bz2 of at least so many MB of XML, and read by

- contexture: bz2 → Parquet, with sentences and resolved links, as `kedro run --pipelines corpus` does it;
- wikiextractor --json --processes 2: text only;
- gensim's segment_wiki -w 2 -i: sections and links.

PEERS is an environment with `benchmarks/requirements.txt`. The times are of whole programs, less the start of Spark's
JVM, which is given on its own. `--memory` also reads 1 GB of XML and prints the highest memory of all processes of
the run together (shared pages counted once).
"""

import argparse
import bz2
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from programs import run_measured

CORES = 2
SETTINGS = Path(__file__).parents[1] / "conf" / "base" / "spark.yml"
_PAGES_A_STREAM = 100  # as in the dumps that Wikipedia publishes


def repeated(export: Path, megabytes: float, target: Path) -> float:
    """Write `export` again and again, as pages of their own, to `target`; the MB of XML written."""
    xml = bz2.decompress(export.read_bytes()).decode()
    head, *pages = re.split(r"(?=<page>)", xml.removesuffix("\n").removesuffix("</mediawiki>"))
    size = len(head.encode())
    copies = max(1, -(-int(megabytes * 1e6) // len(xml.encode())))
    with target.open("wb") as file:
        file.write(bz2.compress(head.encode()))
        for copy in range(copies):
            for start in range(0, len(pages), _PAGES_A_STREAM):
                stream = "".join(_renamed(page, copy) for page in pages[start : start + _PAGES_A_STREAM]).encode()
                size += len(stream)
                file.write(bz2.compress(stream))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return size / 1e6


def _renamed(page: str, copy: int) -> str:
    page = re.sub(r"<title>([^<]*)</title>", rf"<title>\1 {copy}</title>", page, count=1)
    return re.sub(r"<id>([0-9]+)</id>", rf"<id>\g<1>{copy:03}</id>", page, count=1)


def ours(export: Path, folder: Path) -> None:
    """Run the corpus stage over one export, in this process; print the seconds after Spark's start."""
    from contexture.corpus import pages as rooms
    from contexture.corpus.config import CorpusConfig
    from contexture.corpus.session import start_spark
    from contexture.corpus.sources import find_sources
    from contexture.pipelines.datasets import SparkTable

    began = time.perf_counter()
    settings = yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))
    spark = start_spark(settings | {"spark.master": f"local[{CORES}]", "spark.driver.memory": "1g"})
    started = time.perf_counter()
    config = CorpusConfig(input=str(export))
    pages, paragraphs = SparkTable(str(folder / "pages")), SparkTable(str(folder / "paragraphs"))
    pages.save(rooms.read_pages(spark, find_sources(config), config))
    parsed = time.perf_counter()
    paragraphs.save(rooms.extract_paragraphs(pages.load(), config))
    ended = time.perf_counter()
    table = paragraphs.load()
    print(f"{started - began} {parsed - started} {ended - parsed} {table.count()}")


def scanner(export: Path) -> float:
    """MB of wikitext a second that one core turns into paragraphs."""
    from contexture.corpus.config import CorpusConfig
    from contexture.corpus.sources import find_sources
    from contexture.text.mediawiki import Site, parse_page
    from contexture.text.wikitext import parse

    find_sources(CorpusConfig(input=str(export)))
    xml = bz2.decompress(export.read_bytes()).decode()
    site = Site("en", "enwiki", {})
    texts = [parse_page(page, site).text for page in re.findall(r"<page>.*?</page>", xml, re.DOTALL)]
    best = min(_seconds(lambda: [parse(text, site) for text in texts]) for _ in range(3))
    return sum(len(text.encode()) for text in texts) / best / 1e6


def _seconds(work: object) -> float:
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - began


def run(command: list[str]) -> tuple[float, str]:
    """Seconds that a program takes, and what it printed."""
    began = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - began, done.stdout


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path)
    parser.add_argument("--peers", help="the Python of the environment that the peers are installed in")
    parser.add_argument("--megabytes", type=float, default=70)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--ours", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ours:
        ours(args.export, args.ours)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"scanner alone, one core: {scanner(args.export):.1f} MB of wikitext/s\n")
        export = folder / "repeated-pages-articles.xml.bz2"
        size = repeated(args.export, args.megabytes, export)
        print(
            f"{size:.0f} MB of XML as multistream bz2, {CORES} cores\n\n| program | s | MB/s |\n| --- | ---: | ---: |"
        )
        once = _table_row("contexture", export, folder, size)
        if args.peers:
            extractor = [args.peers, "-m", "wikiextractor.WikiExtractor", "--json", "--processes", str(CORES), "-q"]
            took, _ = run([*extractor, "-o", str(folder / "wikiextractor"), str(export)])
            print(f"| wikiextractor --json | {took:.1f} | {size / took:.1f} |", flush=True)
            segment = [args.peers, "-m", "gensim.scripts.segment_wiki", "-w", str(CORES), "-i"]
            took, _ = run([*segment, "-f", str(export), "-o", str(folder / "gensim.json.gz")])
            print(f"| gensim segment_wiki -i | {took:.1f} | {size / took:.1f} |", flush=True)
        size = repeated(args.export, 2 * args.megabytes, export)
        twice = _table_row("contexture, twice the input", export, folder, size)
        print(f"\ntwice the input takes {twice / once:.2f} times as long")
        if args.memory:
            size = repeated(args.export, 1000, export)
            out, peak = run_measured(_ours(export, folder))
            took = sum(float(part) for part in out.split()[1:3])
            print(f"{size:.0f} MB of XML: {took:.0f} s, {size / took:.1f} MB/s, at most {peak / 1e9:.2f} GB of memory")


def _ours(export: Path, folder: Path) -> list[str]:
    return [sys.executable, __file__, str(export), "--ours", str(folder)]


def _table_row(name: str, export: Path, folder: Path, size: float) -> float:
    start, parse, select, rows = (float(part) for part in run(_ours(export, folder))[1].split())
    took = parse + select
    print(
        f"| {name} (pages {parse:.1f} s, links and paragraphs {select:.1f} s; JVM {start:.1f} s; {rows:.0f} rows) "
        f"| {took:.1f} | {size / took:.1f} |",
        flush=True,
    )
    return took


if __name__ == "__main__":
    main()
