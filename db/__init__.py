"""The database of evaluations: tables, migrations, store and leaderboard queries.

`db.store` writes and reads evaluations, `db.queries.leaderboard` asks for rankings and failures, and `python -m db` shows both. Nothing is imported
here, so that importing the package costs nothing.
"""

DEFAULT_URL = "sqlite:///assay.db"
"""The database in the current folder."""
