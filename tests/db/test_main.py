"""`python -m db`, as a user runs it."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from db.store import Store
from evaluator.category import Category
from evaluator.result import Evidence, Result
from tests.db.samples import environment, full_evidence, result

ROOT = Path(__file__).parents[2]
SOURCE = "class ModelNew: ...\n"
HOSTILE = "[bold red]m[/] \x1b[2J\x1b]0;title\x07 \x9b31m \r\u202eexe.fdp [link=http://x]"


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "db", *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={"PATH": "/usr/bin:/bin", **environ},
    )


def output(*arguments: str, **environ: str) -> str:
    finished = run(*arguments, **environ)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    return finished.stdout


def test_leaderboard(store: Store, url: str) -> None:
    store.save(result(submission="quick.py", speedup=3.25), SOURCE)
    store.save(result(submission="slow.py", source="other", speedup=0.5), "other")
    text = output("--db", url, "leaderboard")
    assert "softmax · full · NVIDIA H200" in text
    assert re.search(r"1 .* 3\.250 .* 2 .* 6\.5 .* ada .* quick\.py", text)
    assert text.index("quick.py") < text.index("slow.py")
    assert "slow.py" not in output("--db", url, "leaderboard", "--author", "ada", "--device", "none")


def test_leaderboard_json(store: Store, url: str) -> None:
    number = store.save(result(submission="é.py", speedup=3.25, block=2), SOURCE)
    rows = json.loads(output("--db", url, "leaderboard", "--json", "--problem", "softmax", "--case", "full", "--device", "NVIDIA H200"))
    [row] = rows
    assert row["evaluation_id"] == number and row["submission"] == "é.py" and row["speedup"] == 3.25 and row["rank"] == 1
    assert set(row) == {
        *("rank", "problem", "case", "device_name", "speedup", "runtime_ms", "baseline_ms", "author", "submission", "block"),
        *("evaluation_id", "source_sha256", "evaluator_version", "started_at"),
    }
    assert json.loads(output("--db", url, "leaderboard", "--json", "--problem", "gelu")) == []


def test_failures(store: Store, url: str) -> None:
    store.save(result(submission="good.py"), SOURCE)
    for name in ("a", "b", "c"):
        store.save(result(Category.TIMEOUT, submission=name), SOURCE)
    text = output("--db", url, "failures")
    assert "of 4 evaluations" in text
    assert re.search(r"run_failed .* timeout .* 3 .* 75\.0%", text)
    assert json.loads(output("--db", url, "failures", "--json")) == {
        "evaluations": 4,
        "counts": [{"status": "run_failed", "category": "timeout", "count": 3, "share": 0.75}],
    }
    assert "no evaluation" in output("--db", url, "failures", "--problem", "gelu")


def test_show_tells_everything(store: Store, url: str) -> None:
    saved = result(Category.OVERSIZED_BLOCK, message="Too many threads", hint="Use 1024", block=4, sample_id=77, evidence=full_evidence())
    number = store.save(saved, SOURCE)
    text = output("--db", url, "show", str(number))
    told = f"""
        run_failed/oversized_block; Too many threads; Use 1024; {saved.submission}; 77; ada; softmax; full; cuda:0; namespaces;
        {saved.source_sha256}; {saved.problem_sha256}; 1.25; 1.125; 1.375; cuda_event; +0.0020 ms unexplained;
        987654321; far off; 1024; inf; 1e-05; 0.25; 1e-07; [1, 2]: 0.1 instead of 0.3;
        softmax_ext; cuda_compile_error; {"k" * 64}; 11.25 s; cuda.cu:7:3; identifier undefined; more of it;
        added, for what the claims leave out; 0.375 ms; the baseline counts without the candidate; 0.5 ms;
        1.923 ms: 4 GB at 4 TB/s, 2 T operations at 800 T/s, with a margin of 1.3;
        nan_or_inf: nothing left; softmax_kernel(float const*); own; ext.so; cudaLaunchKernel; 128×1×1; 4096×1×1; 8192;
        stage call, line 12; RuntimeError: boom; line two; SIGKILL; 60 s; 1073741824 bytes; 11.500 s;
        printed; warned; the judge's own; NVIDIA H200; Xeon; 2.11.0; setting allow_tf32"""
    for fact in told.split(";"):
        assert fact.strip() in text, fact
    assert SOURCE not in text
    assert SOURCE in output("--db", url, "show", str(number), "--source")


def test_show_tells_where_the_time_went(store: Store, url: str) -> None:
    saved = result(duration_s=8.0, evidence=Evidence(stages_s={"start": 1.0, "build": 5.0, "rounds": 1.5}))
    text = output("--db", url, "show", str(store.save(saved, SOURCE)))
    rows = re.findall(r"^ *(start|build|rounds|between them|all) +([\d.]+ s) +([\d.]+%)", text, re.MULTILINE)
    assert rows == [
        ("start", "1.000 s", "12.5%"),
        ("build", "5.000 s", "62.5%"),
        ("rounds", "1.500 s", "18.8%"),
        ("between them", "0.500 s", "6.2%"),
        ("all", "8.000 s", "100.0%"),
    ]
    without = result(submission="other.py", evidence=Evidence())
    assert "Stages" not in output("--db", url, "show", str(store.save(without, SOURCE)))


