"""Each claim names rows, tasks, data, protocols and a command that exist in the configuration."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest
from kedro.framework.project import configure_project, pipelines

from contexture.cli import run as kedro_run
from contexture.config import Parameters
from contexture.pipelines.hooks.check import NODE_OPTIONS
from contexture.pipelines.system import resolve_all
from contexture.reporting.claims import ClaimMeasure, ClaimRow, PaperClaim, read_all_claims
from contexture.reporting.names import DATA, PROTOCOLS, RECORD_SPECS, REFERENCES
from contexture.settings import RUN_PARAMETERS
from contexture.systems.config import SystemConfig
from contexture.systems.registry import SYSTEMS
from contexture.systems.resolved import ABLATION_SUFFIX, ResolvedSystem, resolve_ablation
from tests.environments import ENVIRONMENTS, check_changed, config_loader

PAPERS = read_all_claims(tuple(SYSTEMS))
CLAIMS = [
    pytest.param(system, claim, id=name) for system, paper in PAPERS.items() for name, claim in paper.claims.items()
]
PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Command:
    """What a command runs."""

    pipelines: list[str]
    parameters: Parameters

    @cached_property
    def systems(self) -> dict[str, ResolvedSystem]:
        """The systems by name."""
        return resolve_all(self.parameters)

    def get_system(self, name: str) -> SystemConfig:
        """Return the configuration of a system, or of its ablation."""
        if name.endswith(ABLATION_SUFFIX):
            return resolve_ablation(self.systems[name.removesuffix(ABLATION_SUFFIX)]).config
        return self.systems[name].config


@cache
def read_command(command: str) -> Command:
    """Check the options of a command."""
    words = shlex.split(command)
    assert words[:2] == ["kedro", "run"]
    options = kedro_run.make_context("run", words[2:]).params
    assert not {name for name in NODE_OPTIONS if options.get(name)}
    assert {*options["pipelines"]} <= list_pipelines(options["env"])
    return Command(options["pipelines"], check_changed(options["params"], environment=options["env"] or "base"))


@cache
def list_pipelines(environment: str | None) -> set[str]:
    """Return the names of the pipelines of an environment."""
    RUN_PARAMETERS.check(config_loader(environment))
    configure_project("contexture")
    return {*pipelines}


def list_rows(system: str, claim: PaperClaim) -> Iterator[tuple[str, ClaimRow, ClaimMeasure]]:
    """Yield the system, row and measure of each part of a claim, in all systems that decide it."""
    for owner in (system, *claim.also_in):
        for comparison in claim.comparisons:
            for row in (comparison.a, comparison.b):
                for name in comparison.measures:
                    yield row.system or owner, row, PAPERS[system].measures[name]


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


@pytest.mark.parametrize(("system", "claim"), CLAIMS)
def test_rows_are_variants_that_the_command_trains(system: str, claim: PaperClaim) -> None:
    command = read_command(claim.command)
    assert claim.environment in ENVIRONMENTS
    for owner, row, _ in list_rows(system, claim):
        assert owner in command.pipelines
        config = command.get_system(owner)
        for variant in filter(None, (row.variant, row.minus, row.untrained)):
            assert variant in config.all_variants or variant in {*REFERENCES} - {"untrained"}, variant
        if row.untrained is not None:
            runs = config.run_names(row.untrained)
            assert runs and not any(config.pretrain.runs[run].schedule for run in runs), row.untrained
            assert [config.encoder_name(run) for run in runs] == [
                config.encoder_name(run) for run in config.run_names(row.variant)
            ] or owner in SAME_WIDTH, row


#: Systems whose untrained starts have other encoders than some rows, with vectors of the same width.
SAME_WIDTH = ("cross_thought", "two_tower_ablation")


@pytest.mark.parametrize(("system", "claim"), CLAIMS)
def test_measures_are_those_of_the_command(system: str, claim: PaperClaim) -> None:
    parameters = read_command(claim.command).parameters
    for owner, row, measure in list_rows(system, claim):
        config = read_command(claim.command).get_system(owner)
        protocol = row.protocol or measure.protocol
        for task in measure.tasks:
            spec = RECORD_SPECS[task]
            settings = config.tasks[spec.name]
            for variant in {row.variant, row.minus, row.untrained} & {*config.all_variants}:
                assert variant in config.task_variants(spec.name)
            source = parameters.sources[spec.name].input
            assert source != "demo", f"{spec.name} reads the demo's files"
            for data in measure.data:
                check_data(data, parameters)
                if isinstance(source, dict) and spec.name != "fact_verification":
                    known = {data.split("/")[0], data.partition("_")[0]}
                    assert known & set(source), f"{data} is not in {spec.name}.input"
            check_protocol(protocol, settings, measure)


def check_data(data: str, parameters: Parameters) -> None:
    """Check that a name of data is known; that of sentence tasks may end with a configured language."""
    name, _, lang = data.split("/")[0].partition("_")
    if data.split("/")[0] not in DATA:
        assert name in DATA and lang in parameters.sources["sentences"].languages, data


def check_protocol(protocol: str, settings: object, measure: ClaimMeasure) -> None:
    """Check that a task measures a protocol by its settings."""
    if share := re.fullmatch(r"(\d+)%( ablation)?", protocol):
        assert float(share[1]) in settings.shares  # type: ignore[attr-defined]
        return
    assert protocol in PROTOCOLS
    if protocol == "finetuned":
        sets = {data.partition("_")[0] for data in measure.data}
        assert sets <= set(settings.finetune)  # type: ignore[attr-defined]
    if protocol in ("senteval", "skip_thoughts"):
        assert protocol == settings.protocol  # type: ignore[attr-defined]


def test_steps_of_compared_speeds_have_equally_many_rows() -> None:
    claim = PAPERS["quick_thoughts"].claims["Q1"]
    config = read_command(claim.command).get_system("quick_thoughts")
    sizes = [
        config.pretrain.batch_sizes(run, config.pretraining(run).streams)["contiguous"]
        for comparison in claim.comparisons
        for run in (comparison.a.variant, comparison.b.variant)
    ]
    assert len(set(sizes)) == 1


def test_rows_of_a_comparison_differ() -> None:
    for paper in PAPERS.values():
        for claim in paper.claims.values():
            assert all(comparison.a != comparison.b for comparison in claim.comparisons)
