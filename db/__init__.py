"""The database of evaluations: tables, migrations, the store, queries, and `python -m db`.

Each module imports only what stands before it in this list:
`error`, `address`, `connection` · `schema` · `storage` · `upgrade`, `database`, `store` · `queries` and `queue`, apart from each other ·
`list_options` · `calibrations`, `exchange`, `foreign`, `upkeep` · `frames`, `output` · `__main__`.
`migrations` is run by `upgrade`. Of the evaluator, `db` imports `evaluator.results` alone.

From Python, `db.read(url)` is a DataFrame of the evaluations. Nothing is imported here before it is asked for, so that importing the
package costs nothing.
"""

from typing import TYPE_CHECKING, Any

DEFAULT_URL = "sqlite:///assay.db"
"""The database in the current folder."""

if TYPE_CHECKING:
    from db.frames import read as read
else:

    def __getattr__(name: str) -> Any:
        """`read`, imported when it is asked for."""
        if name != "read":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from db.frames import read

        return read
