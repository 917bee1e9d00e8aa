"""Names, messages and sources of strangers: shown, never obeyed."""

import json
import re
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import insert

from db.schema.models import ForeignRow
from db.storage.rows import storable_text
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import now
from tests.db.samples import environment, full_evidence, result, sha256
from tests.web.seen import Seen
from web.app import HEADERS, POLICY, create_app

pytestmark = pytest.mark.slow(20)

HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\"' onload='z' &amp; \u202e\u2066 {{7*7}} ${8*8} $\\frac{a$"
HOSTILE += " ../.. %2e\n\x00\x1b[31m\r javascript:x"
TAGS = {
    *("small",),
    *("html", "head", "meta", "title", "link", "body", "header", "main", "footer", "nav", "section", "a", "p", "h1", "h2", "h3", "div"),
    *("table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "form", "label", "select", "option", "input", "button", "datalist"),
    *("picture", "source", "img", "details", "summary", "pre", "code", "span", "small", "b", "script", "progress"),
    *("ul", "li", "wbr", "br", "svg", "rect"),
}
ATTRIBUTES = {
    *("lang", "charset", "name", "content", "rel", "href", "type", "class", "id", "tabindex", "aria-label", "aria-current", "aria-sort"),
    *("aria-hidden", "scope", "role", "method", "value", "selected", "checked", "list", "autocomplete", "media", "srcset", "src", "alt"),
    *("loading", "width", "height", "title", "colspan", "data-after", "data-run", "defer", "max"),
    *("action", "data-label", "data-tip", "download", "maxlength", "open", "placeholder", "viewbox", "preserveaspectratio", "x"),
}
NAME = urlencode({"name": HOSTILE})


@pytest.fixture
def hostile(store: Store) -> dict[str, int]:
    """Everything that a submission, its author or its problem can name is hostile."""
    store.start_run(["pipeline.py", HOSTILE])
    names: dict[str, Any] = dict.fromkeys(("submission", "author", "problem", "case", "precision", "device", "message", "hint"), HOSTILE)
    common = names | {"environment": environment(HOSTILE), "evidence": full_evidence(HOSTILE), "source_sha256": sha256(HOSTILE)}
    problem = {"problem_sha256": sha256(HOSTILE)}
    right = store.save(result(started_at=now(), **common | problem), HOSTILE, HOSTILE)
    other = common | problem | {"protocol": HOSTILE}
    graph = store.save(result(started_at=now(), **other), HOSTILE, HOSTILE)
    said = {"harness": "kernelbench", "submission": storable_text(HOSTILE), "author": storable_text(HOSTILE), "level": 1}
    said |= {"problem_number": 2, "sample_id": 3, "compiled": 1, "correct": 0, "details": json.dumps({HOSTILE: HOSTILE}), "digest": b"1"}
    with store.change() as connection:
        connection.execute(insert(ForeignRow).values(**said, imported_at=now()))
    wrong = store.save(result(Category.WRONG_VALUES, **common | problem | {"submission": "wrong" + HOSTILE}), HOSTILE, HOSTILE)
    store.start_run(["pipeline.py", HOSTILE])
    changed = common | problem | {"source_sha256": sha256("not" + HOSTILE), "submission": "wrong" + HOSTILE}
    again = store.save(result(**changed), "not" + HOSTILE, HOSTILE)
    return {"right": right, "wrong": wrong, "graph": graph, "again": again}


def pages(ids: dict[str, int]) -> list[str]:
    given = urlencode({"problem": HOSTILE, "author": HOSTILE, "device": HOSTILE, "case": HOSTILE, "precision": HOSTILE})
    protocol = urlencode({"protocol": HOSTILE})
    unknown = urlencode({"problem": "no" + HOSTILE, "author": "no" + HOSTILE})
    return [
        *("/", "/leaderboard", "/problems", "/failures", "/evaluations", "/live", "/run/1", f"/search?{urlencode({'q': HOSTILE[:40]})}"),
        f"/evaluations?{urlencode({'search': HOSTILE[:150]})}",
        *(f"{path}?{query}" for path in ("/leaderboard", "/failures", "/evaluations") for query in (given, unknown)),
        *(f"{path}?{protocol}" for path in ("/", "/leaderboard")),
        *(f"{path}?{NAME}" for path in ("/problem", "/author", "/submission")),
        *(f"/evaluation/{number}" for number in ids.values()),
        f"/problem?{urlencode({'name': 'no' + HOSTILE})}",
        *(
            "/runs",
            "/runs/compare?left=1&right=2",
            "/runs/compare?left=1&right=2&show=all",
            f"/runs/compare?left=1&right=2&{given}",
            "/glossary",
        ),
        *(f"/compare?left={left}&right={ids['right']}" for left in ("best", "previous", ids["wrong"])),
        f"/authors/compare?{urlencode({'left': HOSTILE, 'right': HOSTILE})}",
        f"/compare?{urlencode({'left': HOSTILE, 'right': HOSTILE})}",
        f"/leaderboard?{urlencode({'sort': HOSTILE, 'order': HOSTILE})}",
    ]


def assert_forbidden(answer: Response) -> None:
    for name, value in HEADERS.items():
        assert answer.headers[name] == value, (answer.url, name)


def test_names_of_strangers_are_text_on_every_page(client: TestClient, hostile: dict[str, int]) -> None:
    for path in pages(hostile):
        answer = client.get(path)
        assert_forbidden(answer)
        text, seen = answer.text, Seen(answer.text)
        assert seen.tags <= TAGS, (path, seen.tags - TAGS)
        assert seen.attributes <= ATTRIBUTES, (path, seen.attributes - ATTRIBUTES)
        assert not re.search("[\x00\x1b\u202e\u2066]", text), path
        assert not re.search(r"<style|\sstyle=|<script(?! src=)|https?://", text.replace("sqlite:///", "")), path
        own = set(re.findall(r'<script src="/static/(\w+)\.js" defer>', text))
        assert own <= {"filters", "live"} and text.count("<script") == len(own), path
        assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in seen.links), path
    assert "<script>alert(1)</script>" in Seen(client.get("/leaderboard").text).text


