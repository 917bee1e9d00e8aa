"""The visible parts of a page."""

from html.parser import HTMLParser

from fastapi.testclient import TestClient

VOID = {"meta", "link", "input", "img", "source", "br", "wbr"}


class Seen(HTMLParser):
    """Tags, attributes, links, text, and the cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], "what was begun has been ended"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name in ("href", "src", "srcset", "action") and value]
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.rows and self.rows[-1] and ("td" in self._open or "th" in self._open):
            self.rows[-1][-1] += data


def seen(client: TestClient, path: str) -> Seen:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.text)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Seen(answer.text)
