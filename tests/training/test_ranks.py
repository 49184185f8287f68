"""Messages between processes of a run."""

from collections.abc import Iterator

import pytest
from torch.distributed import TCPStore

from contexture.training.ranks import Channel


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Create the store of two processes and the environment that `torch.distributed.run` gives the first."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    values = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": True}
    for name, value in (values | {"RANK": 0, "WORLD_SIZE": 2}).items():
        monkeypatch.setenv(name, str(value))
    yield


def test_messages_reach_other_processes_and_restarts_have_separate_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Channel(2)
    monkeypatch.setenv("RANK", "1")
    second = Channel(2)
    assert (first.rank, second.rank) == (0, 1)
    first.send("kept")
    assert second.wait() == "kept"
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    again = Channel(2)
    again.send("begin")
    assert again.wait() == "begin" and first.wait() == "kept"


def test_a_wrong_number_of_processes_fails() -> None:
    with pytest.raises(ValueError, match="devices is 8, but 2 processes were started: nodes × processes per node must"):
        Channel(8)
