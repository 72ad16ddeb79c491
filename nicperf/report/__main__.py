"""``python -m nicperf.report build``, ``update`` and ``picture``."""

from __future__ import annotations

from typing import Any

import click

from nicperf.errors import NicperfError
from nicperf.report import refresh, site

_NOTEBOOKS = click.option(
    "--notebooks", default="notebooks", show_default=True, help="Folder of the notebooks."
)
_FRESH = click.option("--fresh", is_flag=True, help="Execute again what has not changed, too.")


class _Commands(click.Group):
    """Turns errors about notebooks and folders into one line and exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NicperfError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands)
def main() -> None:
    """Execute the notebooks: into an HTML report, or in place."""


@main.command()
@click.option("--output", default="report", show_default=True, help="Folder to write.")
@_NOTEBOOKS
@_FRESH
def build(output: str, notebooks: str, fresh: bool) -> None:
    """Write the HTML report."""
    site.build(output, notebooks=notebooks, fresh=fresh, say=click.echo)


@main.command("update")
@click.option("--check", is_flag=True, help="Only fail where a file is not in its stored form.")
@_NOTEBOOKS
@_FRESH
def update_(check: bool, notebooks: str, fresh: bool) -> None:
    """Execute the notebooks in place."""
    if check:
        refresh.check(notebooks)
        click.echo("all notebooks are in their stored form")
    else:
        changed = refresh.update(notebooks, fresh=fresh, say=click.echo)
        click.echo(f"{len(changed)} notebooks updated")


@main.command()
@click.argument("slug")
@click.argument("path")
def picture(slug: str, path: str) -> None:
    """Write an experiment's figures as a PNG, such as the one in README.md."""
    click.echo(refresh.picture(slug, path))


if __name__ == "__main__":
    main(prog_name="python -m nicperf.report")
