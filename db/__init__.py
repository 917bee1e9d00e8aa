"""The database of evaluations: tables, migrations, the store, queries, and `python -m db`.

Each module imports only what stands before it in this list:
`error`, `address`, `connection` · `schema` · `storage` · `upgrade`, `database`, `store` · `queries` and `queue`, apart from each other ·
`calibrations`, `exchange`, `foreign`, `upkeep` · `output` ·
`list_options` · `__main__`.
`migrations` is run by `upgrade`. Of the evaluator, `db` imports `evaluator.results` alone.

Nothing is imported here, so that importing the package costs nothing.
"""

DEFAULT_URL = "sqlite:///assay.db"
"""The database in the current folder."""
