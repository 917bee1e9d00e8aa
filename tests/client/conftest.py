"""The service of the service's own tests: one without judges, in this process, and a real one."""

from tests.web.conftest import ready_file, store, url  # noqa: F401 - fixtures
from tests.web.service.conftest import bounds, desk, problems, process, tokens  # noqa: F401 - fixtures
