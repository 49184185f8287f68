"""`contexture evaluate`: tables, JSON output and errors."""

import json
from pathlib import Path

import pytest

from contexture.commands.main import main
from contexture.encoders import models as sentence_models
from contexture.encoders.files import save_encoder
from tests.encoders.toys import build, subwords
from tests.tasks.sentences.sentence_toys import KNOWN, word_average, write_tasks


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return word_average(tmp_path_factory.mktemp("models") / "toy-words")


def evaluate_output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main(["evaluate", *map(str, arguments)])
    return capsys.readouterr().out


def test_tables_are_printed_and_written(
    model: Path, tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = evaluate_output(capsys, model, "--tasks", tasks, "--counts", "any", "--output", tmp_path / "figures.json")
    lines = out.splitlines()
    assert lines[0].startswith(f"word average of toy-words: {len(KNOWN)} dimensions, ")
    assert lines[0].endswith(" sentences, 1 with a zero vector")
    assert "Probes (senteval)" in lines
    cells = {line.split()[0]: line.split() for line in lines if line.strip()}
    assert cells["trec"][1] == "100.00" and cells["cr"][1:6] == ["CR", "is", "not", "here:", "looked"]
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert (figures["model"], figures["zero_vectors"]) == ("word average of toy-words", 1)
    assert "stsb" in figures["missing"] and len(figures["chosen"]["mr"]) == 10
    rows = {(row["task"], row["protocol"], row["metric"]): row["value"] for row in figures["rows"]}
    assert rows["trec", "senteval", "accuracy"] == 1
    header = next(number for number, line in enumerate(lines) if "Pearson mean" in line)
    task, _, pearson, *_ = lines[header + 1].split()
    assert (task, pearson) == ("sts12", f"{100 * rows['sts12', 'cosine', 'pearson_mean']:.2f}")


def test_models_and_tasks_are_searched_in_parent_folders(
    model: Path, tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "data/06_models").mkdir(parents=True)
    (tmp_path / "data/06_models/toy-words").symlink_to(model)
    (tmp_path / "data/tasks").symlink_to(tasks)
    monkeypatch.chdir(tmp_path / "notes")
    arguments = ("--counts", "any", "--only", "sts12")
    out = evaluate_output(capsys, "data/06_models/toy-words", "--tasks", "data/tasks", *arguments)
    assert out == evaluate_output(capsys, model, "--tasks", tasks, *arguments)


@pytest.mark.parametrize(
    ("model_dir", "name"),
    [
        ("two_tower/finetuned/retrieval/static_ict/seed-1/share-80", "two_tower/static_ict/retrieval/share-80/seed-1"),
        ("my-encoder", "my-encoder"),
    ],
)
def test_encoder_names_have_system_and_variant(
    model_dir: str, name: str, tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_encoder(build("static", vocabulary=subwords()), tmp_path / model_dir)
    arguments = ("--tasks", tasks, "--counts", "any", "--only", "sts12", "--output", tmp_path / "f.json")
    assert evaluate_output(capsys, tmp_path / model_dir, *arguments).startswith(f"{name}: 4 dimensions, ")
    figures = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))
    assert {row["model"] for row in figures["rows"]} == {figures["model"]} == {name}


def test_selected_tasks_and_cached_vectors(
    model: Path, tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (model, "--tasks", tasks, "--counts", "any", "--protocol", "skip_thoughts", "--only", "mr", "sts12")
    arguments += ("--vectors", tmp_path / "kept")
    first = evaluate_output(capsys, *arguments)
    assert "Probes (skip_thoughts)" in first
    assert not any(absent in first for absent in ("trec", "Relatedness", "Missing tasks"))

    def fails(*_: object) -> None:
        raise AssertionError("embedded again")

    monkeypatch.setattr(sentence_models.WordAverage, "embed", fails)
    assert evaluate_output(capsys, *arguments) == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{model}", "--tasks", "{tasks}"), r"rt-polarity\.neg has 40 rows where the published file has 5,331"),
        (("{model}", "--tasks", "{tasks}/nowhere"), "nowhere: there is no such folder"),
        (("{model}", "--tasks", "{tasks}", "--only", "cr"), r"has none of the tasks: CR is not here"),
        (("{model}", "--tasks", "{tasks}", "--only", "imdb"), "unknown task 'imdb'; known: cr, "),
        (("{model}", "--tasks", "{tasks}", "--mteb-results", "r"), "--mteb-results: this option needs --mteb"),
        (("{model}", "--mteb", "STS12", "--only", "sts12"), "--only: this option needs --tasks"),
        (("{model}", "--mteb", "STS12", "--counts", "any"), "--counts: this option needs --tasks"),
        (("./nowhere", "--tasks", "{tasks}", "--counts", "any"), "./nowhere: there is no such folder"),
        (("{model}", "--tasks", "{tasks}", "--counts", "any", "--output", "{tasks}/no/f.json"), "no such folder to"),
    ],
)
def test_evaluate_errors_are_one_line(arguments: tuple[str, ...], message: str, model: Path, tasks: Path) -> None:
    with pytest.raises(SystemExit, match=f"^contexture evaluate: .*{message}") as ended:
        main(["evaluate", *(argument.format(model=model, tasks=tasks) for argument in arguments)])
    assert "\n" not in str(ended.value.code)


def test_mteb_needs_its_extra(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexture.commands.evaluate.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"^contexture evaluate: --mteb: .* pip install 'contexture\[mteb\]'"):
        main(["evaluate", str(model), "--mteb", "STS12"])
