"""`kedro run` on parallel sentences, from files to an encoder."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from kedro.io import DatasetError

from contexture.pipelines.hooks.console import RunRefusedError
from contexture.training.curves import read_curves
from tests.pipelines.conftest import SMALLEST, read, run

pytestmark = pytest.mark.slow

STAGES = ["sources", "corpus", "vocabulary", "tasks", "examples", "pretrain"]


def params(**bitext: Any) -> dict[str, Any]:
    """Return parameters of a small MSPP with one more run."""
    mspp = SMALLEST["mspp"]
    runs = mspp["pretrain"]["runs"] | {"br": {"schedule": [{"steps": 3, "weights": {"bitext": 1}}]}}
    more = {"streams": mspp["streams"] | {"bitext": {}}, "pretrain": mspp["pretrain"] | {"runs": runs}}
    return SMALLEST | {"mspp": mspp | more, "bitext": bitext}


def test_from_files_to_an_encoder(make_project: Any, tmp_path: Path) -> None:
    project = make_project()
    with pytest.raises(RunRefusedError, match=r"mspp reads parallel sentences, and bitext\.input names none"):
        run(project, params(), tags=STAGES)
    sides = [tmp_path / "a.en.gz", tmp_path / "a.de"]
    sets = {"a": {"files": [str(side) for side in sides], "languages": ["en", "de"]}}
    with pytest.raises(RunRefusedError, match=r"bitext\.input\.a: .*a\.en\.gz: cannot be read"):
        run(project, params(input=sets), tags=STAGES)
    lines = [(f"The boat has the number {n}.", f"Das Boot hat die Nummer {n}.") for n in range(30)]
    with gzip.open(sides[0], "wt") as file:
        file.writelines(f"{line}\n" for line, _ in lines)
    sides[1].write_text("".join(f"{line}\n" for _, line in lines[:-1]))
    with pytest.raises(DatasetError, match=r"a\.en\.gz has 30 lines, .*a\.de 29: each line must be"):
        run(project, params(input=sets), tags=STAGES)
    sides[1].write_text("".join(f"{line}\n" for _, line in lines))
    run(project, params(input=sets), tags=STAGES)
    counts = read(project, "08_reporting/corpus/bitext.json")["a"]
    assert (counts["pairs_in"], counts["pairs_out"], counts["dropped"]) == (30, 30, {})
    assert read(project, "08_reporting/mspp/examples-bitext.json")["languages"] == {"en-de": 30}
    assert pq.read_table(project / "data/05_model_input/mspp/bitext").num_rows == 30
    curves = read_curves(project / "data/06_models/mspp/pretrained/br/seed-0")
    assert len(curves["train/bitext"]) == 3 and curves["train/bitext"].gt(0).all()
