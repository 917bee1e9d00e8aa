"""A database of evaluations in a browser: `python -m web --db URL`. It needs the extra `[web]`.

Each module imports only what stands before it in this list:
`answer_cache`, `glossary`, `matrix`, `tables`, `text_process` · `highlight`, `diff` · `site` · `filters`, `forms`, `charts` ·
`pages` · `app` and `listener` · `__main__`.
`service` imports `filters` and `listener` alone of these.

Nothing is imported here, so that importing the package costs nothing.
"""
