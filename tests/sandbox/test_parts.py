"""Parts of the sandbox that tests can check without running a program."""

import sys
from pathlib import Path

import pytest

from evaluator.sandbox import Exit, Level, Limits, Program, best_level, probe, view
from evaluator.sandbox.__main__ import main
from evaluator.sandbox.levels import landlock, landlock_rules, seccomp
from evaluator.sandbox.resources.cgroup import Group, Parents
from evaluator.sandbox.view import Kind
from tests.screens import WIDTHS, assert_fits


def test_program_goes_through_json_unchanged() -> None:
    program = Program(argv=("a", "b"), env={"c": "d"}, readonly=("/e",), hidden=("/f",), limits=Limits(processes=3), preload="/g.so")
    assert Program.from_json(program.to_json()) == program


@pytest.mark.parametrize("fields", [{}, {"entry": "a:b", "argv": ("c",)}])
def test_program_is_an_entry_or_a_command(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="entry or a command"):
        Program(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "ended"),
    [(0, Exit(0)), (3 << 8, Exit(3)), (11, Exit(None, "SIGSEGV")), (0x86, Exit(None, "SIGABRT")), (40, Exit(None, "SIG40"))],
)
def test_wait_statuses(status: int, ended: Exit) -> None:
    assert Exit.from_wait_status(status) == ended


def test_view_has_parents_before_children_and_no_path_twice() -> None:
    targets = [entry.target for entry in view.compose(Program(argv=("true",), gpu=True), 61000)]
    assert len(set(targets)) == len(targets)
    for index, target in enumerate(targets):
        assert not any(target.startswith(later + "/") for later in targets[index + 1 :])


def test_view_shows_nothing_twice_and_keeps_what_lies_under_tmp(tmp_path: Path) -> None:
    entries = {entry.target: entry for entry in view.compose(Program(argv=("true",), readonly=("/usr/bin", str(tmp_path))), 61000)}
    assert "/usr/bin" not in entries
    assert entries[str(tmp_path.resolve())].kind is Kind.READONLY
    assert entries["/tmp"].kind is Kind.TMPFS


def test_view_hides_the_project_where_it_would_be_visible() -> None:
    entries = {entry.target: entry for entry in view.compose(Program(argv=("true",), readonly=(str(view.PROJECT_ROOT),)), 61000)}
    assert entries[str(view.PROJECT_ROOT / "evaluator")].kind is Kind.HIDDEN


@pytest.mark.parametrize(("root", "stays"), [("assay", False), ("lib/site-packages", True), ("lib/dist-packages", True)])
def test_modules_are_searched_for_in_the_project_only_where_pip_installed_it(
    root: str, stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "PROJECT_ROOT", Path("/opt") / root)
    monkeypatch.setattr(sys, "path", ["", f"/opt/{root}", "/opt/modules"])
    assert view.search_path() == [*([f"/opt/{root}"] if stays else []), "/opt/modules"]


def test_gpu_nodes_come_only_when_asked_for() -> None:
    without = {entry.target for entry in view.compose(Program(argv=("true",)), 61000)}
    assert not any("nvidia" in target for target in without if target.startswith("/dev"))


@pytest.mark.parametrize(("minor", "gpus"), [(None, {"nvidia0", "nvidia1", "nvidia11"}), (1, {"nvidia1"}), (11, {"nvidia11"}), (7, set())])
def test_nodes_of_other_gpus_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minor: int | None, gpus: set[str]) -> None:
    """Neither in the view, which namespaces mount and bubblewrap gets as arguments, nor in Landlock's rules."""
    control = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}
    for name in (*control, "nvidia0", "nvidia1", "nvidia11", "nvidia-modeset", "nvidia-nvswitch0"):
        (tmp_path / name).touch()
    monkeypatch.setattr(view, "_DEV", tmp_path)
    entries = view.compose(Program(argv=("true",), gpu=True, gpu_minor=minor), 61000)
    assert {Path(entry.source).name for entry in entries if entry.source.startswith(str(tmp_path))} == control | gpus
    rules = [path for path, _ in landlock_rules.for_view(entries, "/home")]
    assert {Path(path).name for path in rules if path.startswith(str(tmp_path))} == control | gpus
    assert not {str(tmp_path), *map(str, tmp_path.parents)} & {path for path in rules if path != "/tmp"}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("reaching_sockets", [True, False])
@pytest.mark.parametrize("own", [None, 7])
def test_filter_jumps_stay_inside(machine: str, reaching_sockets: bool, own: int | None) -> None:
    code = seccomp.program(machine, reaching_sockets=reaching_sockets, own=own)
    assert len(code) < 4096
    for index, (operation, if_true, if_false, _) in enumerate(code):
        if operation & 7 == 5:
            assert index + 1 + max(if_true, if_false) < len(code)
    assert code[-1] == (0x06, 0, 0, 0x7FFF0000)


def test_no_system_call_is_both_deadly_and_refused() -> None:
    for column in (0, 1):
        numbers = [row[column] for table in (seccomp.DEADLY, seccomp.REFUSED) for row in table.values() if row[column] >= 0]
        assert len(numbers) == len(set(numbers))


def test_filter_for_an_unknown_architecture_is_an_error() -> None:
    with pytest.raises(KeyError):
        seccomp.program("riscv64", reaching_sockets=True)


@pytest.mark.parametrize(("version", "own_user", "enough"), [(0, True, False), (1, True, True), (5, False, False), (6, False, True)])
def test_landlock_alone_needs_a_user_or_scopes(version: int, own_user: bool, enough: bool) -> None:
    assert (landlock.shortcoming(version, own_user=own_user) == "") is enough


def test_no_control_groups_is_a_group_that_does_nothing() -> None:
    group = Group.make(Parents(), "assay-1-1", Limits())
    assert group.open_entrances() == []
    assert group.memory_exceeded() is False
    group.kill()
    group.remove()


def test_probe_says_why_a_level_is_missing() -> None:
    report = probe()
    assert [trial.level for trial in report.trials] == [Level.NAMESPACES, Level.BUBBLEWRAP, Level.LANDLOCK]
    assert all(trial.available != bool(trial.reason) for trial in report.trials)
    assert best_level() == report.best
    assert report.best is not Level.NONE


@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_fits(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    best = best_level()
    assert main([]) == (0 if best else 1)
    told = capsys.readouterr().out
    assert f"best level: {best or 'none'}" in told
    rows = assert_fits(told.replace("best level", "\nbest level"), width, ["level", "there", "detail"], ["level", "there"])
    assert {"namespaces", "bubblewrap", "landlock", "seccomp", "bwrap"} <= {row.split()[0] for row in rows}
