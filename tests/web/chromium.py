"""A real browser without a window: Debian's Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

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
