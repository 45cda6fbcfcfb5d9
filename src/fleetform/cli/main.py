"""The command `fleetform`: finds the verb, turns failures into exit codes. Verbs are imported when they are called."""

from __future__ import annotations

import gc
import importlib
import io
import os
import signal
import sys
from typing import Any, NoReturn

import click

VERBS = {
    "audit": "Who did what to rollouts, and who was refused.",
    "backup": "Copy a control plane's database.",
    "catalog": "Read catalogs, and feed their versions to update bots.",
    "completion": "Print a completion script for your shell.",
    "convert": "Write native files from manifests of other systems.",
    "crds": "Print the kinds for a Kubernetes API server.",
    "diff": "What a change does, before it is made.",
    "explain": "What one plugin gets, and why.",
    "get": "List objects with their status.",
    "history": "What a cluster ran at a time, and why.",
    "init": "Start a fleet in an empty folder.",
    "login": "Sign in to a control plane.",
    "logout": "Forget a sign-in.",
    "notifications": "Notifications that were sent.",
    "operator": "Run the control plane on Kubernetes.",
    "plan": "What starts now, what waits and for what.",
    "render": "Render the objects of a plugin.",
    "rollout": "Approve, pause, abort or roll back a change on its way.",
    "restore": "Put a backup in place of a database.",
    "serve": "Run the control plane on this machine.",
    "simulate": "Simulate a rollout before it is made.",
    "transform": "Transform exported resources with plugins, by priority.",
    "validate": "Check the input: everything that is wrong, at once.",
    "version": "Print the version.",
    "why": "Why a cluster is not updated, until when, and what to do.",
}

EPILOG = """\b
Examples:
  fleetform validate -f fleet/
  fleetform explain cert-manager -c eu-prod-1 replicas
  fleetform diff git:main
  fleetform why eu-prod-3
  fleetform get overrides -o wide

\b
Exit codes: 0 success; 1 findings, differences or not found; 2 usage or invalid input; 3 denied or blocked;
4 unavailable, try again; 5 timed out waiting; 70 a bug in Fleetform; 130 interrupted.
"""


class LazyVerbs(click.Group):
    """Lists verbs without importing them, and suggests the nearest one for a typo."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"fleetform.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], VERBS, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(sorted(VERBS))}."
            raise click.UsageError(f"No such command: {args[0]}. {hint}", ctx)
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from fleetform import __version__

        click.echo(f"fleetform {__version__}")
        ctx.exit()


@click.group(cls=LazyVerbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """Decides and explains what every cluster of a fleet runs."""


def main() -> NoReturn:
    """Run the command line; never a traceback for what a user can cause."""
    # A closed stream is as good as none; what a terminal cannot show must not end the answer.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # A command makes many objects and ends: collecting them on the way only costs time.
    gc.set_threshold(1_000_000, 50, 50)
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        code = _closed()
    except SystemExit as request:
        # click itself ends the process: with 1 when it meets a closed pipe, with 0 after a completion.
        code = _closed() if request.code == 1 else 0
    sys.exit(code)


def run() -> int:
    """Run the command line and return its exit code."""
    from fleetform.cli.terminal import guarded_streams

    with guarded_streams():
        return _run()


def _run() -> int:
    try:
        result: Any = cli.main(prog_name="fleetform", standalone_mode=False)
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        from fleetform.outside.files import reason

        _say(f"{name}{reason(error)}", "")
        return 2
    except Exception as error:
        from fleetform.app.errors import AmbiguousError, NoAnswerError

        if isinstance(error, NoAnswerError):
            choices = error.choices if isinstance(error, AmbiguousError) else ()
            _say("\n  ".join([f"{error.message}:", *choices]) if choices else error.message, error.hint)
            return error.exit_code
        from fleetform.ports.store import StoreError, UnavailableError

        if isinstance(error, StoreError):
            _say(error.message, error.hint)
            return 4 if isinstance(error, UnavailableError) else 2
        if os.environ.get("FLEETFORM_DEBUG"):
            raise
        problem = f"internal error: {type(error).__name__}: {error}"
        _say(problem, "this is a bug; FLEETFORM_DEBUG=1 shows where it happened")
        return 70
    return result if isinstance(result, int) else 0


def _closed() -> int:
    """`fleetform … | head -1` closes the pipe: end quietly, as other commands do.

    The signal itself is not left to end the process: programs that it runs close their pipes, too.
    """
    # What is left in buffers is written at the end of the process, wherever the stream leads then.
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 128 + signal.SIGPIPE


def _say(message: str, hint: str) -> None:
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"  {hint}", err=True)
