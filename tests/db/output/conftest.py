"""Output does not depend on the kind of database."""

from tests.db.queries.conftest import url  # noqa: F401 - a fixture
