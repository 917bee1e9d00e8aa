"""`python -m db`, as a user runs it."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from sqlalchemy import update

from db.__main__ import main
from db.schema.models import EvaluationRow
from db.storage.origin import Origin
from db.store import Entry, Store
from evaluator.results.advice import assay_command
from evaluator.results.category import Category
from evaluator.results.evidence import ConditionsEvidence, Evidence
from evaluator.results.result import Result, now
from tests.command_line import PROJECT
from tests.db.samples import SOURCE, environment, full_evidence, result

pytestmark = pytest.mark.slow(15)


CLEAN = {"PATH": "/usr/bin:/bin"}


HOSTILE = "[bold red]m[/] \x1b[2J\x1b]0;title\x07 \x9b31m \r\u202eexe.fdp [link=http://x]"


def run(*arguments: str, encoding: str = "utf-8", **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in this process, which takes much less time than one of its own."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    with mock.patch.dict(os.environ, CLEAN | environ, clear=True), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = main(arguments)
    told = []
    for stream in streams:
        stream.seek(0)
        told.append(stream.read())
    return subprocess.CompletedProcess(arguments, code, *told)


def refused(*arguments: str) -> str:
    """The one line that says why."""
    finished = run(*arguments)
    assert (finished.returncode, finished.stdout, finished.stderr.count("\n")) == (2, "", 1), finished.stderr
    return finished.stderr


def output(*arguments: str, encoding: str = "utf-8", **environ: str) -> str:
    finished = run(*arguments, encoding=encoding, **environ)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    return finished.stdout


def test_leaderboard(store: Store, url: str) -> None:
    number = store.save(result(submission="é.py", speedup=3.25, block=2), SOURCE)
    store.save(result(submission="slow.py", source="other", speedup=0.5), "other")
    text = output("--db", url, "leaderboard")
    assert "softmax · full · NVIDIA H200" in text
    assert re.search(r"1 .* 3\.250 .* 2 .* 6\.5 .* ada .* é\.py", text)
    assert "slow.py" not in text
    assert "\\xe9.py" in output("--db", url, "leaderboard", encoding="ascii"), "a terminal that knows only ASCII"
    text = output("--db", url, "leaderboard", "--all")
    assert text.index("é.py") < text.index("slow.py")
    assert "slow.py" not in output("--db", url, "leaderboard", "--author", "ada", "--device", "NVIDIA H200")
    filters = ("--problem", "softmax", "--case", "full", "--device", "NVIDIA H200")
    (row,) = json.loads(output("--db", url, "leaderboard", "--json", *filters))
    assert row["evaluation_id"] == number and row["submission"] == "é.py" and row["speedup"] == 3.25 and row["rank"] == 1
    names = """
        rank problem case device_name precision protocol speedup speedup_low speedup_high runtime_ms baseline_ms author submission block
        evaluation_id source_sha256 evaluator_version started_at speed_of_light baseline_speed_of_light best_baseline best_baseline_ms
        category shared result_id disturbed"""
    assert set(row) == set(names.split())
    store.save(result(Category.TIMEOUT, problem="gelu"), SOURCE)
    assert json.loads(output("--db", url, "leaderboard", "--json", "--problem", "gelu")) == []


def test_doubtful_times_are_marked_and_the_note_names_the_evaluation_with_the_reason(store: Store, url: str) -> None:
    shared = Evidence(conditions=ConditionsEvidence(shared=True))
    store.save(result(submission="clean.py", source="clean", speedup=3.0, evidence=Evidence(conditions=ConditionsEvidence())), "clean")
    store.save(result(Category.TIMEOUT, submission="late.py", source="late", evidence=shared), "late")
    for command in (("leaderboard",), ("list",), ("history", "clean.py")):
        assert "*" not in output("--db", url, *command), command
    store.save(result(submission="copy.py", source="shared", author="bob", speedup=2.0), "shared")
    number = store.save(result(submission="off.py", source="shared", author="cyd", speedup=2.5, evidence=shared), "shared")
    text = output("--db", url, "leaderboard")
    # Both authors' places have the later figures of their common source.
    assert "3.000 " in text and len(re.findall(r"2\.500\* .* (?:bob|cyd) ", text)) == 2
    assert text.endswith(f"* doubtful: something disturbed the times; `show {number}` says what.\n")
    rows = json.loads(output("--db", url, "leaderboard", "--json"))
    reason = "others' processes were on the device"
    assert [(row["author"], row["result_id"], row["disturbed"]) for row in rows] == [
        ("ada", 1, ""),
        ("bob", number, reason),
        ("cyd", number, reason),
    ]
    text = output("--db", url, "list")
    assert re.search(r"2\.50×\* .* off\.py", text) and re.search(r"3\.00× .* clean\.py", text) and "`show ID` says what" in text
    assert [row["disturbed"] for row in json.loads(output("--db", url, "list", "--json"))] == [reason, "", "", ""]
    assert [row["disturbed"] for row in json.loads(output("--db", url, "list", "--json", "--sort", "speedup"))] == ["", reason, "", ""]
    assert "2.500*" in output("--db", url, "history", "off.py")
    text = output("--db", url, "compare", "ada", "bob")
    assert re.search(r" 3\.000 +2\.500\* ", text) and text.endswith(f"`show {number}` says what.\n")
    (board,) = json.loads(output("--db", url, "compare", "ada", "bob", "--json"))["boards"]
    assert (board["first_disturbed"], board["second_disturbed"]) == ("", reason)
    (overall,) = json.loads(output("--db", url, "leaderboard", "--overall", "--json"))
    assert [(row["author"], row["results"][0]["disturbed"]) for row in overall["rows"]] == [("ada", ""), ("bob", reason), ("cyd", reason)]
    exported = list(csv.DictReader(io.StringIO(output("--db", url, "export", "--format", "csv"))))
    assert [row["disturbed"] for row in exported] == ["", "", "", reason]
    store.save(result(submission="hot.py", author="dee", source="hot", evidence=shared), "hot")
    assert f"`show {number}` says what of the first." in output("--db", url, "leaderboard")


def test_evidence_that_cannot_be_read_makes_times_doubtful_and_no_list_fails(store: Store, url: str) -> None:
    number = store.save(result(), SOURCE)
    with store._writer.begin() as connection:
        connection.execute(update(EvaluationRow).where(EvaluationRow.id == number).values(evidence=b"no zlib"))
    for command in ("list", "leaderboard"):
        (row,) = json.loads(output("--db", url, command, "--json"))
        assert row["disturbed"] == "this version of Assay can't read its evidence", command


def test_a_shared_rank_is_marked_in_tables_and_a_number_in_json(store: Store, url: str) -> None:
    for author, speedup in (("ada", 2.0), ("bob", 2.0), ("cy", 1.0)):
        store.save(result(submission=f"{author}.py", source=author, author=author, speedup=speedup), author)
    ranks = re.compile(r"^ +(\d=?) ", re.MULTILINE)
    assert ranks.findall(output("--db", url, "leaderboard")) == ["1=", "1=", "3"]
    # The mark stays where the other place is filtered out.
    assert ranks.findall(output("--db", url, "leaderboard", "--author", "bob")) == ["1="]
    assert ranks.findall(output("--db", url, "leaderboard", "--overall")) == ["1=", "1=", "3"]
    rows = json.loads(output("--db", url, "leaderboard", "--json"))
    assert [(row["rank"], row["shared"]) for row in rows] == [(1, True), (1, True), (3, False)]


def test_reduced_precision_is_ranked_where_that_is_allowed(store: Store, url: str) -> None:
    store.save(result(Category.REDUCED_PRECISION, submission="tf32.py", source="tf32", speedup=4.0, author="bob"), "tf32")
    assert "tf32.py" not in output("--db", url, "leaderboard", "--all")
    assert "reduced)" not in output("--db", url, "leaderboard", "--overall")
    assert re.search(r"1 .* 4\.000 .* tf32\.py .* reduced_precision", output("--db", url, "leaderboard", "--allow-reduced-precision"))
    assert "1 (1 reduced)" in output("--db", url, "leaderboard", "--overall", "--allow-reduced-precision")


def test_places_are_chosen_by_shapes_and_inputs_beyond_their_own(store: Store, url: str) -> None:
    store.save(result(submission="made.py", author="bob", speedup=3.0, evidence=full_evidence()), SOURCE)
    store.save(result(submission="other.py", source="other"), "other")
    for question in ("generalises", "robust"):
        for answer, ranks in {"no": [("made.py", 1)], "untested": [("other.py", 2)], "yes": []}.items():
            rows = json.loads(output("--db", url, "leaderboard", "--json", f"--{question}", answer))
            assert [(row["submission"], row["rank"]) for row in rows] == ranks, question
    assert "single boards" in run("--db", url, "leaderboard", "--overall", "--robust", "yes").stderr


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
    assert "assay list --category" in text
    store.save(result(problem="gelu", author="bob"), SOURCE)
    assert "No evaluation" in output("--db", url, "failures", "--problem", "gelu", "--author", "ada")


def test_a_filter_by_a_name_that_is_not_there_tells_the_nearest(store: Store, url: str) -> None:
    store.save(result(), SOURCE)
    wrong = {
        "--problem": ("softmx", "no problem 'softmx'; nearest: softmax"),
        "--device": ("H200", "no device 'H200'; nearest: NVIDIA H200"),
        "--case": ("ful", "no case 'ful'; nearest: full"),
        "--precision": ("xyz", "no precision 'xyz'; known: own"),
        "--author": ("AD", "no author 'AD'; nearest: ada"),
        "--protocol": ("grap", "no protocol 'grap'; nearest: graph"),
    }
    for command in (["list"], ["leaderboard"], ["leaderboard", "--overall"], ["failures"], ["compare", "ada", "ada"]):
        lacks = {"compare": "--author", "list": "--protocol", "failures": "--protocol"}.get(command[0])
        for option, (name, told) in wrong.items():
            if option != lacks:
                assert told in refused("--db", url, *command, option, name), (command, option)
        assert run("--db", url, *command, "--problem", "softmax", "--device", "NVIDIA H200", "--precision", "own").returncode == 0


def test_show_tells_everything(store: Store, url: str) -> None:
    saved = result(Category.OVERSIZED_BLOCK, message="Too many threads", hint="Use 1024", block=4, sample_id=77, evidence=full_evidence())
    number = store.save(saved, SOURCE)
    text = output("--db", url, "show", str(number))
    told = f"""
        run_failed/oversized_block; Too many threads; Use 1024; {saved.submission}; 77; ada; softmax; full; cuda:0; namespaces;
        {saved.source_sha256}; {saved.problem_sha256}; 1.25; 1.125; 1.375; cuda_event;
        987654321; far off; 1024; inf; 1e-05; 0.25; 1e-07; [1, 2]: 0.1 instead of 0.3;
        softmax_ext; cuda_compile_error; {"k" * 64}; 11.25 s; cuda.cu:7:3; identifier undefined; more of it;
        a tail of 3; all of them are 0;
        host time to launch a call, not included; 0.0625 ms (submission); subtracted from each call; 3.5 µs, the time of its events;
        added for time missing from the claims; 0.375 ms; baseline without the submission, which counts; 0.5 ms;
        1.923 ms: 4 GB at 4 TB/s, 2 T operations at 800 T/s, with a margin of 1.3;
        accepts trivial answers; zeros; generalises: no; made from the problem's numbers; float32 (15, 7); far from it;
        robust: no; shifted; precision_loss; 0.0312; somewhat off; left out; the reference has no answer; gross error; 0.0625;
        cause; GELU's tanh approximation; initialized with the reference's seed; fc.weight; scale (64,); bias (32,);
        no longer right, as expected: this proves that its own kernels are used (nan_or_inf: nothing left);
        softmax_kernel(float const*); own; ext.so; cudaLaunchKernel; 128×1×1; 4096×1×1; 8192;
        0.5; 75.0 %; times by events around each launch, in 3 further calls that took 1.333 ms each;
        stage call, line 12; RuntimeError: boom; line two; SIGKILL; 60 s; 1073741824 bytes; 11.500 s;
        doubtful times; in a second timing too; 0.5 ms, bound by memory;
        2.147 GB at 4.25 TB/s; 1 G at 125 TFLOP/s of 3 × tf32; calibrated 2026-05-01 12:00:00+00:00, to 1.00 %;
        1980; 41.5; sw_power_cap; hw_thermal_slowdown; 2.5 ms, baseline 4.5 ms;
        printed; warned; the judge's own; NVIDIA H200; Xeon; 2.11.0; setting allow_tf32"""
    for fact in told.split(";"):
        assert fact.strip() in text, fact
    # Rounds are numbered from 1, as in messages; the record counts from 0.
    assert re.search(r"^1 +987654321 +wrong_values", text, re.MULTILINE) and "Wrong in round 1" in text and "round 0" not in text
    assert SOURCE not in text
    assert "Profile by Nsight Compute 2025.3.1.0, on the case small" in text
    assert "24.0 % of 25.0 %" in text and "100 MB read, 100 MB written" in text
    assert SOURCE in output("--db", url, "show", str(number), "--source")


