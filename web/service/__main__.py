"""`assay service` accepts submissions over HTTP and judges them; `assay service token …` makes, lists and revokes tokens."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from db import DEFAULT_DATABASE

if TYPE_CHECKING:
    from db.store import Store

EXIT_USAGE = 2
NO_DATABASE = (
    f"{DEFAULT_DATABASE}: there is no such database in this folder. Tokens belong to the database of a service: run this in its folder, or "
    "name its database by --db. The service makes the database when it starts."
)
MISSING = "The service needs {name}: pip install -c constraints.txt -e '.[service]'."


def main(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Serves until it is stopped, or manages tokens. Returns the exit code: 0, or 2 if the command can't be carried out."""
    from configuration.options import use_file
    from db.address import Address
    from db.error import StoreError
    from db.store import Store
    from evaluator.build.header_folders import HeaderFolderError
    from evaluator.build.native import NativeBuildError
    from evaluator.dsl import PluginError
    from evaluator.log import LogLevelError, show
    from evaluator.machine.devices import DeviceError
    from evaluator.problem.execute import ProblemError
    from evaluator.sandbox import SandboxUnavailable
    from web.service.options import PROGRAM, parser

    this = parser(program or PROGRAM)
    use_file(this, arguments, "service")
    options = this.parse_args(arguments)
    try:
        show("service", options.verbose)
        if options.command and options.db is None and not Address.parse(DEFAULT_DATABASE).exists:
            return _refuse(NO_DATABASE)
        with Store.open(options.db or DEFAULT_DATABASE) as store:
            return _token(store, options) if options.command else _serve(store, options)
    except HeaderFolderError as error:
        return _refuse(f"--headers: {error}")
    except (StoreError, DeviceError, ProblemError, SandboxUnavailable, NativeBuildError, PluginError, LogLevelError) as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return 0


def _serve(store: "Store", options: argparse.Namespace) -> int:
    from evaluator.build.header_folders import all_checked
    from evaluator.results.display.text import plain_line
    from web.listener import listening

    headers = all_checked(options.headers)
    try:
        from web.service.server import serve
    except ImportError as error:
        return _refuse(MISSING.format(name=error.name))
    try:
        listener = listening(options.host, options.port)
    except OSError as error:
        return _refuse(f"{options.host}, port {options.port}, can't be used: {error.strerror or error}. Set --host and --port.")
    with listener:
        host, port = listener.getsockname()[:2]
        address = f"[{host}]" if ":" in host else host
        _say(plain_line(f"{store.name} accepts submissions at http://{address}:{port}/ until Ctrl-C"))
        store.start_run(["python", "-m", "web.service"])
        serve(options, headers, store, listener)
    return 0


def _token(store: "Store", options: argparse.Namespace) -> int:
    from evaluator.results.display.text import plain_line
    from web.service import tokens

    if options.action == "new":
        if tokens.Scope.REFERENCE in options.scope:
            sys.stderr.write("Warning: this token's holder can run any code on this machine as the service's user.\n")
        _say(tokens.make(store, options.author, options.scope, options.quota, options.rate))
        return 0
    if options.action == "revoke":
        return 0 if tokens.revoke(store, options.id) else _refuse(f"No valid token has the id {options.id}.")
    for each in tokens.every(store):
        quota = "any number" if each.per_day is None else f"{each.per_day}/day"
        rate = "any number" if each.per_minute is None else f"{each.per_minute}/min"
        ended = f"revoked {each.revoked_at:%Y-%m-%d %H:%M}" if each.revoked_at else "valid"
        _say(plain_line(f"{each.public_id}  {each.author}  {each.scopes}  {quota}  {rate}  {each.created_at:%Y-%m-%d %H:%M}  {ended}"))
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _refuse(text: str) -> int:
    from evaluator.results.display.text import plain_line

    sys.stderr.write(plain_line(text) + "\n")
    return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
