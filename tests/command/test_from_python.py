"""`judge` and `Judge`: the verdicts of the command line, as results in Python."""

import asyncio
import inspect
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type, cast

import pytest

import assay
import pipeline
from command.from_python import Judge, JudgeError, feedback, judge
from command.given import Given, Reader
from command.options import parser
from command.python_options import Options, namespace
from configuration.values import name_of, options_of
from db.queries.runs import runs
from db.store import Store
from evaluator.results.result import Result
from evaluator.submission.extract import sha256
from tests import warm
from tests.command_line import PROBLEM, Bench, submission

pytestmark = pytest.mark.slow(20)

NOT_FROM_PYTHON = {"author-from", "json", "feedback", "fail-on", "junit"}
"""Options that are about files, folders and exit codes of the command line."""
CHANGING = {"id", "line", "feedback", "started_at", "duration_s"}
CHANGING |= {"runtime_ms", "baseline_ms", "speedup", "speedup_interval", "baselines", "best_baseline", "disturbed"}
CHANGING |= {"speed_of_light", "baseline_speed_of_light"}
"""Fields of a record that differ from one evaluation to the next, and those that a result does not have."""
RESPONSE = f"Mine:\n\n```python\n{submission('x * 3')}```\n\nBetter:\n\n```python\n{submission('x - x')}```\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("bench"))
    made.write("double/right.py", submission())
    made.write("double/wrong.py", submission("x + 1"))
    made.write("double/broken.py", "def forward(:\n")
    made.write("double/answer.md", RESPONSE)
    made.write("elsewhere/unknown.py", submission())
    return made


@pytest.fixture(autouse=True)
def _there(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.root)


@pytest.fixture(scope="module", autouse=True)
def _servers() -> Iterator[None]:
    with warm.servers():
        yield


@pytest.fixture(scope="module")
def judging(bench: Bench) -> Iterator[Judge]:
    with Judge(reference=bench.root / "problems", device="cpu", jobs=2) as made:
        yield made


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """Inputs are drawn anew each time, so that figures in messages differ."""
    kept = {name: value for name, value in record.items() if name not in CHANGING}
    return kept | {"message": without_figures(record["message"])}


def without_figures(text: str) -> str:
    """Nor with the line that calls it faster or slower, as so short a call is either, nor with the number of wrong elements that are
    shown: the worst may be among the first."""
    text = re.sub(r"-?\d+(\.\d+)?(e[-+]\d+)?", "N", re.sub(r"^speed:.*\n(  .*\n)*", "", text, flags=re.MULTILINE))
    return "\n".join(dict.fromkeys(text.splitlines()))


