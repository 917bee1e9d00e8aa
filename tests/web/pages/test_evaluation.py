"""The page of one evaluation: its evidence, times, findings, workloads and source."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from db.queries.runs import state
from db.storage.origin import Origin, add_origins
from db.store import Entry, Store
from evaluator.results.category import Category
from tests.command_line import PROJECT, Bench
from tests.db.samples import PROBLEM_SOURCE, full_evidence, in_workloads, result
from tests.web.conftest import put
from tests.web.seen import Seen, seen
from web.pages.evaluations import rerun_command

pytestmark = pytest.mark.slow(10)


def test_an_evaluation_shows_all_its_evidence(client: TestClient, ids: dict[str, int]) -> None:
    failed = seen(client, f"/evaluation/{ids['failed']}")
    told = """
        incorrect/wrong_values; as observed; submission; wrong.py [2]; Feedback; softmax_kernel(float const*); 4096×1×1; 75.0 %;
        Correctness rounds; 987654321; a tail of 3; ..1#; identifier undefined; Compiler output; more of it; printed; value_31;
        no longer right, as expected: this proves that its own kernels are used (nan_or_inf: nothing left);
        RuntimeError: boom; SIGKILL; Stages; 11.500 s; between them; Environment; Xeon; allow_tf32; 1980; namespaces;
        assay judge wrong.py --rerun --problem softmax --case full --author bob;
        --author bob --db sqlite:///results.db --device cuda;
        pipeline.py submissions --db sqlite:///results.db"""
    for text in map(str.strip, told.split(";")):
        assert text in failed.text, text
    assert "Wrong in round 1" in failed.text and "round 0" not in failed.text.lower()
    assert any(row[:2] == ["1", "987654321"] for row in failed.rows)
    assert f"/evaluation/{ids['failed']}/error.svg?theme=dark" in failed.links
    timed = seen(client, f"/evaluation/{ids['timed']}")
    for text in ("1.25×", "Times", "0.375 ms", "1.923 ms", "Clock cuda_event"):
        assert text in timed.text, text


def test_fields_for_training_runs_are_shown_where_there_are_any(client: TestClient, store: Store) -> None:
    assert 'name="step"' not in client.get("/evaluations").text
    assert 'name="step"' in client.get("/evaluations?tag=run=first").text
    store.save_all([Entry(result(), "x", PROBLEM_SOURCE, origins=(Origin(12),))])
    assert 'name="step"' in client.get("/evaluations?status=correct").text


def test_an_evaluation_shows_what_training_runs_said_and_leads_to_others_of_the_step(client: TestClient, store: Store) -> None:
    tags = {"run": "<b>first", "seed": "1"}
    origins = (Origin(12, "<i>prompt", tags), *(Origin(step) for step in range(30)))
    for saved, asked in ((result(submission="a"), origins), (result(Category.TIMEOUT, submission="b"), (Origin(12),))):
        store.save_all([Entry(saved, "x", PROBLEM_SOURCE, origins=asked)])
    found = seen(client, "/evaluation/1")
    assert ["12", "<i>prompt", "run=<b>first seed=1"] in [[cell.strip() for cell in row] for row in found.rows]
    assert "11 more are in the JSON." in " ".join(found.text.split())
    assert client.get("/evaluation/1.json").json()["origins"][0] == {"step": 12, "prompt": "<i>prompt", "tags": tags}
    numbers = {}
    for link in ("/evaluations?step=12", "/evaluations?tag=run%3D%3Cb%3Efirst"):
        assert link in found.links
        numbers[link] = {row["evaluation_id"] for row in client.get(link.replace("?", ".json?")).json()["evaluations"]}
    assert list(numbers.values()) == [{1, 2}, {1}]
    assert client.get("/evaluations.json?step=0&tag=").json()["total"] == 1
    for wrong in ("step=-1", "step=x", "tag=run", "tag=run=a%00b", f"step={2**63}"):
        assert client.get(f"/evaluations?{wrong}").status_code in (400, 422), wrong
    assert "training" not in seen(client, "/evaluation/2").text.replace("Requested by training runs", "", 1)