def test_show_tells_where_the_time_went(store: Store, url: str) -> None:
    saved = result(duration_s=8.0, evidence=Evidence(stages_s={"start": 1.0, "build": 5.0, "rounds": 1.5}, held_s={"rounds": 1.25}))
    text = output("--db", url, "show", str(store.save(saved, SOURCE)))
    rows = re.findall(r"^ *(start|build|rounds|between them|all) +([\d.]+ s) +([\d.]+%) *([\d.]+ s)?$", text, re.MULTILINE)
    assert rows == [
        ("start", "1.000 s", "12.5%", ""),
        ("build", "5.000 s", "62.5%", ""),
        ("rounds", "1.500 s", "18.8%", "1.250 s"),
        ("between them", "0.500 s", "6.2%", ""),
        ("all", "8.000 s", "100.0%", "1.250 s"),
    ]
    without = result(submission="other.py", evidence=Evidence())
    assert "Stages" not in output("--db", url, "show", str(store.save(without, SOURCE)))


def test_show_times_and_speedup_of_a_correct_result(store: Store, url: str) -> None:
    store.save(result(speedup=3.5), SOURCE)
    assert "3.5 (7 ms / 2 ms)" in output("--db", url, "show", "1")
    store.save(result(submission="light.py", evidence=full_evidence()), SOURCE)
    assert re.search(r"of the speed of light +25\.0 %, baseline 12\.5 %", output("--db", url, "show", "2"))
    assert "25.0 % (12.5 %)" in output("--db", url, "leaderboard", "--all")


