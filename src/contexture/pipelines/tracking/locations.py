"""Paths of artifacts in the MLflow database of a project that was copied or moved."""

from pathlib import Path
from typing import Any

from mlflow.store.model_registry.dbmodels.models import SqlModelVersion
from mlflow.store.tracking.dbmodels.models import SqlExperiment, SqlLoggedModel, SqlRun
from sqlalchemy import create_engine, make_url, select
from sqlalchemy.orm import Session

#: Folder of all artifacts, next to the database. MLflow writes those of an experiment to `mlruns/<its id>`.
ARTIFACTS_DIR = "mlruns"
#: Tables with paths below that of their experiment: class, name of the column.
_PATHS: tuple[tuple[Any, str], ...] = (
    (SqlRun, "artifact_uri"),
    (SqlLoggedModel, "artifact_location"),
    (SqlModelVersion, "storage_location"),
)


def update_locations(tracking_uri: str, project: Path) -> list[Path]:
    """Let the MLflow database of a project name the project's folder; return the former folders of artifacts.

    MLflow stores absolute paths: without this, a copy of a project would write to the artifacts of the original. Paths
    of artifacts that were not copied stay. Databases outside of the project, and locations that are not
    `mlruns/<experiment>`, were chosen by the user and stay, too.
    """
    if not _is_database_in(tracking_uri, project):
        return []
    engine = create_engine(tracking_uri)
    artifacts_dir = project.resolve() / ARTIFACTS_DIR
    former: list[Path] = []
    with Session(engine) as session, session.begin():
        experiments: list[Any] = [*session.scalars(select(SqlExperiment))]
        for experiment in experiments:
            old, new = Path(experiment.artifact_location), artifacts_dir / str(experiment.experiment_id)
            if not old.is_absolute() or old.parts[-2:] != new.parts[-2:] or old.resolve() == new:
                continue
            former.append(old.parent)
            for table, column in _PATHS:
                _move_paths(session, table, column, str(old), new)
            experiment.artifact_location = str(new)
    engine.dispose()
    return list(dict.fromkeys(former))


def _is_database_in(tracking_uri: str, project: Path) -> bool:
    """Return whether a tracking URI is an SQLite file in the project."""
    database = make_url(tracking_uri).database if tracking_uri.startswith("sqlite:") else None
    return bool(database) and Path(str(database)).resolve().is_relative_to(project.resolve())


def _move_paths(session: Session, table: Any, column: str, old: str, new: Path) -> None:
    """Replace the folder `old` by `new` in a column, in paths that exist below `new`."""
    below_old = getattr(table, column).startswith(f"{old}/", autoescape=True)
    for row in session.scalars(select(table).where(below_old)):
        path = new / getattr(row, column).removeprefix(f"{old}/")
        if path.exists():
            setattr(row, column, str(path))