def test_hostile_names_have_addresses_that_work(client: TestClient, hostile: dict[str, int]) -> None:
    for path in ("/problem", "/author", "/submission"):
        assert client.get(f"{path}?{NAME}").status_code == 200
        told = client.get(f"{path}.json?{NAME}")
        assert told.status_code == 200 and "\\u202e" in told.text and "<script>alert(1)" in json.dumps(told.json())
    assert len(Seen(client.get("/leaderboard?" + urlencode({"author": HOSTILE})).text).rows) == 2
    for link in Seen(client.get("/leaderboard").text).links:
        if not link.startswith("#"):
            assert client.get(link).status_code == 200, link


def test_charts_are_pictures_of_text_and_lines_alone(client: TestClient, hostile: dict[str, int]) -> None:
    drawn = 0
    for page in pages(hostile):
        for path in {link for link in Seen(client.get(page).text).links if ".svg?" in link}:
            answer = client.get(path)
            assert answer.status_code == 200 and answer.headers["content-type"] == "image/svg+xml", path
            for element in ElementTree.fromstring(answer.content).iter():
                assert element.tag.rsplit("}", 1)[-1] not in ("script", "foreignObject", "a", "iframe"), path
                for name, value in element.attrib.items():
                    assert not name.startswith("on")
                    assert not name.endswith("href") or value.startswith(("#", "data:image/png;base64,")), path
            drawn += 1
    assert drawn >= 10


def test_every_answer_forbids_what_it_does_not_need(client: TestClient) -> None:
    for path in ("/nothing", "/evaluation/x.json", "/index.json", "/static/live.js", "/static/source.css", "/fast_p.svg?case=none"):
        assert_forbidden(client.get(path))
    assert "unsafe" not in POLICY and POLICY.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "*" not in POLICY and "data:" not in POLICY


def test_only_this_machine_s_names_are_answered(store: Store) -> None:
    with TestClient(create_app(store, ["127.0.0.1", "localhost", "::1"]), base_url="http://evil.example:8300") as client:
        refused = client.get("/")
        assert refused.status_code == 421 and refused.headers["content-security-policy"] == POLICY
        for host in ("localhost:8300", "127.0.0.1", "[::1]:8300", "LOCALHOST"):
            assert client.get("/", headers={"host": host}).status_code == 200, host
        for host in ("", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]"):
            assert client.get("/", headers={"host": host}).status_code == 421, host
    with TestClient(create_app(store), base_url="http://any.example") as client:
        assert client.get("/").status_code == 200
