"""Demo worlds that several modules read."""

from pathlib import Path

import pytest

from contexture.demo import DemoConfig, write_demo_world


@pytest.fixture(scope="session")
def whole_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The world of the default settings."""
    folder = tmp_path_factory.mktemp("whole_world")
    write_demo_world(DemoConfig(), folder)
    return folder


@pytest.fixture(scope="session")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest world."""
    folder = tmp_path_factory.mktemp("small_world")
    assert write_demo_world(DemoConfig(pages=25, novels=1), folder)["pair_rows"] == 1800
    return folder
