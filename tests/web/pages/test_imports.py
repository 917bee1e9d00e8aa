"""Results over the network: only a client with the token can send them."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from db.exchange import export_json
from db.store import Entry, Store
from db.upkeep import check
from tests.db.samples import full_evidence, result
from tests.web.conftest import ADDRESS, fill
from web.app import HEADERS, create_app
from web.pages import imports
from web.pages.imports import TokenError, read_token

pytestmark = pytest.mark.slow(12)

TOKEN = "0123456789abcdefghij"
MINE = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def taking(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store, ["127.0.0.1"], TOKEN), base_url=ADDRESS) as opened:
        yield opened


def lines(*entries: Entry) -> str:
    return "".join(entry.to_line() + "\n" for entry in entries)


def test_what_another_database_exports_is_taken_once(taking: TestClient, store: Store, tmp_path: Path) -> None:
    exported = io.BytesIO()
    with Store.open(f"sqlite:///{tmp_path}/elsewhere.db") as elsewhere:
        fill(elsewhere)
        count = export_json(elsewhere, exported)
    for added in (count, 0):
        answer = taking.post("/import", content=exported.getvalue(), headers=MINE)
        assert answer.status_code == 200 and answer.json() == {"read": count, "added": added, "known": count - added}
    assert store.count() == count and check(store, deep=True) == []
    assert "submissions/softmax/ada.py" in taking.get("/leaderboard").text


STRANGERS: list[dict[str, str | bytes]] = [
    {},
    {"Authorization": ""},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer " + TOKEN[:-1]},
    {"Authorization": f"Bearer {TOKEN}x"},
    {"Authorization": f"Bearer {TOKEN.upper()}"},
    {"Authorization": f"Basic {TOKEN}"},
    {"Authorization": b"Bearer \xff\xfe"},
    {"Cookie": f"token={TOKEN}; Authorization=Bearer {TOKEN}"},
    {"X-Authorization": f"Bearer {TOKEN}"},
]


def test_nobody_else_s_results_are_taken(taking: TestClient, client: TestClient, store: Store) -> None:
    assert client.post("/import", content=lines(Entry(result(), "x")), headers=MINE).status_code == 404, "without a token"
    body = lines(Entry(result(), "class ModelNew: ...\n"))
    for given in STRANGERS:
        answer = taking.post("/import", params={"token": TOKEN}, content=body, headers=given)  # type: ignore[arg-type]
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer", given
        assert "Bearer TOKEN" in answer.json()["error"] and TOKEN not in answer.text and store.count() == 0


def test_a_page_of_another_website_can_not_write(taking: TestClient, store: Store) -> None:
    # What a browser sends without asking first: a form, with what belongs to the visitor.
    form = {"Origin": "http://evil.example", "Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site"}
    assert taking.post("/import", content=lines(Entry(result(), "x")), headers=form).status_code == 401
    # What it asks first, as it does for a header of the page's own choice.
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    answer = taking.options("/import", headers=asked)
    assert answer.status_code == 405 and not any(name.startswith("access-control") for name in answer.headers)
    assert taking.post("/import", content="", headers=MINE | {"Host": "evil.example"}).status_code == 421
    assert store.count() == 0


def test_lines_that_are_no_evaluations_are_refused_whole(taking: TestClient, store: Store) -> None:
    for body, words in (
        ("no json\n", "body:1 is no exported evaluation"),
        (lines(Entry(result(), "x")) + "{}\n", "body:2 is no exported evaluation: 'source' is missing"),
        (b"\xff\n", "it is not UTF-8"),
    ):
        answer = taking.post("/import", content=body, headers=MINE)
        assert answer.status_code == 400 and words in answer.json()["error"]
    assert store.count() == 0


def test_too_much_at_once_is_refused(taking: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MAX_BYTES", 1000)
    body = lines(Entry(result(), "x")) * 2

    def in_parts() -> Iterator[bytes]:
        yield from (body[start : start + 100].encode() for start in range(0, len(body), 100))

    for content in (body, in_parts()):
        answer = taking.post("/import", content=content, headers=MINE)
        assert answer.status_code == 413 and "several requests" in answer.json()["error"]
    assert store.count() == 0


def test_a_database_that_takes_nothing_is_said(taking: TestClient, store: Store) -> None:
    with store.change() as connection:
        connection.exec_driver_sql("DROP TABLE speeds_of_light")
    answer = taking.post("/import", content=lines(Entry(result(evidence=full_evidence()), "x")), headers=MINE)
    assert answer.status_code == 503 and "can't be written" in answer.json()["error"]
    assert store.count() == 0


def test_with_a_token_all_else_can_only_be_read(taking: TestClient, store: Store) -> None:
    ids = fill(store)
    for path in ("/", "/leaderboard", f"/evaluation/{ids['failed']}", "/live/events", "/import"):
        for method in ("PUT", "PATCH", "DELETE") + (("GET",) if path == "/import" else ("POST",)):
            answer = taking.request(method, path, headers=MINE)
            assert answer.status_code == 405, (method, path)
            assert all(answer.headers[name] == value for name, value in HEADERS.items())


def test_a_token_is_made_where_there_is_none_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    token = read_token(path)
    assert len(token) > 40 and path.stat().st_mode & 0o777 == 0o600
    assert read_token(path) == token and read_token(tmp_path / "other") != token
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(TokenError, match="can't be used"):
        read_token(tmp_path / "link")
    with pytest.raises(TokenError, match="No such file"):
        read_token(tmp_path / "none" / "token")
    for text, mode, words in (
        ("", 0o600, "no token"),
        ("short\n", 0o600, "no token"),
        ("two words of it\n", 0o600, "no token"),
        (TOKEN, 0o640, "chmod 600"),
    ):
        path.write_text(text)
        path.chmod(mode)
        with pytest.raises(TokenError, match=words):
            read_token(path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(TokenError, match="belongs to another user"):
        read_token(tmp_path / "other")
