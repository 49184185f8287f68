"""`contexture search` and `contexture embed`: output and errors."""

import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from contexture.commands.main import main
from contexture.commands.search import MAX_TEXT_LINES, _format_hit
from contexture.encoders import lines as encoded_lines
from contexture.encoders.config import StaticConfig
from contexture.encoders.files import save_encoder
from contexture.encoders.models import WordAverage, load_model
from contexture.retrieval.passage_search import Hit, build_passage_index
from tests.encoders.test_models import tiny_bert
from tests.encoders.toys import build, subwords
from tests.tasks.retrieval.test_passage_search import PASSAGES, toy_index, toy_passages
from tests.tasks.sentences.sentence_toys import word_average


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_index(tmp_path_factory.mktemp("index"))


def search_output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["search", *arguments])
    return capsys.readouterr().out


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    (tmp_path / "docs/notes").mkdir(parents=True)
    (tmp_path / "data/06_models").mkdir(parents=True)
    return tmp_path / "docs/notes"


@pytest.mark.parametrize("kind", [(), ("--approximate", "ivf"), ("--approximate", "hnsw")])
def test_the_right_passage_is_printed_first(
    kind: tuple[str, ...], index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--index", str(index), "-k", "2", "--by", "vectors", *kind]
    first, text, second, _ = search_output(capsys, "what cross the strait?", *options).splitlines()
    assert first.startswith("1. Ferries  (") and first.endswith(", 1#0)") and second.startswith("2. ")
    assert text == f"   {PASSAGES['Ferries']}"
    scores = [float(line.split("(")[1].split(",")[0]) for line in (first, second)]
    assert scores[0] > scores[1]


def test_the_index_is_searched_in_parent_folders(
    index: Path, nested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(nested)
    with pytest.raises(SystemExit, match=r"there is no search index below data in .*notes or above: make .* --index"):
        search_output(capsys, "gulls")
    (tmp_path / "data/06_models/search").symlink_to(index)
    for folder in (tmp_path, nested):
        monkeypatch.chdir(folder)
        assert search_output(capsys, "gulls").startswith("1. Gulls")


def test_search_errors_are_one_line(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    for arguments, message in (
        ([" ", "--index", "nowhere"], "the question is empty"),  # checked before an index is opened
        (["caf\udce9", "--index", "nowhere"], "the question is not UTF-8 at character 4"),  # byte E9
        (["gulls", "--index", f"{index}/towers"], "is not a search index"),
        ([], 'no question: contexture search "your question", '),
    ):
        with pytest.raises(SystemExit, match=f"^contexture search: .*{message}"):
            main(["search", *arguments])


def test_questions_that_are_not_utf8_name_their_line(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for locale_errors in ("strict", "surrogateescape"):
        stdin = io.TextIOWrapper(io.BytesIO(b"gulls\ncaf\xe9\n"), "utf-8", locale_errors)
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(SystemExit, match=r"^contexture search: standard input: line 2 is not UTF-8"):
            main(["search", "--index", str(index), "--by", "bm25"])


def test_the_version_and_the_module_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    message = f"contexture {importlib.metadata.version('contexture')}\n"
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == message
    done = subprocess.run([sys.executable, "-m", "contexture", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == message


def test_search_by_both_or_one_ranking(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--index", str(index), "-k", "2"]
    out = search_output(capsys, "gulls wait", *args).splitlines()
    assert out[0] == "1. Gulls  (vectors 1, BM25 1, 2#0)"
    assert out[2].endswith("(vectors 2, BM25 –, 0#0)")
    assert search_output(capsys, "gulls wait", *args, "-k", "10000000000000").splitlines()[: len(out)] == out
    assert search_output(capsys, "oil lamps", *args, "--by", "bm25").startswith("1. Lamps  (")
    assert search_output(capsys, "xylophones", *args, "--by", "bm25") == "nothing found\n"


@pytest.mark.parametrize(
    "text", ["鲸鱼在远方的岛屿歌唱。" * 60, "Wale 鲸鱼在远方的岛屿歌唱" * 60, "whales sing \n" * 60]
)
def test_long_passages_are_cut(text: str) -> None:
    head, *lines = _format_hit(1, Hit(0.5, "0#0", "Whales", "", text, None, 1), "bm25").splitlines()
    output = "\n".join(line.strip() for line in lines)
    assert head.startswith("1. Whales") and len(lines) == MAX_TEXT_LINES and max(map(len, lines)) <= 100
    assert output.endswith("[...]") and len(output) > 350
    assert "".join(text.split()).startswith("".join(output.removesuffix("[...]").split()))


def test_questions_are_piped_or_typed(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(*options: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"gulls wait\n\n  oil lamps \n")))
        return search_output(capsys, *options, "--index", str(index), "-k", "1")

    out = ask().splitlines()
    assert [out[1], out[2][:8], out[5], out[6][:8]] == ["gulls wait", "1. Gulls", "oil lamps", "1. Lamps"]
    first, second = map(json.loads, ask("--json").splitlines())
    assert first | {"hits": 1} == {"question": "gulls wait", "by": "hybrid", "hits": 1}
    (hit,) = second["hits"]
    assert hit.pop("score") == 1  # the best by words and by vectors
    text = PASSAGES["Lamps"]
    assert hit == {"passage_id": "3#0", "title": "Lamps", "heading": "", "text": text, "by_vectors": 1, "by_bm25": 1}
    typed = ask("--interactive")
    assert re.findall(r"\? 1\. (\w+)", typed) == ["Gulls", "Lamps"] and typed.endswith("? \n")


@pytest.mark.parametrize("option", [("-k", "0"), ("--approximate", "pq"), ("--interactive",), ("--by", "luck")])
def test_wrong_arguments_print_the_usage(option: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["search", "gulls", *option])
    assert ended.value.code == 2
    assert "usage: contexture" in capsys.readouterr().err


TEXTS = ["a good whale", "who ferry", "a  whale "]


def run_embed(*arguments: object) -> None:
    main(["embed", *map(str, arguments)])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    kinds = {"gru": "gru", "bag_of_words": "bag_of_words", "static": "static_idf", "transformer": "transformer_mean"}
    for name, kind in kinds.items():
        save_encoder(build(kind, vocabulary=subwords()), folder / name)
    return {"words": word_average(folder / "words"), "published": tiny_bert(folder)} | {
        name: folder / name for name in kinds
    }


@pytest.mark.parametrize("kind", ["words", "gru", "bag_of_words", "static", "transformer", "published"])
def test_texts_become_vectors(
    kind: str, models: dict[str, Path], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "texts.txt").write_bytes("\ufeffa good whale\r\nwho ferry\na  whale \n".encode())
    wanted = load_model(models[kind]).embed(TEXTS, "document")
    capsysbinary.readouterr()
    args = (tmp_path / "texts.txt", "--model", models[kind], "--role", "document")
    run_embed(*args, "--output", tmp_path / "v.npy")
    run_embed(*args, "--output", tmp_path / "v.jsonl")
    run_embed(*args)
    printed = capsysbinary.readouterr()
    assert printed.out == (tmp_path / "v.jsonl").read_bytes() and not printed.err
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), wanted, atol=1e-6)
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert [line["text"] for line in lines] == TEXTS
    np.testing.assert_array_equal(np.array([line["vector"] for line in lines], np.float32), np.load(tmp_path / "v.npy"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["texts.txt", "v.jsonl", "v.npy"]


def test_piped_texts_are_embedded_in_batches(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"a {word} whale" for word in ("good", "ferry", "who", "bad", "odd")]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("\n".join(texts).encode())))
    monkeypatch.setattr(encoded_lines, "MAX_BATCH_TEXTS", 2)
    batch_sizes: list[int] = []
    whole = WordAverage.embed
    monkeypatch.setattr(
        WordAverage, "embed", lambda self, texts, role=None: batch_sizes.append(len(texts)) or whole(self, texts, role)
    )
    run_embed("-", "--model", models["words"], "--output", tmp_path / "v.npy")
    assert batch_sizes == [2, 2, 1]
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), load_model(models["words"]).embed(texts))


def without_hub() -> dict[str, str]:
    """Return an environment in which the hub does not answer."""
    return os.environ | {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9"}


def test_models_are_searched_in_parent_folders(
    models: dict[str, Path], nested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nested / "texts").write_text("a good whale")
    (tmp_path / "data/06_models/words").symlink_to(models["words"])
    monkeypatch.chdir(nested)
    wanted = load_model(models["words"]).embed(["a good whale"])
    for name, times in (("data/06_models/words", 1), ("data/06_models/words+data/06_models/words", 2)):
        run_embed("texts", "--model", name, "--output", "v.npy")
        np.testing.assert_array_equal(np.load("v.npy"), np.tile(wanted, times))
    with pytest.raises(SystemExit, match="there is no such folder"):
        run_embed("texts", "--model", "./data/06_models/words")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serch", "boats"], "contexture: error: unknown command 'serch'; did you mean 'search'?"),
        (
            ["adapt", "docs", "--mintues", "3"],
            "contexture adapt: error: unknown option '--mintues'; did you mean '--minutes",
        ),
        (
            ["adapt", "docs", "--question=q.tsv2", "--plam"],
            "contexture adapt: error: unknown option '--plam'; did you mea",
        ),
        (
            ["embed", "t", "--model", "m", "--outptu", "v"],
            "contexture embed: error: unknown option '--outptu'; did you m",
        ),
        (["search", "a", "b"], "contexture search: error: unknown: b"),
    ],
)
def test_unknown_commands_and_options_exit_with_the_closest(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("here", "--model", "words", "--output", "no/v.npy"),
            "--output: no/v.npy: there is no such folder to write to",
        ),
        (
            ("here", "--model", "words", "--output", "v.txt"),
            r"--output: v.txt: the name .* must end in \.npy or \.jsonl",
        ),
        (("here", "--model", "words", "--output", "folder.npy"), "folder.npy: Is a directory"),
        (("t", "--model", "words", "--output", "v.npy"), "t: No such file or directory"),
        (("folder.npy", "--model", "words"), "folder.npy: Is a directory"),
        (("here", "--model", "./m", "--output", "v.npy"), "--model: ./m: there is no such folder"),
        (("here", "--model", "folder.npy"), "--model: folder.npy: this folder holds no model"),
        (("gap", "--model", "words"), "gap: line 2 is empty; every line is a text"),
        (("latin", "--model", "words"), r"latin: line 2 is not UTF-8"),
        (("none", "--model", "words"), "none: the file is empty"),
        (("-", "--model", "words"), "standard input: line 1 is empty"),
    ],
)
def test_embed_errors_are_one_line(
    arguments: tuple[str, ...],
    message: str,
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").symlink_to(models["words"])
    (tmp_path / "folder.npy").mkdir()
    for name, content in {"here": b"a text", "gap": b"a\n \nb\n", "latin": b"a\n\xe9", "none": b""}.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\na text")))
    files_before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit, match=f"^contexture embed: {message}") as ended:
        run_embed(*arguments)
    assert "\n" not in str(ended.value.code)
    assert sorted(tmp_path.iterdir()) == files_before
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("embed", "here", "--model", "no/such-model"),
            "--model: no/such-model: there is no such folder, and the Hugging Face",
        ),
        (("evaluate", "words", "--tasks", ".", "--only", "imdb"), "unknown task 'imdb'"),
    ],
)
def test_errors_precede_slow_imports(
    arguments: tuple[str, ...], message: str, models: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "words").symlink_to(models["words"])
    (tmp_path / "here").write_text("a text")
    done = run_main(tmp_path, *arguments)
    assert done.returncode == 1 and done.stdout in ("[]\n", "['pandas']\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"contexture {arguments[0]}: {message}")


def run_main(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process that prints the slow imports at its end."""
    slow = {"torch", "transformers", "pandas", "sklearn", "faiss", "pytorch_lightning", "mlflow"}
    code = (
        "import atexit, sys; from contexture.commands.main import main\n"
        f"atexit.register(lambda: print(sorted({slow} & set(sys.modules))))\n"
        "main()"
    )
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=without_hub(), capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_cached_hub_models_work_offline(tmp_path: Path) -> None:
    model_cache = tmp_path / "hub/hub/models--own--tiny"
    (model_cache / "refs").mkdir(parents=True)
    (model_cache / "refs/main").write_text("a" * 40)
    (model_cache / "snapshots").mkdir()
    tiny_bert(tmp_path).rename(model_cache / "snapshots" / ("a" * 40))
    command = [sys.executable, "-m", "contexture", "embed", "-", "--model", "own/tiny"]
    environment = without_hub() | {"HF_HOME": str(tmp_path / "hub")}
    done = subprocess.run(command, input="whales", env=environment, capture_output=True, text=True, check=False)
    assert len(json.loads(done.stdout)["vector"]) == 16, done.stderr
    assert not done.stderr


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly(models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("a good whale\n" * 20_000)
    command = f"{sys.executable} -m contexture embed texts --model {models['words']} | head -n 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["text"] == "a good whale" and not done.stderr


def test_static_encoders_search_without_slow_imports(tmp_path: Path) -> None:
    encoder = build(StaticConfig("static", embedding_size=8), vocabulary=subwords())
    save_encoder(encoder, tmp_path / "encoder")
    build_passage_index(toy_passages(tmp_path / "passages"), tmp_path / "encoder", tmp_path / "search")
    done = run_main(tmp_path, "search", "oil lamps", "--index", "search")
    assert done.stdout.endswith("\n[]\n") and "Lamps" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_search_in_a_subprocess(index: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "contexture", "search", "oil lamps", "-k", "1", "--index"]
    done = subprocess.run([*command, str(index)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1. Lamps")
    done = subprocess.run([*command, "nowhere"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("contexture search: nowhere is not a search index: build one with kedro run ")
    assert not list(tmp_path.iterdir())
