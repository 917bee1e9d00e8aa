"""What is written of a database does not depend on which one it is."""

from tests.db.queries.conftest import url  # noqa: F401 - a fixture
