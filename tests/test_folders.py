"""Files and folders that are either complete or missing."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from contexture.folders import check_replaceable, expand_home, is_finished, lock_folder, whole_file, work_folder


def test_a_file_is_replaced_when_it_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "new" / "scores.json"
    for content in (b"first", b"2nd"):
        with whole_file(file) as stream:
            stream.write(content)
            assert not file.exists() or file.read_bytes() == b"first"
        assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


def test_an_error_keeps_the_older_file(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    file.write_bytes(b"older")
    with pytest.raises(KeyboardInterrupt), whole_file(file) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert file.read_bytes() == b"older" and list(tmp_path.iterdir()) == [file]


def test_links_and_pipes_stay(tmp_path: Path) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(tmp_path / "file")
    with whole_file(link) as stream:
        stream.write(b"by the link")
    assert link.is_symlink() and (tmp_path / "file").read_bytes() == b"by the link"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole_file(pipe) as stream:
        stream.write(b"through the pipe")
    reader.join()
    assert read == [b"through the pipe"] and pipe.is_fifo()


def test_an_older_folder_outlives_a_kill_between_the_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(content: str) -> None:
        with work_folder(tmp_path / "encoder", {"content": content}) as work:
            (work / "weights").write_text(content)

    write("first")
    renamed: list[Path] = []
    rename = Path.rename

    def killed(path: Path, target: Path) -> Path:
        if renamed:
            raise KeyboardInterrupt
        renamed.append(path)
        return rename(path, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", killed)
        write("second")
    assert renamed == [tmp_path / "encoder"] and not (tmp_path / "encoder").exists()
    assert is_finished(tmp_path / "encoder", {"content": "first"})
    assert (tmp_path / "encoder" / "weights").read_text() == "first"
    write("second")
    assert (tmp_path / "encoder" / "weights").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["encoder"]


def test_empty_keys_do_not_change_an_identity(tmp_path: Path) -> None:
    older = {"schedule": [{"steps": 2, "budget": None}], "seed": 0, "select": []}
    newer = {"schedule": [{"steps": 2, "streams": {}, "share": None}], "seed": 0, "select": [], "start": None}
    with work_folder(tmp_path / "encoder", older) as work:
        (work / "weights").write_text("older")
    assert is_finished(tmp_path / "encoder", newer)
    for other in ({**newer, "seed": 1}, {**newer, "select": None}, {**newer, "start": "base"}):
        assert not is_finished(tmp_path / "encoder", other)


def test_unfinished_work_is_resumed_or_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    older = {"steps": 2, "seed": 0}

    def begin(identity: dict[str, object]) -> bool:
        """Start work that is killed; return whether it resumed earlier work."""
        with pytest.raises(KeyboardInterrupt), work_folder(tmp_path / "encoder", identity) as work:
            resumed = (work / "checkpoint").exists()
            (work / "checkpoint").write_text("half")
            raise KeyboardInterrupt
        return resumed

    assert not begin(older)
    assert begin(older | {"streams": {}, "share": None}) and not caplog.records
    assert not begin(older | {"maskable": "any"})
    [record] = caplog.records
    message = 'encoder starts anew; what was begun with other settings (maskable: was null, is "any") is set aside as'
    assert message in record.getMessage()
    assert not begin(older | {"maskable": "shared"}), "work of a third identity does not replace what is set aside"
    assert begin(older) and begin(older | {"maskable": "any"}) and begin(older | {"maskable": "shared"})
    with work_folder(tmp_path / "encoder", older) as work:
        assert (work / "checkpoint").read_text() == "half"
    assert is_finished(tmp_path / "encoder", older)


def test_unfinished_work_on_a_cache_is_resumed_or_deleted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for identity, is_resumed in (({"model": 1}, False), ({"model": 1}, True), ({"model": 2}, False)):
        work_on_cache = work_folder(tmp_path / "cache", identity, is_cache=True)
        with pytest.raises(KeyboardInterrupt), work_on_cache as work:
            assert (work / "shard").exists() == is_resumed
            (work / "shard").touch()
            raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["cache.unfinished"] and not caplog.records


HOLD = """
import sys
from pathlib import Path
from contexture.folders import work_folder

with work_folder(Path(sys.argv[1])) as work:
    (work / "begun").touch()
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_work_on_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"begun\n"
        message = "encoder: wait for it, or end it"
        with pytest.raises(ValueError, match=message), work_folder(folder):
            pass
        process.stdin.close()
        with lock_folder(folder, wait=True):
            assert (folder / "begun").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["encoder"]


def test_file_systems_without_locks_are_used_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", fail)
    with work_folder(tmp_path / "encoder") as work:
        (work / "weights").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["encoder"]


def test_a_linked_folder_is_replaced_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "encoder").symlink_to(tmp_path / "disk" / "large", target_is_directory=True)
    for content in ("first", "second"):
        with work_folder(tmp_path / "encoder", {"content": content}) as work:
            (work / "weights").write_text(content)
        assert is_finished(tmp_path / "encoder", {"content": content}) and (tmp_path / "encoder").is_symlink()
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["large"]


def test_folders_with_other_files_are_not_replaced(tmp_path: Path) -> None:
    check_replaceable(tmp_path / "missing", "identity.json")
    check_replaceable(tmp_path, "identity.json")
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ValueError, match="other files, which would be deleted: delete it, or choose"):
        check_replaceable(tmp_path, "identity.json")
    (tmp_path / "identity.json").touch()
    check_replaceable(tmp_path, "identity.json")


def test_only_known_homes_are_expanded() -> None:
    assert expand_home("~/x") == Path.home() / "x"
    assert expand_home("~nobody-here/x") == Path("~nobody-here/x")
