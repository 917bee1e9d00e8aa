"""`python -m web`: shows a database of evaluations to browsers on this machine."""

import argparse
import logging
import sys
from collections.abc import Sequence

from db import DEFAULT_URL

EXIT_USAGE = 2
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PORT = 8300


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is interrupted. Returns the exit code: 0, or 2 where it can't be done."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    from db.error import StoreError
    from db.store import Store
    from evaluator.plain import plain_line

    try:
        import uvicorn

        from web.app import create_app
    except ImportError as error:
        return _refuse(f"The page needs {error.name}: pip install 'assay-judge[web]'.")
    try:
        with Store.open(options.db, read_only=True) as store:
            hosts = LOOPBACK if options.host in LOOPBACK else None
            address = f"[{options.host}]" if ":" in options.host else options.host
            server = uvicorn.Server(
                uvicorn.Config(
                    create_app(store, hosts),
                    host=options.host,
                    port=options.port,
                    log_level="warning",
                    access_log=False,
                    server_header=False,
                    timeout_graceful_shutdown=1,
                )
            )
            sys.stdout.write(plain_line(f"{store.name} is shown at http://{address}:{options.port}/ until Ctrl-C") + "\n")
            sys.stdout.flush()
            server.run()
            return 0 if server.started else EXIT_USAGE
    except StoreError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return 0


def _refuse(text: str) -> int:
    from evaluator.plain import plain_line

    sys.stderr.write(plain_line(text) + "\n")
    return EXIT_USAGE


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(prog="python -m web", description="Shows a database of evaluations in a browser; reads only.")
    this.add_argument("--db", metavar="URL", default=DEFAULT_URL, help="SQLAlchemy URL of the database (default: %(default)s)")
    this.add_argument(
        "--host",
        default=LOOPBACK[0],
        help="address to listen on (default: %(default)s); any other than this machine's own lets others read everything",
    )
    this.add_argument("--port", type=int, default=PORT, help="(default: %(default)s)")
    return this


if __name__ == "__main__":
    sys.exit(main())
