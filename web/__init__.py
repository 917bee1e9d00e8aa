"""The page: everything in a database of evaluations, in a browser. `python -m web --db URL`; needs the extra `[web]`.

Nothing is imported here, so that importing the package costs nothing.
"""
