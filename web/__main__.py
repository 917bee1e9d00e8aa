"""`python -m web`: shows a database of evaluations to browsers on this machine."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from configuration.options import use_file
from db import DEFAULT_DATABASE
from web.listener import listening

EXIT_USAGE = 2
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PORT = 8300
PROGRAM = "python -m web"


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Serves until it is interrupted. Returns the exit code: 0, or 2 if it can't."""
    this = parser(program)
    use_file(this, arguments, "serve")
    options = this.parse_args(arguments)
    from db.error import StoreError
    from db.store import Store
    from evaluator.log import LogLevelError, show
    from evaluator.results.display.text import plain_line

    try:
        import uvicorn

        from web.app import create_app
        from web.pages.imports import TokenError, read_token
    except ImportError as error:
        return _refuse(f"The page needs {error.name}: pip install -c constraints.txt -e '.[web]'.")
    try:
        show("pages")
        token = read_token(options.token_file) if options.token_file else None
        with Store.open(options.db, read_only=token is None) as store, listening(options.host, options.port) as listener:
            host, port = listener.getsockname()[:2]
            app = create_app(store, LOOPBACK if options.host in LOOPBACK else None, token)
            config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1)
            address = f"[{host}]" if ":" in host else host
            sys.stdout.write(plain_line(f"{store.name} is shown at http://{address}:{port}/ until Ctrl-C") + "\n")
            sys.stdout.flush()
            uvicorn.Server(config).run(sockets=[listener])
    except (StoreError, TokenError, LogLevelError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(
            f"{options.host}, port {options.port}, can't be listened on: {error.strerror or error}. Name others by --host and --port."
        )
    except KeyboardInterrupt:
        pass
    return 0


def _refuse(text: str) -> int:
    from evaluator.results.display.text import plain_line

    sys.stderr.write(plain_line(text) + "\n")
    return EXIT_USAGE


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 16:
        raise argparse.ArgumentTypeError("must be between 0 and 65535")
    return value


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(prog=program, description="Shows a database of evaluations in a browser.")
    this.add_argument("--db", metavar="DB", default=DEFAULT_DATABASE, help="database (default: %(default)s)")
    this.add_argument(
        "--host",
        default=LOOPBACK[0],
        help="address (default: %(default)s); other addresses let anyone read",
    )
    this.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="accept results sent with this file's token; made if missing (default: read-only)",
    )
    this.add_argument("--port", type=_port, default=PORT, help="port; 0 is any free one (default: %(default)s)")
    return this


if __name__ == "__main__":
    sys.exit(main())
