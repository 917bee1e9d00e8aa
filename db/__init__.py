"""The database of evaluations: tables, migrations, the store, queries, and the command line `python -m db`.

Each module imports only what stands before it in this list:
`error`, `address`, `connection` · `schema` · `storage` · `upgrade`, `database`, `store` · `queries` and `queue`, apart from each other ·
`list_options` · `authorship`, `calibrations`, `exchange`, `foreign`, `upkeep` · `frames`, `output` · `__main__`.
`upgrade` runs the `migrations`. Of the evaluator, `db` imports only `evaluator.results`.

From Python, `db.read(url)` returns a DataFrame of the evaluations. It is imported on first use, so that importing the package costs
nothing.
"""

from typing import TYPE_CHECKING, Any

DEFAULT_DATABASE = "assay.db"
"""The database in the current folder."""

if TYPE_CHECKING:
    from db.frames import read as read
else:

    def __getattr__(name: str) -> Any:
        """`read`, imported on first use."""
        if name != "read":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from db.frames import read

        return read
