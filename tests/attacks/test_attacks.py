"""Judges the attack corpus by the command line: no attack reaches its aim or leaves anything behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.results.category import Category
from evaluator.sandbox import Level
from evaluator.sandbox.level_choice import try_level
from tests.corpus import RUN_WITHIN_S, Entry, Record, check, corpus, is_there, judge

pytestmark = [pytest.mark.slow(450), pytest.mark.timeout(RUN_WITHIN_S + 60)]

HERE = Path(__file__).parent
ATTACKS = corpus(HERE / "corpus")
FORMS = corpus(HERE.parent / "honest/corpus")
TWINS = {name: twin for name, attack in ATTACKS.items() if (twin := attack.value("twin"))}
"""Names of the honest forms that do the same work as an attack."""
MORE_THAN_A_TWIN = 1.05
"""How many times as fast as its twin an attack may be."""
ON_CPU = [name for name, attack in ATTACKS.items() if "cpu" in attack.verdicts]
ON_CUDA = [name for name, attack in ATTACKS.items() if "cuda" in attack.verdicts]
CONFINED = [level for level in Level if level is not Level.NONE]

Records = dict[str, Record]


def judged(names: list[str], folder: Path, *options: str) -> Records:
    """Records by name of the attack, and of the twins that they have, at a deadline of 10 s a stage."""
    every = {**FORMS, **ATTACKS}
    entries = {name: every[name] for name in [*names, *(twin for name, twin in TWINS.items() if name in names)]}
    records = judge(entries.values(), folder, "--timeout", "10", *options, ASSAY_TEST_SECRET="seed=1")
    return {name: records[f"{name}.py"] for name in entries}


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return judged(ON_CPU, tmp_path_factory.mktemp("cpu"), "--device", "cpu")


def has_no_gain(attack: Entry, record: Record) -> bool:
    """Whether an attack that is judged by its times is not ranked above the reference, or a slow machine has ended it."""
    is_slower = record["category"] != Category.OK or record["speedup"] <= 1
    return record["category"] == Category.TIMEOUT or ("speedup" in attack.header and record["status"] == "correct" and is_slower)


@pytest.mark.build
@pytest.mark.parametrize("name", ON_CPU)
def test_attack_fails_on_the_cpu(on_cpu: Records, name: str) -> None:
    """If other programs had the cores, the judge's record says so, and its times accuse nobody."""
    record, attack = on_cpu[name], ATTACKS[name]
    if record["disturbed"] and has_no_gain(attack, record):
        assert not any(map(is_there, attack.markers))
    else:
        check(attack, record, "cpu")


@pytest.mark.build
def test_half_precision_in_other_shapes_is_told(on_cpu: Records) -> None:
    assert on_cpu["precision_in_other_rows"]["generalises"] == "no"


def test_the_disk_has_a_limit_without_a_file_system_of_ones_own(tmp_path: Path) -> None:
    trial = try_level(Level.LANDLOCK)
    if not trial.available:
        pytest.skip(trial.reason)
    record = judged(["bomb_disk"], tmp_path, "--device", "cpu", "--sandbox", Level.LANDLOCK)["bomb_disk"]
    check(ATTACKS["bomb_disk"], record, "cpu")
    assert record["category"] == Category.PROCESS_CRASH
    assert "private directory beyond the limit of 2 GiB" in record["message"]


def test_threads_of_a_worker_that_starts_cold_do_not_hide_work_left_behind(tmp_path: Path) -> None:
    trial = try_level(Level.BUBBLEWRAP)
    if not trial.available:
        pytest.skip(trial.reason)
    name = "lazy_thread_when_timed"
    check(ATTACKS[name], judged([name], tmp_path, "--device", "cpu", "--sandbox", Level.BUBBLEWRAP)[name], "cpu")


@pytest.fixture(scope="module", params=CONFINED)
def on_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    trial = try_level(request.param)
    if not trial.available:
        pytest.skip(f"{request.param}: {trial.reason}")
    yield judged(ON_CUDA, tmp_path_factory.mktemp(request.param), "--device", "cuda", "--sandbox", request.param)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ON_CUDA)
def test_attack_fails_on_a_gpu(on_gpu: Records, name: str) -> None:
    check(ATTACKS[name], on_gpu[name], "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("name", TWINS)
def test_attack_is_no_faster_than_its_twin(on_gpu: Records, name: str) -> None:
    attack, twin = on_gpu[name], on_gpu[TWINS[name]]
    assert twin["category"] == Category.OK, twin["message"]
    if attack["status"] == "correct":
        assert attack["runtime_ms"] * MORE_THAN_A_TWIN >= twin["runtime_ms"]


def test_headers_expect_verdicts_that_exist_and_nothing_ranked() -> None:
    """Only what is legal or gains nothing may be correct."""
    for name, attack in ATTACKS.items():
        assert attack.verdicts, name
        for verdicts in attack.verdicts.values():
            assert all(Category(category).status == status for status, category in (verdict.split("/") for verdict in verdicts)), name
            correct = {verdict for verdict in verdicts if verdict.startswith("correct/")}
            legal = "legal" in attack.header
            assert not correct or legal or {"speedup", "twin"} & attack.header.keys(), name
            assert not legal or correct == verdicts, name
    for name, twin in TWINS.items():
        assert FORMS[twin].verdicts["cuda"] == {"correct/ok"}, name
        assert FORMS[twin].value("problem") == ATTACKS[name].value("problem"), name