def test_show_last_is_the_newest(store: Store, url: str) -> None:
    for name in ("first.py", "second.py"):
        store.save(result(submission=name), SOURCE)
    assert "second.py" in output("--db", url, "show", "last") and "second.py" not in output("--db", url, "show", "1")


def test_show_json_is_the_result(store: Store, url: str) -> None:
    saved = result(evidence=full_evidence())
    number = store.save(saved, SOURCE)
    value = json.loads(output("--db", url, "show", str(number), "--json"), parse_constant=pytest.fail)
    assert value.pop("id") == number
    assert value.pop("speedup_interval") == pytest.approx([2 / 1.007, 2 * 1.007], rel=1e-3)
    assert (value.pop("speed_of_light"), value.pop("baseline_speed_of_light")) == (0.25, 0.125)
    assert (value.pop("generalises"), value.pop("robust")) == ("no", "no")
    compiled = {"runtime_ms": 1.25, "speedup": 0.625}
    assert value.pop("baselines") == {"eager": {"runtime_ms": 4.0, "speedup": 2.0}, "compile": compiled}
    assert value.pop("best_baseline") == "compile"
    assert value.pop("origins") == []
    assert Result.model_validate(value) == saved
    value = json.loads(output("--db", url, "show", str(number), "--json", "--source"))
    assert value["source"] == SOURCE and value["source_exact"] is True


