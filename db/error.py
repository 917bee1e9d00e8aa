"""The database's error."""


class StoreError(Exception):
    """The database can't be used or a row can't be stored; the message names the cause and the fix."""
