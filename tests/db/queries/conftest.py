"""Questions are asked in SQLite, those of `BOTH` in PostgreSQL too. Every statement is explained by both in `tests/db/test_plans.py`."""

import pytest

BOTH = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """A database that does not exist yet (SQLite), or has empty tables (PostgreSQL)."""
    found: str = request.getfixturevalue(f"{getattr(request, 'param', 'sqlite')}_url")
    return found