def test_an_author_s_training_steps_are_drawn_run_by_run(client: TestClient, store: Store) -> None:
    for number, (category, step, run) in enumerate(
        [
            (Category.OK, 2, "a"),
            (Category.TIMEOUT, 2, "a"),
            (Category.TIMEOUT, 1, "a"),
            (Category.NO_DEVICE, 1, "a"),
            (Category.OK, 1, None),
        ]
    ):
        asked = (Origin(step, f"p{number}", {"run": run} if run else {}), Origin(step, "again", {"run": run} if run else {}))
        store.save_all([Entry(result(category, submission=f"s{number}", speedup=2.0), "x", PROBLEM_SOURCE, origins=asked)])
    told = client.get("/author.json?name=ada").json()["steps"]
    assert [tuple(each.values()) for each in told] == [
        *(("a", 1, 1, 0.0, 0.0, None), ("a", 2, 2, 0.5, 0.5, pytest.approx(2.0)), (None, 1, 1, 1.0, 1.0, pytest.approx(2.0)))
    ], "the newest run is the last"
    (link,) = {link for link in seen(client, "/author?name=ada").links if "steps.svg" in link and "light" in link}
    picture = client.get(link).text
    assert "right in a" in picture and "faster in a" in picture and "The last: 100% right at step 1." in picture
    assert client.get("/author/steps.svg?name=bob").status_code == 404
    before = state(store)
    with store.change() as connection:
        add_origins(connection, [(None, 5, Origin(9))])
    assert state(store) != before, "kept figures are found again after a repeated request"


