"""Runs of a study with parts that do not go to their end."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.cli import running
from loadstone.experiments import sessions
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.preflight import Inspection
from loadstone.model.errors import Interrupted
from tests.experiments.fakes import STUDY, FakeDriver, write_study


@pytest.mark.parametrize("ended", [0, 1])
def test_an_interrupted_part_names_the_folder_that_goes_on_with_all_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: int
) -> None:
    """``ended``: how many parts were done before."""
    conducted = []

    def conduct(conductor: Conductor) -> None:
        conducted.append(conductor)
        if len(conducted) > ended:
            raise Interrupted("interrupted by SIGINT")

    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(Conductor, "run", conduct)
    monkeypatch.setattr(running, "recover", lambda plan: None)
    monkeypatch.setattr(running, "stone_version", lambda: "stone 1")
    monkeypatch.setattr(running, "print_outcome", lambda *given, **options: None)
    monkeypatch.setattr("loadstone.experiments.runs.host_facts", dict)
    monkeypatch.setattr("loadstone.experiments.preflight.require", lambda plan, ok: Inspection([], ()))
    monkeypatch.setattr("loadstone.experiments.preflight.driver_of", lambda load: FakeDriver())
    study = write_study(tmp_path, f"{STUDY}parts: [{{name: one}}, {{name: two}}]\n")
    chosen = sessions.of_study(tmp_path / "results", str(study), [], [], None)
    with pytest.raises(Interrupted) as stopped:
        running.run_parts(chosen, running.How(), [])
    (folder,) = tmp_path.glob("results/tiny-study/*")
    assert str(stopped.value).endswith(f"continue with: loadstone run --resume {folder}")
    assert str(stopped.value).count("continue") == 1