def test_results_are_those_of_the_command_line(bench: Bench) -> None:
    paths = ["double", "elsewhere/unknown.py"]
    printed = bench.run(*paths, "--every-block", "--rerun", "--author", "ada", "--json", "-").records
    found = judge(paths, every_block=True, author="ada", reference=["problems"], device="cpu")
    assert len(found) == len(printed) == 6

    def ordered(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(map(comparable, records), key=lambda record: (record["submission"], record["block"] or 0))

    assert ordered([result.summary() for result in found]) == ordered(printed)
    for name, given in (("double/answer.md", Path("double/answer.md")), ("double/broken.py", "double/broken.py")):
        records = {record["block"]: record["feedback"] for record in printed if record["submission"] == name}
        told = {result.block: feedback(given, result) for result in found if result.submission == name}
        assert {block: without_figures(text) for block, text in told.items()} == {
            block: without_figures(text) for block, text in records.items()
        }
    with pytest.raises(JudgeError, match="belongs to another submission"):
        feedback({"code": "x = 1"}, found[0])
    assert {result.category for result in found} >= {"no_custom_kernel", "wrong_values", "syntax_error", "unknown_problem"}


def test_one_submission_has_one_result_and_many_have_theirs_in_order(judging: Judge) -> None:
    one = judging("double/right.py")
    assert_type(one, Result)
    assert isinstance(one, Result) and (one.category, one.problem) == ("no_custom_kernel", "double") and one.speedup
    told: list[Result] = []
    texts: list[Given] = [{"code": submission()}, {"response": RESPONSE, "sample_id": 3}, {"code": submission(), "author": "ada"}]
    found = judging([Path("double/wrong.py"), *texts, "double/broken.py"], problem="double", on_result=told.append)
    assert_type(found, list[Result])
    assert [result.category for result in found] == ["wrong_values", "no_custom_kernel", "wrong_values", "no_custom_kernel", "syntax_error"]
    assert [result.sample_id for result in found] == [None, None, 3, None, None]
    assert (found[1].submission, found[3].author, found[2].block) == (found[3].submission, "ada", 2)
    assert sorted(map(id, told)) == sorted(map(id, found))
    assert judging([]) == []


def test_a_text_may_bring_its_problem(judging: Judge) -> None:
    reference = PROBLEM.format(operation="* 3")
    found = judging([{"code": submission(answer), "reference": reference} for answer in ("x * 3", "x + x")])
    assert [result.category for result in found] == ["no_custom_kernel", "wrong_values"]
    assert found[0].problem == found[1].problem and found[0].problem_sha256 == sha256(reference.encode())
    assert judging({"code": submission(), "reference": "x ="}).category == "problem_error"


def test_times_can_be_left_out(bench: Bench) -> None:
    found = judge("double/right.py", reference="problems", device="cpu", timing=False)
    assert (found.category, found.protocol, found.speedup) == ("no_custom_kernel", "untimed", None)
    assert found.evidence.untimed and found.evidence.rounds and found.evidence.timing is None


def test_threads_and_coroutines_may_judge(judging: Judge) -> None:
    async def several() -> list[Result]:
        return list(await asyncio.gather(*(asyncio.to_thread(judging, "double/wrong.py") for _ in range(3))))

    assert {result.category for result in asyncio.run(several())} == {"wrong_values"}
    found: list[Result] = []
    thread = threading.Thread(target=lambda: found.append(judging("double/wrong.py")))
    thread.start()
    thread.join()
    assert found[0].category == "wrong_values"


def test_without_a_database_nothing_is_stored_and_with_one_nothing_is_judged_twice(bench: Bench) -> None:
    url = "sqlite:///stored.db"
    paths = ["double/wrong.py", "double/broken.py"]
    with Judge(reference="problems", device="cpu", db=url, jobs=1) as judging:
        first = judging(paths)
        assert judging(paths) == first
    with Store.open(url, read_only=True) as store:
        assert [(run.expected, run.skipped, sum(run.statuses.values())) for run in runs(store, 1)] == [(4, 2, 2)]
    assert not list(bench.root.glob("assay.db*"))
    with Judge(reference="problems", device="cpu", db=url, jobs=1, rerun=True) as judging:
        assert [result.started_at > before.started_at for result, before in zip(judging(paths), first, strict=True)] == [True, True]
    with Store.open(url, read_only=True) as store:
        assert [stored.result for stored in store.each()][:2] == sorted(first, key=lambda result: result.category)
        assert store.count() == 4


def test_a_judge_can_be_closed_and_go_on(bench: Bench) -> None:
    judging = Judge(reference="problems", device="cpu", jobs=1)
    assert judging({"code": "x = 1"}, problem="double").category == "missing_model_new"
    judging.close()
    judging.close()
    assert judging({"code": "x = 1"}, problem="double").category == "missing_model_new"
    judging.close()


def test_a_judge_that_another_thread_closes_says_so(bench: Bench) -> None:
    judging = Judge(reference="problems", device="cpu", jobs=1)
    first = {"code": "x = 1"}
    endless = {"code": submission(before="time.sleep(1000)")}
    with pytest.raises(JudgeError, match="the Judge was closed while it judged"):
        judging([first, endless], problem="double", on_result=lambda _: threading.Timer(2.0, judging.close).start())


@pytest.mark.parametrize(
    ("what", "options", "told"),
    [
        ("nowhere.py", {}, "nowhere.py: does not exist"),
        ("double", {}, "it has 4 submissions; give it in a list"),
        (submission(), {}, r'this is a text; write {"code": TEXT}'),
        ({"cod": "x"}, {}, "no key 'cod'; nearest: code"),
        ({"problem": "double"}, {}, "a text needs the key code"),
        ({"code": 3}, {}, "code: Input should be a valid string"),
        ({"code": "x", "reference": "x", "problem": "double"}, {}, "problem and reference exclude each other"),
        ({"code": "x", "reference": "\0"}, {}, "reference: NUL character"),
        ("double/right.py", {"problem": "duble"}, "there is no problem 'duble'; known: double"),
        ("double/right.py", {"timeout": "soon"}, "timeout: 'soon' is not an allowed number"),
        ("double/right.py", {"timeout": -1}, "timeout is a number of seconds above 0"),
        ("double/right.py", {"rerun": 1}, "rerun: must be true or false"),
        ("double/right.py", {"dtype": "fp17"}, "dtype: must be one of"),
        ("double/right.py", {"own_shapes": True, "strict_shapes": True}, "strict_shapes and own_shapes exclude each other"),
        ("double/right.py", {"db": "sqlite:here.db"}, "is not a database URL"),
    ],
)
def test_what_can_not_be_judged_is_told(what: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(JudgeError) as raised:
        judge(what, **cast("Options", {"reference": "problems", "device": "cpu", **options}))
    assert told in str(raised.value)


def test_an_option_that_there_is_not_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="no option 'timout'; nearest: timeout"):
        judge("double/right.py", timout=3)  # type: ignore[call-overload]


def test_options_and_defaults_are_those_of_the_command_line() -> None:
    names = {name_of(action) for action in options_of(parser())} - NOT_FROM_PYTHON
    assert {name.replace("-", "_") for name in names} == set(Options.__annotations__)
    defaults, given = vars(namespace({})), vars(parser().parse_args(["x.py"]))
    assert {name: defaults[name] for name in Options.__annotations__} == {name: given[name] for name in Options.__annotations__} | {
        "db": None
    }
    assert vars(namespace({"dtype": "bf16", "baseline": "compile"}))["dtype"] == "bfloat16"


def test_a_texts_author_stays() -> None:
    reader = Reader(True, "given", {}, ())
    told = [reader.read({"code": submission(), "problem": "p", **more}, None)[0].author for more in ({"author": "own"}, {})]
    assert told == ["own", "given"]


def test_results_are_a_table_with_a_row_each() -> None:
    found = judge(["double/right.py", "double/wrong.py"], reference="problems", device="cpu")
    table = assay.frame(found)
    assert list(table["category"]) == [result.category for result in found]
    low, high = found[0].speedup_interval or (0.0, 0.0)
    assert (table["speedup_low"][0], table["speedup_high"][0]) == (low, high) and low > 0
    assert table["speedup_low"].isna().tolist() == [False, True]


def test_without_pandas_a_table_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install .*\[pandas\]"):
        assay.frame([])


def test_it_has_one_home_and_two_addresses() -> None:
    assert assay.judge is pipeline.judge is judge and assay.Judge is pipeline.Judge and assay.JudgeError is pipeline.JudgeError
    assert assay.feedback is pipeline.feedback and assay.frame is pipeline.frame
    assert set(dir(assay)) == {"Judge", "JudgeError", "feedback", "frame", "judge"}
    assert inspect.getdoc(judge)
    with pytest.raises(AttributeError, match="no attribute 'jugde'"):
        assay.jugde  # type: ignore[attr-defined]  # noqa: B018