def test_show_of_an_early_rejection(store: Store, url: str) -> None:
    store.save(result(Category.NO_CODE_BLOCK, problem=None, author=None), "text")
    text = output("--db", url, "show", "1")
    assert "rejected/no_code_block" in text
    assert "Environment" not in text and "Build" not in text and "None" not in text


@pytest.mark.parametrize("color", [{}, {"FORCE_COLOR": "1", "TERM": "xterm-256color"}], ids=["plain", "coloured"])
def test_text_of_a_submission_is_neither_markup_nor_terminal_commands(store: Store, url: str, color: dict[str, str]) -> None:
    names = dict.fromkeys(("submission", "author", "problem", "case", "message", "hint", "device"), HOSTILE)
    saved = result(**names, evidence=full_evidence(HOSTILE), environment=environment(HOSTILE))  # type: ignore[arg-type]
    store.save(saved, HOSTILE)
    store.save(result(Category.TIMEOUT, submission=HOSTILE + "2"), HOSTILE)
    for arguments in (
        ["leaderboard"],
        ["leaderboard", "--overall"],
        ["history", HOSTILE],
        ["compare", HOSTILE, HOSTILE],
        ["failures"],
        ["list"],
        ["list", "--problem", HOSTILE, "--author", HOSTILE],
        ["show", "1", "--source"],
        ["show", "1", "--source", "--json"],
        ["leaderboard", "--json"],
    ):
        text = output("--db", url, *arguments, **color)
        styles_removed = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", styles_removed), arguments
        assert "\x1b[2J" not in text and "\x1b]" not in text
        if not {"failures", "list", "--json"} & set(arguments):
            joined = re.sub(r"\s*│[^\n]*\n[^\n]*│\s*|\s*\n\s*", "", styles_removed)
            assert "[bold red]" in joined and "\\x1b[2J" in joined.replace("\n", "")