def test_show_times_and_speedup_of_a_correct_result(store: Store, url: str) -> None:
    store.save(result(speedup=3.5), SOURCE)
    assert "3.5 (7 ms / 2 ms)" in output("--db", url, "show", "1")


def test_show_json_is_the_result(store: Store, url: str) -> None:
    saved = result(evidence=full_evidence())
    number = store.save(saved, SOURCE)
    value = json.loads(output("--db", url, "show", str(number), "--json"), parse_constant=pytest.fail)
    assert value.pop("id") == number
    assert Result.model_validate(value) == saved
    value = json.loads(output("--db", url, "show", str(number), "--json", "--source"))
    assert value["source"] == SOURCE and value["source_exact"] is True


def test_show_of_an_early_rejection(store: Store, url: str) -> None:
    store.save(result(Category.NO_CODE_BLOCK, problem=None, author=None), "text")
    text = output("--db", url, "show", "1")
    assert "rejected/no_code_block" in text
    assert "Environment" not in text and "Build" not in text and "None" not in text


@pytest.mark.parametrize("color", [{}, {"FORCE_COLOR": "1", "TERM": "xterm-256color"}])
def test_text_of_a_submission_is_neither_markup_nor_terminal_commands(store: Store, url: str, color: dict[str, str]) -> None:
    hostile = {
        "submission": HOSTILE,
        "author": HOSTILE,
        "problem": HOSTILE,
        "case": HOSTILE,
        "message": HOSTILE,
        "hint": HOSTILE,
        "device": HOSTILE,
    }
    saved = result(**hostile, evidence=full_evidence(HOSTILE), environment=environment(HOSTILE))  # type: ignore[arg-type]
    store.save(saved, HOSTILE)
    store.save(result(Category.TIMEOUT, submission=HOSTILE + "2"), HOSTILE)
    for arguments in (
        ["leaderboard"],
        ["failures"],
        ["show", "1", "--source"],
        ["show", "1", "--source", "--json"],
        ["leaderboard", "--json"],
    ):
        text = output("--db", url, *arguments, **color)
        styles_removed = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", styles_removed), arguments
        assert "\x1b[2J" not in text and "\x1b]" not in text
        if "failures" not in arguments and "--json" not in arguments:
            joined = re.sub(r"\s*│[^\n]*\n[^\n]*│\s*|\s*\n\s*", "", styles_removed)
            assert "[bold red]" in joined and "\\x1b[2J" in joined.replace("\n", "")


def test_an_error_message_is_neutral_too(tmp_path: Path) -> None:
    finished = run("--db", f"sqlite:///{tmp_path}/\x1b[2J.db", "leaderboard")
    assert finished.returncode == 2
    assert "\\x1b[2J.db" in finished.stderr and "\x1b" not in finished.stderr


@pytest.mark.parametrize("command", [["leaderboard"], ["failures"]])
def test_an_empty_database_is_one_line(store: Store, url: str, command: list[str]) -> None:
    assert output("--db", url, *command).count("\n") == 1


@pytest.mark.parametrize("command", [["leaderboard"], ["failures"], ["show", "1"], ["leaderboard", "--json"]])
def test_a_missing_database_is_one_line_and_not_made(url: str, tmp_path: Path, command: list[str]) -> None:
    finished = run("--db", url, *command)
    assert (finished.returncode, finished.stdout, finished.stderr.count("\n")) == (2, "", 1)
    assert "There is no database" in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_evaluation_is_one_line(store: Store, url: str) -> None:
    finished = run("--db", url, "show", "12")
    assert (finished.returncode, finished.stdout, finished.stderr.count("\n")) == (2, "", 1)
    assert "no evaluation 12" in finished.stderr


def test_a_reader_that_leaves_early_is_no_error(store: Store, url: str) -> None:
    store.save(result(evidence=full_evidence("many lines\n" * 50_000)), SOURCE)
    command = f"{sys.executable} -m db --db '{url}' show 1 | head -n 1"
    finished = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (finished.returncode, finished.stderr, finished.stdout.count("\n")) == (0, "", 1)


def test_a_terminal_that_knows_only_ascii_gets_ascii(store: Store, url: str) -> None:
    store.save(result(submission="é.py"), SOURCE)
    text = output("--db", url, "leaderboard", PYTHONIOENCODING="ascii")
    assert "\\xe9.py" in text


def test_help_comes_at_once() -> None:
    times_s = []
    for _ in range(3):
        started = time.perf_counter()
        assert "leaderboard" in output("--help")
        times_s.append(time.perf_counter() - started)
    assert min(times_s) < 0.5


def test_help_loads_nothing_heavy() -> None:
    code = """if True:
        import sys
        import db.__main__
        try:
            db.__main__.main(["--help"])
        except SystemExit:
            print([name for name in ("rich", "sqlalchemy", "pydantic", "torch") if name in sys.modules])
    """
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"