def test_the_command_on_the_page_judges_it_again(tmp_path: Path) -> None:
    """It is judged on a problem of one's own, into a database of one's own; a file without ModelNew needs no judge."""
    bench = Bench(tmp_path)
    bench.write("double/none.py", "x = 1\n")
    bench.run("double/none.py")
    with Store.open(f"sqlite:///{bench.database}") as store:
        stored = store.get(1)
    assert stored is not None and stored.command is not None
    words = shlex.split(rerun_command(stored.result, stored.command.words))
    assert words[:2] == ["assay", "judge"]
    done = subprocess.run([sys.executable, PROJECT / "pipeline.py", *words[2:]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 evaluated: 1 rejected" in done.stdout, done.stderr
    with Store.open(f"sqlite:///{bench.database}") as store:
        again = store.get(2)
    assert again is not None and (again.result.category, again.result.problem) == (Category.MISSING_MODEL_NEW, "double")


def test_the_command_on_the_page_has_the_run_s_own_options() -> None:
    """A response whose last block was judged needs no option, as its file alone has the verdict."""
    of_block = result(submission="answer.md", block=1)
    for run, added in ((("assay", "judge", "answer.md"), False), (("assay", "judge", "--every-block", "answer.md"), True), ((), True)):
        assert ("--every-block" in rerun_command(of_block, run).split()) == added, run


def test_the_command_on_the_page_has_abbreviated_options_in_full() -> None:
    of_block = result(submission="answer.md", block=1)
    words = rerun_command(of_block, ("assay", "judge", "--every", "--head=inc", "--timeo", "5", "answer.md")).split()
    assert [words[words.index(name) + 1] for name in ("--headers", "--timeout")] == ["inc", "5"] and "--every-block" in words
    assert "--every-block" not in rerun_command(of_block, ("assay", "judge", "--", "--every")).split()


def test_an_evaluation_shows_how_far_its_times_can_be_trusted(client: TestClient, ids: dict[str, int]) -> None:
    timed = seen(client, f"/evaluation/{ids['timed']}")
    for text in (
        *(
            "25.0 % (20.0 %) of the speed of light",
            "0.5 ms, bound by memory",
            "3 × tf32",
            "calibrated 2026-05-01 12:00:00+00:00, to 1.00 %",
        ),
        "doubtful: others' processes were on the device and its clock was lowered (hw_thermal_slowdown), in a second timing too.",
        *("timed twice; first time", "2.5 ms, baseline 4.5 ms", "1980", "sw_power_cap", "640.5"),
    ):
        assert text in timed.text, text
    (row,) = [row for row in timed.rows if row and row[0] == "after time"]
    assert row[1:] == ["1", "1755", "", "", "640.5", "", "2"]
    assert client.get(f"/evaluation/{ids['timed']}/clock.svg").status_code == 200


def test_an_evaluation_shows_what_the_sanitizer_found_at_its_line(client: TestClient, ids: dict[str, int]) -> None:
    path = f"/evaluation/{ids['failed']}"
    found = seen(client, path)
    (row,) = [row for row in found.rows if row[:1] == ["racecheck"] and len(row) > 5]
    assert [" ".join(text.split()) for text in row] == [
        *("racecheck", "31", "cuda.cu:7", "softmax_kernel(float const*)", "warning", "3"),
        *("Write access that races", "Read access, line 33508 hazards"),
    ]
    assert "compute-sanitizer 2025.3.1.0, on the case small" in found.text and "12.5 s" in found.text
    line = re.search(r'<tr id="L31"(.*?)</tr>', client.get(path).text, re.DOTALL)
    assert line is not None and "<b>racecheck</b> Write access that races" in line[1]


def test_an_evaluation_shows_its_profile_as_a_table_and_a_roofline(client: TestClient, store: Store) -> None:
    number = store.save(result(submission="softmax/profiled.py", evidence=full_evidence(" <b>&\x1b")), "source")
    found = seen(client, f"/evaluation/{number}")
    assert "Profile by Nsight Compute 2025.3.1.0" in found.text and "100 MB read, 100 MB written" in found.text
    (own,) = [row for row in found.rows if row and row[0].startswith("void softmax_kernel<4>(float const*) <b>&") and row[1] == "its own"]
    assert own[2:9] == ["0.25", "50.0 %", "25.0 %", "24.0 % of 25.0 %", "registers", "168", "5120"]
    assert own[9:] == ["66.0 %", "400", "100", "6e+07", "long_scoreboard 60.0 %, barrier 20.0 %"]
    assert [row[1] for row in found.rows if len(row) == 14 and row[0] != "kernel"] == ["its own", "the reference", "the reference"]
    picture = client.get(f"/evaluation/{number}/roofline.svg?theme=dark")
    assert picture.headers["content-type"] == "image/svg+xml" and "Roofline of evaluation" in picture.text
    assert "softmax_kernel&lt;4&gt;(float const*) &lt;b&gt;&amp;" in client.get(f"/evaluation/{number}").text


def test_a_diagnostic_is_at_its_line(client: TestClient, ids: dict[str, int]) -> None:
    text = client.get(f"/evaluation/{ids['failed']}").text
    row = re.search(r'<tr id="L31"(.*?)</tr>', text, re.DOTALL)
    assert row is not None and "value_31" in row[1] and "identifier undefined" in row[1] and "marked" in row[1]
    exception = re.search(r'<tr id="L12"(.*?)</tr>', text, re.DOTALL)
    assert exception is not None and "RuntimeError: boom" in exception[1]
    assert re.search(r'<tr id="L30"><th', text)


def test_lines_are_counted_as_in_the_file_that_was_handed_in(client: TestClient, store: Store) -> None:
    evidence = full_evidence().model_copy(update={"first_line": 25})
    number = put(store, result(Category.CUDA_COMPILE_ERROR, evidence=evidence))
    text = client.get(f"/evaluation/{number}").text
    row = re.search(r'<tr id="L31"(.*?)</tr>', text, re.DOTALL)
    assert row is not None and "value_7" in row[1] and "identifier undefined" in row[1]
    assert 'id="L24"' not in text and 'id="L25"' in text


def test_the_json_of_an_evaluation_is_that_of_show_with_its_feedback(client: TestClient, ids: dict[str, int]) -> None:
    told = client.get(f"/evaluation/{ids['failed']}.json").json()
    assert told["id"] == ids["failed"] and told["source"].startswith("value_1 = 1\n") and told["source_exact"] is False
    assert told["evidence"]["rounds"][0]["outputs"][0]["max_error"] == "Infinity"
    assert told["feedback"].startswith("verdict: incorrect/wrong_values")


def test_an_evaluation_says_how_it_was_timed_and_in_which_shapes_it_is_right(client: TestClient, store: Store) -> None:
    evidence = full_evidence()
    assert evidence.timing is not None
    timing = evidence.timing.model_copy(update={"fallback": "graph: it waits", "cores": (0, 1, 5), "strayed": True})
    number = put(store, result(evidence=evidence.model_copy(update={"timing": timing}), precision="float16"))
    found = seen(client, f"/evaluation/{number}")
    told = """
        cold: device time of a call, with its inputs in no cache; graph: it waits;
        when the speedup was known to 1 %: 3 timing blocks of 16 calls;
        0-1,5, 3 in all; a thread had left them; baseline compile; Over the best baseline, compile; --dtype float16;
        In other shapes: generalises no; odd (made from the problem's numbers); float32 (15, 7); wrong_shape; far from it;
        On inputs of other distributions: robust no; shifted; precision_loss; 0.0312; somewhat off; left out;
        no, of 3 other distributions of inputs; Cause of the errors in round 1: GELU's tanh approximation; gross error; 0.0625;
        Parameters and buffers; initialized with the reference's seed; scale (64,); bias (32,);
        A wrong output in one of them is shape_specific; no, of 2 other shapes; --baseline eager,compile; accepts trivial answers"""
    for text in map(str.strip, told.split(";")):
        assert text in found.text, text
    (row,) = [row for row in found.rows if row[0].strip() == "baseline compile"]
    assert row[-1].strip() == "1", "one sample is far off"
    told = client.get(f"/evaluation/{number}.json").json()
    assert (told["generalises"], told["robust"], told["best_baseline"]) == ("no", "no", "compile")
    assert told["evidence"]["timing"]["cores"] == [0, 1, 5]


def test_an_evaluation_without_times_is_judged_again_without_them(client: TestClient, store: Store) -> None:
    evidence = full_evidence().model_copy(update={"untimed": True, "timing": None})
    found = seen(client, f"/evaluation/{put(store, result(Category.UNTIMED, evidence=evidence))}")
    assert "--no-timing" in found.text and "--protocol" not in found.text


def test_workloads_are_listed_drawn_and_lead_to_their_boards(store: Store, client: TestClient) -> None:
    number = put(store, in_workloads("ada", small=2.0, large=8.0, huge=None), "of ada")
    found = Seen(client.get(f"/evaluation/{number}").text)
    assert "Workloads" in found.text
    (board,) = [link for link in found.links if link.endswith("case=large")]
    assert "8.000" in Seen(client.get(board).text).text
    picture = client.get(f"/evaluation/{number}/workloads.svg")
    assert picture.status_code == 200
    assert all(name in picture.text for name in ("small", "large", "huge"))


def test_only_the_leaderboard_proposes_workloads(store: Store, client: TestClient) -> None:
    put(store, in_workloads("ada", small=2.0, large=8.0), "of ada")
    for path in ("/", "/leaderboard", "/evaluations", "/failures"):
        choices = re.findall(r'<option value="(all|small|large)">', client.get(path).text)
        assert choices == (["all", "large", "small"] if path == "/leaderboard" else ["all"]), path
