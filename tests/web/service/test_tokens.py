"""Tokens: their scopes, quotas and rates."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from db.schema.queue_models import TokenRow
from db.store import Store
from tests.web.service.conftest import GOOD, Desk
from web.service import tokens as module
from web.service.__main__ import main
from web.service.tokens import Scope, Tokens, every, make, revoke

pytestmark = pytest.mark.slow(8)


def test_a_token_is_stored_as_a_hash_and_found_again(store: Store) -> None:
    token = make(store, "ada", [Scope.READ], 5, 60)
    with store.read() as connection:
        (row,) = connection.execute(select(TokenRow.__table__)).all()
    secret = token.split("_", 2)[2]  # it may have underscores of its own
    assert len(secret) == 43
    assert secret not in " ".join(map(str, row))
    grant = Tokens(store).grant(f"Bearer {token}")
    assert grant is not None
    assert (grant.author, grant.scopes, grant.per_day, grant.per_minute) == ("ada", frozenset({"read"}), 5, 60)


def test_what_is_not_quite_the_token_is_none(store: Store) -> None:
    token, tokens = make(store, "ada", [Scope.READ]), Tokens(store)
    assert tokens.grant(f"Bearer {token}") is not None
    for other in ("", token[:-1], token[:-1] + ("x" if token[-1] != "x" else "y"), token.upper(), token + "x"):
        for authorization in (f"Bearer {other}", f"Basic {token}", token):
            assert tokens.grant(authorization) is None
            assert tokens.remembered(authorization) is None


def test_a_revoked_token_is_forgotten_soon(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    authorization, tokens = f"Bearer {make(store, 'ada', [Scope.READ])}", Tokens(store)
    tokens.grant(authorization)
    assert tokens.remembered(authorization) is not None
    assert revoke(store, every(store)[0].public_id)
    assert not revoke(store, every(store)[0].public_id)
    monkeypatch.setattr(module, "REMEMBERED_S", 0.0)
    assert tokens.remembered(authorization) is None
    assert tokens.grant(authorization) is None


def test_without_a_token_nothing_is_answered_and_no_body_is_read(desk: Desk) -> None:
    body = {"problem": "softmax", "source": GOOD}
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Bearer " + "x" * 10_000}):
        for answer in (
            desk.client.post("/v1/evaluations", json=body, headers=headers),
            desk.client.post("/v1/evaluations", content=b"{" * 100, headers=headers),
            desk.client.get("/v1/problems", headers=headers),
            desk.client.get("/metrics", headers=headers),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"


def test_each_call_takes_its_scope(desk: Desk, tokens: Callable[..., str]) -> None:
    public_id = desk.submit().json()["id"]
    reader, submitter = tokens("ada", Scope.READ), tokens("ada", Scope.SUBMIT)
    assert desk.submit(token=reader).status_code == 403
    assert desk.client.delete(f"/v1/evaluations/{public_id}", headers=desk.headers(reader)).status_code == 403
    for path in (f"/v1/evaluations/{public_id}", f"/v1/evaluations/{public_id}/events", "/v1/problems", "/v1/leaderboard"):
        assert desk.get(path, submitter).status_code == 403
    assert desk.get(f"/v1/evaluations/{public_id}", reader).status_code == 200
    assert desk.client.delete(f"/v1/evaluations/{public_id}", headers=desk.headers(submitter)).status_code == 200


def test_others_evaluations_are_not_there_but_for_an_administrator(desk: Desk, tokens: Callable[..., str]) -> None:
    public_id = desk.submit("k").json()["id"]
    bob, admin = tokens("bob", Scope.READ, Scope.SUBMIT), tokens("root", Scope.READ, Scope.SUBMIT, Scope.ADMIN)
    path = f"/v1/evaluations/{public_id}"
    assert [desk.get(path, bob).status_code, desk.get(f"{path}/events", bob).status_code] == [404, 404]
    assert desk.client.delete(path, headers=desk.headers(bob)).status_code == 404
    polled = desk.client.post("/v1/evaluations:poll", json={"ids": [public_id]}, headers=desk.headers(bob)).json()
    assert polled["unknown"] == [public_id]
    assert desk.submit("k", token=bob).json()["id"] != public_id
    assert desk.get(path, admin).status_code == 200
    assert desk.client.delete(path, headers=desk.headers(admin)).status_code == 200


def test_a_quota_holds_for_all_tokens_of_an_author_whatever_the_code_says(desk: Desk, tokens: Callable[..., str]) -> None:
    one, two = (tokens("eve", Scope.SUBMIT, per_day=2) for _ in range(2))
    source = "# author: ada\n" + GOOD
    assert [desk.submit(token=token, source=source).status_code for token in (one, two, one)] == [202, 202, 429]
    assert {claim.author for claim in desk.requests.claim("one", 2, 30.0)} == {"eve"}


def test_a_rate_is_counted_by_the_call(desk: Desk, tokens: Callable[..., str]) -> None:
    limited = tokens("eve", Scope.READ, per_minute=2)
    answers = [desk.get("/v1/leaderboard", limited) for _ in range(8)]
    # On a busy machine a minute may end between two calls, not between each two.
    assert [answer.status_code for answer in answers[:2]] == [200, 200]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_a_profile_and_a_problem_that_comes_along_take_scopes_that_no_other_includes(desk: Desk, tokens: Callable[..., str]) -> None:
    without = {left: tokens("root", *(scope for scope in Scope if scope is not left)) for left in (Scope.REFERENCE, Scope.PROFILE)}
    refused = desk.submit(problem=None, reference={"source": "class Model: ..."}, token=without[Scope.REFERENCE])
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    refused = desk.submit(options={"profile": True}, token=without[Scope.PROFILE])
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert "the scope profile" in refused.json()["error"]["message"]
    assert desk.submit(options={"profile": False}, token=without[Scope.PROFILE]).status_code == 202
    assert desk.submit(options={"profile": True}, token=tokens("root", Scope.SUBMIT, Scope.PROFILE)).status_code == 202
    plain = {"problem": "softmax", "source": GOOD}
    body = {"items": [plain, plain | {"options": {"profile": True}}]}
    answer = desk.client.post("/v1/evaluations:batch", json=body, headers=desk.headers(tokens("ada", Scope.SUBMIT)))
    assert [item["status"] for item in answer.json()["items"]] == [202, 403]


def test_tokens_are_made_listed_and_revoked_by_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = f"sqlite:///{tmp_path / 'x.db'}"
    assert main(["--db", db, "token", "new", "--author", "ada", "--scope", "read,reference", "--quota", "10/day", "--rate", "6/min"]) == 0
    made = capsys.readouterr()
    assert "any code" in made.err
    public_id = made.out.split("_")[1]
    assert main(["--db", db, "token", "list"]) == 0
    listed = capsys.readouterr().out
    assert public_id in listed and "10/day" in listed and "6/min" in listed and made.out.strip().split("_", 2)[2] not in listed
    assert main(["--db", db, "token", "revoke", public_id]) == 0
    assert main(["--db", db, "token", "revoke", public_id]) == 2
    assert main(["--db", db, "token", "list"]) == 0
    assert "revoked" in capsys.readouterr().out


def test_what_makes_no_sense_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["--scope", "everything"], ["--quota", "10/week"], ["--rate", "0"]):
        with pytest.raises(SystemExit):
            main(["--db", "sqlite:///x.db", "token", "new", "--author", "ada", *words])
    for words in (["new", "--author", "ada"], ["list"], ["revoke", "x"]):
        assert main(["token", *words]) == 2
        assert "--db" in capsys.readouterr().err
    assert main(["--db", "sqlite:///service.db", "--headers", str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err.split(";")[0] == f"--headers: no folder {tmp_path / 'nothing'}"
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("service.db")] == []
