"""Datasets of the catalog: files, folders and Spark tables that are either complete or missing."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, CatalogProtocol, DatasetError
from kedro.pipeline import Pipeline

from contexture.corpus.errors import explain_error, is_disk_full
from contexture.folders import lock_folder, replace_folder, whole_file

#: Spark writes this file last.
SUCCESS = "_SUCCESS"


class _LocalPath(AbstractDataset[Any, Any]):
    """A file or folder on this machine."""

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> Any:
        """Return the path; DatasetError if it is missing or incomplete."""
        if not self._exists():
            raise DatasetError(f"{self.missing_message()}: run the stage that makes it first")
        return self._path

    def _exists(self) -> bool:
        """Return whether there is a file or folder at the path."""
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        """Return the path, which Kedro shows in its messages."""
        return {"filepath": str(self._path)}

    def missing_message(self) -> str:
        """Return the message that there is nothing at the path."""
        return f"{self._path} is not there"


class TextFile(_LocalPath):
    """A text file, UTF-8."""

    def load(self) -> Any:
        """Read the text."""
        return super().load().read_text(encoding="utf-8")

    def save(self, data: Any) -> None:
        """Write the text to a new file, which replaces the old one once complete."""
        with whole_file(self._path) as file:
            file.write(data.encode())


class JsonFile(TextFile):
    """JSON values in a file."""

    def load(self) -> Any:
        """Read the JSON values; DatasetError if the file is missing or damaged."""
        try:
            return json.loads(super().load())
        except ValueError as error:
            raise DatasetError(f"{self._path} is damaged ({error}): run the stage that makes it again") from error

    def save(self, data: Any) -> None:
        """Write values as JSON."""
        super().save(json.dumps(data))


class TableFolder(_LocalPath):
    """Folder of a table that Spark wrote, for readers without Spark."""

    def missing_message(self) -> str:
        """Return the message that the table is missing or incomplete."""
        return f"{self._path} was not written to its end" if self._path.exists() else super().missing_message()

    def save(self, data: Any) -> None:
        """Raise DatasetError: only Spark writes the table."""
        raise DatasetError(f"{self._path} is written by Spark")

    def _exists(self) -> bool:
        """Return whether Spark has written the table completely."""
        return (self._path / SUCCESS).exists()


class SparkTable(TableFolder):
    """Parquet table of Spark that is replaced only by a complete one.

    With `partition_by`, each value of that column has a folder, `<column>=<value>`.
    """

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None, partition_by: str | None = None) -> None:
        super().__init__(filepath, metadata)
        self._partition_by = partition_by

    def load(self) -> Any:
        """Return the table as a DataFrame."""
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate().read.parquet(str(super().load().resolve()))

    def save(self, data: Any) -> None:
        """Write a DataFrame; DatasetError of one line if the input cannot be used or the disk is full."""
        folder = self._path.resolve()
        with lock_folder(folder):
            self._replace(folder, data)

    def _replace(self, folder: Path, data: Any) -> None:
        """Write a DataFrame to a new folder, and replace that of the table by it."""
        new = folder.with_name(folder.name + ".unfinished")
        try:
            data.write.mode("overwrite").parquet(str(new), partitionBy=self._partition_by)
        except Exception as error:
            if (message := explain_error(error)) is not None:  # an error of the input
                raise DatasetError(message) from None
            if is_disk_full(error):
                message = disk_full_message(self._path, _spark_dir(data))
                shutil.rmtree(new, ignore_errors=True)
                raise DatasetError(message) from error
            raise
        _number_files(new)
        replace_folder(new, folder)


def disk_full_message(table: Path, spark_dir: Path) -> str:
    """Return the error message for a disk that became full; Spark keeps what it sorts in `spark_dir`."""
    free, spark_free = (
        f"{shutil.disk_usage(path).free / 1e6:,.0f} MB free in {path}" for path in (table.parent, spark_dir)
    )
    return (
        f"no room on the disk while {table} was written ({free}, {spark_free}, where Spark sorts): the results of "
        "earlier stages and an older table are kept; make room and run again"
    )


def _spark_dir(data: Any) -> Path:
    """Return the folder in which Spark keeps what it sorts."""
    configured = data.sparkSession.sparkContext.getConf().get("spark.local.dir", tempfile.gettempdir())
    return Path(os.environ.get("SPARK_LOCAL_DIRS", configured).split(",")[0])


def _number_files(folder: Path) -> None:
    """Rename a table's files to their numbers, without Spark's random part; delete the checksums."""
    for file in folder.rglob(".*.crc"):
        file.unlink()
    for file in folder.rglob("part-*.parquet"):
        file.rename(file.with_name(f"{file.name.split('-')[0]}-{file.name.split('-')[1]}.parquet"))


class OutputPath(_LocalPath):
    """Path at which a node writes a file or folder."""

    def load(self) -> Path:
        """Return the path; its parent folder is created."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path

    def save(self, data: Path) -> None:
        """Raise DatasetError: the path is only read."""
        raise DatasetError(f"{self._path} is a path to write to, not a dataset to save")


class WrittenPath(_LocalPath):
    """File or folder that a node wrote at its `OutputPath`."""

    def save(self, data: Path) -> None:
        """Save nothing: raise DatasetError unless the node wrote the file or folder at this path."""
        if data != self._path or not self._exists():
            raise DatasetError(f"{self._path} was not written: the node returned {data}")


class TableFolders(WrittenPath):
    """Folder of one or more Spark tables, for readers without Spark."""

    def load(self) -> Path:
        """Return the folder; DatasetError if it is missing or a table is incomplete."""
        folder: Path = super().load()
        for table in sorted({file.parent for file in folder.rglob("*.parquet")}):
            if not (table / SUCCESS).exists():
                raise DatasetError(f"{table} was not written to its end: run the stage that makes it first")
        return folder


def find_missing(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> dict[str, str]:
    """Return dataset → error message for each missing dataset that a pipeline reads and does not make."""
    names = sorted(name for name in pipeline.inputs() if not name.startswith("params:") and not catalog.exists(name))
    missing = {name: catalog.get(name) for name in names}
    return {
        name: dataset.missing_message() if isinstance(dataset, _LocalPath) else f"{name} is not there"
        for name, dataset in missing.items()
    }
