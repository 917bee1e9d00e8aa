"""A real browser without a window (Debian's Chromium, driven by Playwright), and windows of it that fail on any error."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from web.charts import Theme

REQUIRED = "ASSAY_REQUIRE_CHROMIUM"
"""Environment variable: if set, a missing browser is a failure, not a skip."""

NAMES = ("chromium", "chromium-browser", "google-chrome")

_QUIET = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-dev-shm-usage"),
)


def program() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def running() -> Iterator[Browser]:
    path = program()
    assert path is not None
    # Root can't use Chromium's own sandbox; the pages here come from the tests.
    arguments = [*_QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


WIDTHS = (1400, 390)

_WATCH = "document.addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective))"


class Windows:
    """Browser windows that allow no error, no violation of the policy, and no request to another server."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address
        self._opened: list[tuple[Page, list[str]]] = []

    def open(self, width: int = WIDTHS[0], theme: Theme = "light", scripts: bool = True) -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": 900}, base_url=self._address, color_scheme=theme, java_script_enabled=scripts
        )
        context.set_default_timeout(240_000)
        context.add_init_script(_WATCH)
        page, faults = context.new_page(), []
        page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: None if request.url.startswith((self._address, "data:")) else faults.append(request.url))
        page.on("response", lambda answer: faults.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
        self._opened.append((page, faults))
        return page

    def close(self) -> None:
        """Fail if there was an error, or a stranger's text has run."""
        for page, faults in self._opened:
            assert faults == []
            assert page.evaluate("window.hacked") is None
            page.context.close()


def follow(link: Locator) -> None:
    """Clicks on a link, or a button that sends a form, and waits until the next page is there: what is read after it is of that page."""
    page = link.page
    with page.expect_navigation(wait_until="load"):
        link.click()
