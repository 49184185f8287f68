"""Datasets of the catalog that Kedro's own do not cover: tables and folders that are there whole or not at all."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, CatalogProtocol, DatasetError
from kedro.pipeline import Pipeline

from contexture.corpus.errors import explain_error, is_disk_full
from contexture.folders import replace, whole_file

#: Spark writes this file last.
SUCCESS = "_SUCCESS"


class _LocalPath(AbstractDataset[Any, Any]):
    """Something at a path of this machine."""

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = Path(filepath)
        self.metadata = metadata

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}

    def missing(self) -> str:
        """What to say where it is not there."""
        return f"{self._path} is not there"


class TextFile(_LocalPath):
    """A text in a file, UTF-8."""

    def load(self) -> Any:
        """The text; DatasetError where the file is missing."""
        if not self._exists():
            raise DatasetError(f"{self.missing()}: run the stage that makes it first")
        return self._path.read_text(encoding="utf-8")

    def save(self, data: Any) -> None:
        """Write the text beside its place, then rename it."""
        with whole_file(self._path) as file:
            file.write(data.encode())


class JsonFile(TextFile):
    """JSON values in a file."""

    def load(self) -> Any:
        """The values; DatasetError where the file is missing or damaged."""
        try:
            return json.loads(super().load())
        except ValueError as error:
            raise DatasetError(f"{self._path} is damaged ({error}): run the stage that makes it again") from error

    def save(self, data: Any) -> None:
        """Write the values."""
        super().save(json.dumps(data))


class TableFolder(_LocalPath):
    """The folder of a table that Spark wrote, for readers without Spark."""

    def load(self) -> Path:
        """The folder; DatasetError where the table is missing or was not finished."""
        if not self._exists():
            raise DatasetError(f"{self.missing()}: run the stage that makes it first")
        return self._path

    def missing(self) -> str:
        """The same of a table that was not finished."""
        return f"{self._path} was not written to its end" if self._path.exists() else super().missing()

    def save(self, data: Any) -> None:
        """Never called: Spark writes the table."""
        raise DatasetError(f"{self._path} is written by Spark")

    def _exists(self) -> bool:
        return (self._path / SUCCESS).exists()


class SparkTable(TableFolder):
    """A Parquet table of Spark: written beside its place and moved there when complete.

    With `partition_by`, rows of each value of that column lie in a folder of their own, `<column>=<value>`.
    """

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None, partition_by: str | None = None) -> None:
        super().__init__(filepath, metadata)
        self._partition_by = partition_by

    def load(self) -> Any:
        """The table as a DataFrame; DatasetError where it is missing or was not finished."""
        from pyspark.sql import SparkSession

        folder = super().load()
        return SparkSession.builder.getOrCreate().read.parquet(str(folder.resolve()))

    def save(self, data: Any) -> None:
        """Write a DataFrame; DatasetError, in a line, where the input is at fault or the disk is full."""
        new = self._path.with_name(self._path.name + ".unfinished")
        try:
            data.write.mode("overwrite").parquet(str(new.resolve()), partitionBy=self._partition_by)
        except Exception as error:
            if (message := explain_error(error)) is not None:  # the input's fault, told in its own words
                raise DatasetError(message) from None
            if is_disk_full(error):
                message = no_room(self._path, _spark_folder(data))
                shutil.rmtree(new, ignore_errors=True)
                raise DatasetError(message) from error
            raise
        _name_by_number(new)
        replace(new, self._path)


def no_room(table: Path, spark: Path) -> str:
    """What to say when a disk was full while a table was written; `spark`: where Spark keeps what it sorts."""
    here, there = (f"{shutil.disk_usage(place).free / 1e6:,.0f} MB free in {place}" for place in (table.parent, spark))
    return (
        f"no room on the disk while {table} was written ({here}, {there}, where Spark sorts): what earlier stages made "
        "is kept, as is an older table in its place; make room and run again"
    )


def _spark_folder(data: Any) -> Path:
    told = data.sparkSession.sparkContext.getConf().get("spark.local.dir", tempfile.gettempdir())
    return Path(os.environ.get("SPARK_LOCAL_DIRS", told).split(",")[0])


def _name_by_number(folder: Path) -> None:
    """Take out of a table's file names what Spark draws anew for every job, and its checksums, which name them."""
    for file in folder.rglob(".*.crc"):
        file.unlink()
    for file in folder.rglob("part-*.parquet"):
        file.rename(file.with_name(f"{file.name.split('-')[0]}-{file.name.split('-')[1]}.parquet"))


class OutputPath(_LocalPath):
    """Where a node shall write the folder that it makes."""

    def load(self) -> Path:
        """The path; only the folder around it is made."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path

    def save(self, data: Path) -> None:
        """Never called: a place is only told."""
        raise DatasetError(f"{self._path} is a place to write to, not a dataset to save")


class CreatedPath(_LocalPath):
    """A file or folder that a node made at the place that `OutputPath` told it."""

    def load(self) -> Path:
        """The path; DatasetError where nothing is there."""
        if not self._exists():
            raise DatasetError(f"{self.missing()}: run the stage that makes it first")
        return self._path

    def save(self, data: Path) -> None:
        """Check that the node kept its word."""
        if data != self._path or not self._exists():
            raise DatasetError(f"{self._path} was not written: the node returned {data}")


class TableFolders(CreatedPath):
    """A folder that is a table of Spark, or of tables, for readers without Spark."""

    def load(self) -> Path:
        """The folder; DatasetError where it is missing, or a table in it was not finished."""
        folder = super().load()
        for table in sorted({file.parent for file in folder.rglob("*.parquet")}):
            if not (table / SUCCESS).exists():
                raise DatasetError(f"{table} was not written to its end: run the stage that makes it first")
        return folder


def absent(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> dict[str, str]:
    """What a pipeline reads, does not make, and is not there: dataset → what to say."""
    names = sorted(name for name in pipeline.inputs() if not name.startswith("params:") and not catalog.exists(name))
    missing = {name: catalog.get(name) for name in names}
    return {
        name: one.missing() if isinstance(one, _LocalPath) else f"{name} is not there" for name, one in missing.items()
    }
