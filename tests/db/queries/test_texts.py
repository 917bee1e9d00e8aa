"""The search in sources, messages and names of kernels, by each database's index and without one."""

import sqlite3
from contextlib import closing

import pytest

from db.error import StoreError
from db.queries.texts import MAX_CHARS, matching
from db.storage import text_index
from db.store import Store
from db.upkeep import collect
from evaluator.results.category import Category
from tests.db.conftest import BOTH
from tests.db.samples import full_evidence, result

pytestmark = pytest.mark.slow(4)

SOURCE = '__global__ void softmax_kernel(float* in) { warpReduceMax(in); }  // 100% of a "row", naïve\n'
ODD = (
    *('"', '""', '" OR "', "'", "*", "sof*", "NEAR(", 'NEAR("a" "b", 5)', "a AND", "NOT", "text:x", "-", "^a", "+", "(", ")", "\\", ";"),
    *("%", "_", "%%%", "___", "%_%", "!", "&", "a & !b", "a:*", "<->", "a <-> b", "|", ":", "\0", "a\0bcd", "\0\0\0\0", "\udc80abc"),
    *("\ufdd1\ufdd0x", "日本語文字", "$1", "?", ":threes", "--", "/*", "'; DROP TABLE sources; --"),
    *("x" * MAX_CHARS, "x " * (MAX_CHARS // 2)),
)


def save(store: Store, name: str, source: str = "pass\n", message: str = "", kernel: str = "") -> int:
    evidence = full_evidence()
    launch = evidence.launches[0].model_copy(update={"kernel": kernel})
    evidence = evidence.model_copy(update={"launches": (launch,) if kernel else (), "sanitizer": None, "profile": None})
    return store.save(result(Category.WRONG_VALUES, source, submission=name, message=message, evidence=evidence), source)


def require_right_index(store: Store) -> None:
    """Raises for an entry that is not in the texts, and for a text without its entries."""
    with store.change() as connection:
        for index in ("sources_index", "search_texts_index"):
            connection.exec_driver_sql(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")


@pytest.fixture
def three(store: Store) -> tuple[int, int, int]:
    """Evaluations that tell by their source, their message, and the name of a kernel."""
    return (
        save(store, "a.py", SOURCE),
        save(store, "b.py", message="round 1: 3 of 1024 elements are wrong (tolerance 1e-05)"),
        save(store, "c.py", kernel="void cutlass::Kernel2<sgemm_128x64_tn>(Params)"),
    )


@BOTH
def test_words_of_a_source_a_message_or_a_kernel_find_the_evaluation(store: Store, three: tuple[int, int, int]) -> None:
    source, message, kernel = three
    for words, found in {
        "softmax_kernel": {source},
        "softmax": {source},
        "SoftMax_Kern": {source},
        "kernel": {source, kernel},
        "row global": {source},
        "softmax_kernel(float*": {source},
        'a "row"': {source},
        "100%": {source},
        "naïve": {source},
        "ve": {source},
        "elements tolerance": {message},
        "1e-05": {message},
        "1024": {message},
        "cutlass::Kernel2": {kernel},
        "sgemm_128x": {kernel},
        "sgemm_128x64_tn Params": {kernel},
        "softmax elements": set(),
        "softmax-kernel": set(),
        "softmax%kernel": set(),
        "sgemm 256": set(),
        "": set(),
    }.items():
        assert matching(store, words) == found, words
    again = save(store, "a.py", SOURCE)
    assert matching(store, "softmax_kernel") == {source, again}, "evaluations of one source are all found"


@BOTH
def test_odd_words_are_only_words(store: Store, three: tuple[int, int, int]) -> None:
    odd = {text: save(store, f"{number}.py", "before\n" + text.replace("\0", " ")) for number, text in enumerate(ODD)}
    for text in ODD:
        found = matching(store, text)
        assert odd[text] in found if text.strip("\0") else not found, text
    assert matching(store, "NEAR(") == {odd["NEAR("], odd['NEAR("a" "b", 5)']}
    assert three[0] not in matching(store, "%_%") | matching(store, "sof*")
    with pytest.raises(StoreError, match="at most 200 characters"):
        matching(store, "x" * 10_000)


def test_sqlite_finds_any_part_of_a_word(store: Store, three: tuple[int, int, int]) -> None:
    assert matching(store, "ftmax_ker") == matching(store, "ReduceM") == matching(store, "reducemax") == {three[0]}


def test_the_index_follows_the_texts(store: Store, url: str) -> None:
    ids = [save(store, f"{number}.py", f"def source_number_{number}(): ...\n") for number in range(5)]
    with store.change() as connection:
        connection.exec_driver_sql("UPDATE sources SET text = 'another_text' WHERE text LIKE '%number_1%'")
        connection.exec_driver_sql(f"DELETE FROM evaluations WHERE id = {ids[2]}")
    collect(store)
    assert matching(store, "source_number") == {ids[0], ids[3], ids[4]} and matching(store, "other_t") == {ids[1]}
    require_right_index(store)


def test_a_sqlite_without_fts5_searches_and_stores_all_the_same(
    store: Store, url: str, three: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def triggers() -> int:
        with closing(sqlite3.connect(store.path)) as connection:
            return int(connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()[0])

    assert triggers() == 6
    with monkeypatch.context() as patched:
        patched.setattr(text_index, "_has_trigrams", lambda _: False)
        with Store.open(url, read_only=True) as reader:
            assert matching(reader, "ftmax_ker") == {three[0]} and triggers() == 6
        with Store.open(url) as writer:
            assert triggers() == 0
            new = save(writer, "d.py", "a = softmax_kernel_of_another\n")
            assert matching(writer, "ftmax_ker") == {three[0], new}
        patched.setattr(text_index, "READ", 1)
        assert matching(store, "ftmax_ker") == {new}, "only the latest texts are read without an index"
    with Store.open(url) as back:
        assert triggers() == 6
        require_right_index(back)
        monkeypatch.setattr(text_index, "READ", 1)
        save(back, "e.py")
        assert matching(back, "ftmax_kernel_of") == {new}, "the index has what was stored without it"