def test_what_is_missing_is_one_line_and_not_made(store: Store, url: str, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    for command in (["leaderboard"], ["show", "1"], ["leaderboard", "--json"], ["check"], ["export", "--format", "json"]):
        assert "There is no database" in refused("--db", f"sqlite:///{tmp_path}/none.db", *command)
    told = refused("--db", f"sqlite:///{tmp_path}/\x1b[2J.db", "leaderboard")
    assert "\\x1b[2J.db" in told and "\x1b" not in told, "an error message is neutral too"
    for absent in ("12", "last"):
        assert f"no evaluation {absent}" in refused("--db", url, "show", absent)
    with pytest.raises(SystemExit, match="2"):
        run("--db", url, "show", "newest")
    assert set(tmp_path.iterdir()) == before
    for command in (["leaderboard"], ["leaderboard", "--overall"], ["failures"], ["list"]):
        assert output("--db", url, *command).count("\n") == 1, "an empty database"


def test_a_reader_that_leaves_early_is_no_error(store: Store, url: str) -> None:
    store.save(result(evidence=full_evidence("many lines\n" * 50_000)), SOURCE)
    command = f"{sys.executable} -m db --db '{url}' show 1 | head -n 1"
    finished = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", command], cwd=PROJECT, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr, finished.stdout.count("\n")) == (0, "", 1)


def test_overall_compare_and_history(store: Store, url: str) -> None:
    store.save(result(speedup=4.0), SOURCE)
    store.save(result(Category.TIMEOUT, problem="gelu", submission="g.py"), SOURCE)
    text = output("--db", url, "leaderboard", "--overall")
    assert "2 tasks" in text and "timeout 1" in text and "0.1 for each unsolved task" in text
    assert re.search(r"1 .* ada .* 1 .* 50\.0% .* 0\.632 .* 50\.0% .* 1 0 0 .* 2 .* 2", text)
    (board,) = json.loads(output("--db", url, "leaderboard", "--overall", "--json"))
    assert board["tasks"] == 2 and board["rows"][0]["fast"]["1.0"] == 0.5
    store.save(result(author="bob", submission="b.py", source="b", speedup=2.0), "b")
    text = output("--db", url, "compare", "ada", "bob", "--problem", "softmax")
    assert "1 won, 0 lost, 0 tied; ratio 2, 95 % interval 2 to 2; sign test p = 1" in text
    assert json.loads(output("--db", url, "compare", "bob", "ada", "--json"))["ratio"] == 0.5
    assert "no author 'dan'" in refused("--db", url, "compare", "ada", "dan")
    assert "/compare?left=14&right=15 of `assay serve` compares two evaluations" in refused("--db", url, "compare", "14", "15").replace(
        assay_command(), "assay"
    )
    store.save(result(Category.TIMEOUT, submission="b.py", author="bob"), SOURCE)
    text = output("--db", url, "history", "b.py")
    assert re.search(r"3 .* correct/ok .* 2\.000", text) and re.search(r"4 .* run_failed/timeout .* current", text)
    assert [row["is_current"] for row in json.loads(output("--db", url, "history", "b.py", "--json"))] == [False, True]


def test_export_and_import(store: Store, url: str, tmp_path: Path) -> None:
    store.save(result(evidence=full_evidence()), SOURCE)
    other = f"sqlite:///{tmp_path}/other.db"
    (tmp_path / "all.jsonl").write_text(output("--db", url, "export", "--format", "json"))
    assert "1 evaluation read, 1 added" in output("--db", other, "import", str(tmp_path / "all.jsonl"))
    told = json.loads(output("--db", other, "import", str(tmp_path / "all.jsonl"), "--json"))
    assert (told["read"], told["added"], told["known"]) == (1, 0, 1)
    assert output("--db", url, "export", "--format", "csv").startswith("id,submission,")
    told = json.loads(output("--db", url, "export", "--format", "parquet", "--output", str(tmp_path / "all.parquet"), "--json"))
    assert told["evaluations"] == 1 and (tmp_path / "all.parquet").read_bytes()[:4] == b"PAR1"
    assert not list(tmp_path.glob("*.part"))
    finished = run("--db", url, "export", "--format", "json", "--output", str(tmp_path / "none" / "x"))
    assert (finished.returncode, finished.stderr.count("\n")) == (2, 1)


def test_check_and_gc(store: Store, url: str) -> None:
    store.save(result(), SOURCE)
    assert "1 evaluation: no fault" in output("--db", url, "check", "--deep")
    with store.change() as connection:
        connection.exec_driver_sql("DELETE FROM standings")
    finished = run("--db", url, "check")
    assert finished.returncode == 1 and "standings misses" in finished.stdout
    assert json.loads(run("--db", url, "check", "--json").stdout)["ok"] is False
    assert "no fault" in output("--db", url, "check", "--repair")
    assert "nothing" in output("--db", url, "gc")


def test_submissions_get_another_author(store: Store, url: str) -> None:
    store.save(result(submission="a.py", author=None), SOURCE)
    store.save(result(submission="b.py"), SOURCE)
    told = output("--db", url, "author", "set", HOSTILE, "a.py", "b.py")
    assert told.startswith("2 submissions (2 evaluations) are now by [bold red]m[/] \\x1b[2J") and "\x1b" not in told
    assert told.endswith("; before: 1 by (no author), 1 by ada\n")
    assert output("--db", url, "author", "set", "bob", "a.py").startswith("1 submission (1 evaluation) is now by bob; before: 1 by [bold")
    told = json.loads(output("--db", url, "author", "set", "bob", "a.py", "--json"))
    assert told == {"author": "bob", "submissions": 0, "evaluations": 0, "before": [], "unchanged": 1}
    assert output("--db", url, "author", "set", "bob", "a.py") == "1 submission already was by bob\n"
    assert "no run 'first'; there is none" in refused("--db", url, "author", "set", "bob", "--run", "first")
    for words in (["set", "bob"], ["set", "bob", "a.py", "--run", "1"], ["bob", "a.py"], ["set"]):
        with pytest.raises(SystemExit, match="2"):
            run("--db", url, "author", *words)


def test_the_core_needs_no_extra(store: Store, url: str) -> None:
    store.save(result(), SOURCE)
    code = f"""if True:
        import sys
        for name in ("psycopg", "pyarrow", "pandas", "fastapi"):
            sys.modules[name] = None
        import db.__main__
        for words in (["leaderboard"], ["export", "--format", "csv"], ["check"]):
            assert db.__main__.main(["--db", {url!r}, *words]) == 0
        assert db.__main__.main(["--db", {url!r}, "export", "--format", "parquet", "--output", "/dev/null"]) == 2
        assert db.__main__.main(["--db", "postgresql://localhost/x", "check"]) == 2
    """
    finished = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    first, second = finished.stderr.splitlines()
    assert "pip install -c constraints.txt -e '.[parquet]'" in first and "pip install -c constraints.txt -e '.[postgres]'" in second


LONG = "submissions/softmax/a/folder/that/is/deep/quick.py"


@pytest.fixture
def listed_store(store: Store) -> Store:
    """Evaluations 1 to 5, the last two of them of run 1."""
    store.save(result(submission=LONG, speedup=3.25), "1")
    store.save(result(Category.TIMEOUT, submission="b.py", author=None, block=2, started_at=now() - timedelta(days=3)), "2")
    store.save(result(Category.NO_CODE_BLOCK, submission="c.md", problem=None), "3")
    store.start_run(["pipeline.py"])
    store.save(
        result(Category.ILLEGAL_MEMORY_ACCESS, submission="d.py", problem="bias_residual_relu", author="a-long-name-of-a-model"), "4"
    )
    asked = tuple(Origin(step, "p7", {"run": run, "seed": "1"}) for step, run in ((12, "first"), (20, "x-second")))
    narrow = result(Category.REDUCED_PRECISION, submission="e.py", case="small", message="in float16 only")
    store.save_all([Entry(narrow, "5", origins=asked)])
    return store


LISTED: list[tuple[tuple[str, ...], list[int]]] = [
    ((), [5, 4, 3, 2, 1]),
    (("--author", "ada", "--problem", "softmax"), [5, 1]),
    (("--case", "small"), [5, 3]),
    (("--run", "last", "--status", "run_failed"), [4]),
    (("--since", "1d"), [5, 4, 3, 1]),
    (("--since", "2000-01-01", "--category", "ok"), [1]),
    (("--since", "2999-01-01T12:00"), []),
    (("--step", "12"), [5]),
    (("--tag", "run=first", "--sort", "submission"), [5]),
    (("--step", "20", "--tag", "run=first"), []),
    (("--tag", "seed=1", "--author", "ada"), [5]),
    (("--tag", "run=second"), []),
    (("--sort", "speedup"), [1, 5, 4, 3, 2]),
    (("--sort", "submission", "--run", "1"), [4, 5]),
    (("--sort", "category", "--limit", "1"), [4]),
    (("--search", "Float16 only"), [5]),
    (("--search", "observed", "--author", "ada", "--sort", "speedup"), [1, 3]),
    (("--search", '"'), []),
]
MISTYPED: dict[tuple[str, str], str] = {
    ("--status", "corect"): "no status 'corect'; nearest: correct",
    ("--category", "tiemout"): "no category 'tiemout'; nearest: timeout",
    ("--since", "yesterday"): "invalid time 'yesterday'",
    ("--since", "999999d"): "invalid time '999999d'",
    ("--step", "-1"): "a whole number from 0",
    ("--tag", "run"): "invalid tag 'run'; use NAME=VALUE",
    ("--tag", 'a"b=c'): "use NAME=VALUE",
    ("--limit", "0"): "a whole number from 1",
    ("--sort", "speed"): "invalid choice: 'speed'",
    ("--statsu", "correct"): "python -m db list: error: unrecognized arguments: --statsu correct",
}


def test_list_shows_what_is_asked_for_newest_first(listed_store: Store, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, numbers in LISTED:
        rows: list[dict[str, Any]] = json.loads(output("--db", url, "list", "--json", *words))
        assert [row["evaluation_id"] for row in rows] == numbers, words
        text = output("list", "--db", url, *words)
        assert [int(number) for number in re.findall(r"^ *(\d+)  ", text, re.MULTILINE)] == numbers, words
    for run_id, told in (("7", "no run '7'; the last one is 1"), ("²", "no run '²'"), ("9" * 40, "the last one is 1")):
        assert told in refused("list", "--db", url, "--run", run_id)
    for words, told in MISTYPED.items():
        with pytest.raises(SystemExit, match="2"):
            main(["list", "--db", url, *words])
        assert told in capsys.readouterr().err, words


def test_show_lists_the_requests_of_training_runs(listed_store: Store, url: str) -> None:
    lines = output("--db", url, "show", "5").split("Requested by training runs\n")[1].splitlines()
    assert [line.split() for line in lines[1:3]] == [["12", "p7", "run=first,", "seed=1"], ["20", "p7", "run=x-second,", "seed=1"]]
    (first, _) = json.loads(output("--db", url, "show", "5", "--json"))["origins"]
    assert first == {"step": 12, "prompt": "p7", "tags": {"run": "first", "seed": "1"}}
    assert "training" not in output("--db", url, "show", "1")


def test_export_has_the_filters_of_list(listed_store: Store, url: str) -> None:
    for words, numbers in LISTED:
        if not {"--limit", "--sort", "--search"} & {*words}:
            told = output("--db", url, "export", "--format", "json", *words)
            assert [json.loads(line)["id"] for line in told.splitlines()] == sorted(numbers), words
    table = output("--db", url, "export", "--format", "csv", "--category", "timeout", "--since", "7d")
    assert [line.split(",")[0] for line in table.splitlines()] == ["id", "2"]
    assert "give --format FORMAT." in refused("export", "--db", url)
    assert "nearest: ada" in refused("export", "--db", url, "--format", "csv", "--author", "ada1")


def test_list_has_a_line_for_each_that_fits_on_80_columns(listed_store: Store, url: str) -> None:
    heading, *lines, note = output("--db", url, "list", COLUMNS="80").splitlines()
    assert heading.split() == ["id", "category", "speedup", "problem", "submission"]
    assert note == "Not shown for lack of room: UTC, author; widen the terminal or use --json"
    assert len(lines) == 5 and max(map(len, lines)) <= 80
    assert re.search(r"^ *1  ok +3\.25×  softmax +.*….*quick\.py$", lines[-1])
    assert "illegal_memory_access" in lines[1] and "b.py [2]" in lines[3]
    told = output("--db", url, "list", "--limit", "4", COLUMNS="160")
    assert "UTC" in told and re.search(r"^ *5  \d\d-\d\d \d\d:\d\d  reduced_precision ", told, re.MULTILINE)
    assert "a-long-name-of-a-model" in told and told.endswith("There are more: --limit 8\n")
    assert LONG in output("--db", url, "list", "--author", "ada", COLUMNS="160")
