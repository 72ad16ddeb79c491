"""The `nicperf` command: what the library answers, on the command line.

Words and flags are those of the library, the same for every command. The exit status is 0 only when what was
asked for was done. 2 means wrong input: one line on standard error says where, and how to mend it.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

import nicperf
from nicperf.errors import NicperfError, closest
from nicperf.layout import (
    LAYOUTS,
    as_table,
    check_table,
    print_frame,
    print_json,
    stacked,
    write_table,
)

# pandas and what stands on it are imported by the commands that need them, so that help comes at once.
if TYPE_CHECKING:
    from pandas import DataFrame

nic: Any = nicperf  # its names arrive on first use, which type checkers cannot follow


class InputError(click.ClickException):
    """Wrong input, told in one line."""

    exit_code = 2


class Interrupted(click.ClickException):
    """Ctrl-C during work that keeps what it has done."""

    exit_code = 130


class Commands(click.Group):
    """A group that suggests close names and turns errors about input into one line."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(f"no such command: {name!r}; {closest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NicperfError as error:
            raise InputError(" ".join(str(error).split())) from error
        except KeyboardInterrupt as stop:
            said = "; ".join(getattr(stop, "__notes__", []))
            if not said:
                raise
            raise Interrupted(f"interrupted: {said}") from stop


def settings(ctx: click.Context, param: click.Parameter, pairs: Sequence[str]) -> dict[str, Any]:
    """Turn `name=value` words into a mapping; the model checks names and ranges."""
    return {name: value_of(text) for name, text in named(pairs).items()}


def grid_of(ctx: click.Context, param: click.Parameter, pairs: Sequence[str]) -> dict[str, list[Any]]:
    """Turn `name=value,value` words into a mapping; the model checks names and ranges."""
    return {name: [value_of(word) for word in text.split(",")] for name, text in named(pairs).items()}


def named(pairs: Sequence[str]) -> dict[str, str]:
    """Split words at their equals sign."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        if not (name and text):
            raise click.BadParameter(f"{pair!r} is not of the form name=value")
        if name in values:
            raise click.BadParameter(f"{name} is set twice")
        values[name] = text
    return values


def value_of(text: str) -> bool | int | float | str:
    """Read a switch, a whole number, a number, or else a word."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


slug_argument = click.argument("slug")
any_slug_argument = click.argument("slug", required=False)
format_option = click.option(
    "--format",
    "layout",
    type=click.Choice(LAYOUTS),
    default="table",
    show_default=True,
    help="Layout of the output; csv and json have every column.",
)


def in_a_folder(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Refuse a file that cannot be written before the work for it is done."""
    if path and not os.access(os.path.dirname(path) or ".", os.W_OK):
        raise click.BadParameter(f"{os.path.dirname(path) or '.'!r} is no folder that can be written to")
    return path


def output_option(name: str, help: str) -> Callable[[Any], Any]:
    """Declare a file that a command writes."""
    return click.option(
        name, type=click.Path(dir_okay=False), metavar="FILE", callback=in_a_folder, help=help
    )


def a_table(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Refuse a table's file that cannot be written before the work for it is done."""
    if path:
        check_table(path)
    return in_a_folder(ctx, param, path)


cache_option = click.option(
    "--cache/--no-cache",
    default=True,
    show_default=True,
    help="Keep runs on disk and take those that are there; NICPERF_CACHE names another folder.",
)

write_option = click.option("--write", is_flag=True, help="Keep the result in the experiment's data folder.")

# Columns of a table; csv and json have all.
SHOWN = {
    "parameters": ["name", "value", "unit", "origin", "low", "high"],
    "figures": ["id", "value", "unit", "role"],
    "claims": ["id", "statement"],
    "sweep": [
        "throughput_mbit_s",
        "cpu_percent_local",
        "cpu_percent_remote",
        "interrupts_per_s_local",
        "interrupts_per_s_remote",
    ],
    "fits": ["routine", "placement", "source", "footprint", "a_cycles", "b_cycles_per_byte", "worst_percent"],
    "crossovers": ["footprint", "placement", "cached", "nocache", "crossover_bytes", "nocache_pays"],
    "sensitivity": ["id", "parameter", "mu_star_percent", "mu_star_confidence_percent", "sigma_percent"],
    "leave-out": ["by", "left_out", "quantity", "rows", "median_error_percent", "worst_error_percent", "why"],
}


def words(value: Any) -> Any:
    """A mapping or sequence in one cell of a table."""
    if isinstance(value, Mapping):
        value = [f"{key} {item}" for key, item in value.items()]
    return ", ".join(value) if isinstance(value, (list, tuple)) else value


def of_each_model(slug: str | None, answer: Callable[[Any], DataFrame]) -> DataFrame:
    """Ask one experiment, or each that has a model."""
    from nicperf.experiments.config_reader import available

    return stacked({name: answer(nic.experiment(name)) for name in ([slug] if slug else available())}, "slug")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nicperf")
def main() -> None:
    """Executable models of NIC driver data paths, set beside published measurements."""


@main.command("list")
@format_option
def list_(layout: str) -> None:
    """List the experiments."""
    import pandas as pd

    from nicperf import published
    from nicperf.experiments.config_reader import available

    rows = [
        {
            "slug": slug,
            "title": published.source(slug).title,
            "figures": len(published.figures(slug)),
            "claims": len(published.claims(slug)),
            "model": slug in available(),
        }
        for slug in published.slugs()
    ]
    print_frame(pd.DataFrame(rows), layout)


@main.command()
@slug_argument
@format_option
def show(slug: str, layout: str) -> None:
    """Show what an experiment consists of; as csv, its figures."""
    from tabulate import tabulate

    from nicperf import published
    from nicperf.experiments.config_reader import available

    source, figures = published.source(slug), published.figures(slug)
    if layout == "csv":
        print_frame(figures, layout)
        return
    parts: dict[str, Any] = {
        "configurations": source.configurations,
        "workloads": {name: workload.command for name, workload in source.workloads.items()},
    }
    if slug in available():
        parts["parameters"] = nic.experiment(slug).parameters
    parts |= {"figures": figures, "claims": published.claims(slug)}
    if layout == "json":
        print_json({"slug": slug, "title": source.title, **parts})
        return
    click.echo(f"{slug}: {source.title}")
    for name, part in parts.items():
        listed = part.items() if isinstance(part, Mapping) else None
        text = tabulate(listed, tablefmt="plain") if listed else as_table(part, SHOWN[name])
        click.echo(f"\n{name}\n{text}")


@main.command()
@slug_argument
@click.argument("configuration")
@click.argument("workload")
@click.option(
    "--set", "values", multiple=True, metavar="NAME=VALUE", callback=settings, help="Change a parameter."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random streams."
)
@output_option("--pcap", "Carry real frames, and write the first 10,000 as pcapng.")
@output_option("--folded", "Write the CPU time as folded stacks, for flame graphs.")
@output_option("--speedscope", "Write the CPU time as a speedscope profile.")
@click.option("--netperf", "tool", flag_value="netperf", help="Print what netperf would have, and no more.")
@click.option(
    "--iperf", "tool", flag_value="iperf", help="Print what an iperf server would have, and no more."
)
@format_option
def simulate(
    slug: str,
    configuration: str,
    workload: str,
    values: dict[str, Any],
    seed: int,
    pcap: str | None,
    folded: str | None,
    speedscope: str | None,
    tool: str | None,
    layout: str,
) -> None:
    """Run the model once: summary and binding resource."""
    import pandas as pd

    if tool and layout != "table":
        raise click.UsageError(f"--{tool} has a layout of its own; leave --format out")
    fidelity = "bytes" if pcap else "timing"
    run = nic.experiment(slug).simulate(configuration, workload, seed=seed, fidelity=fidelity, **values)
    # What cannot be printed is refused before anything is written.
    printed = getattr(run, f"to_{tool}")() if tool else None
    for write, path in ((run.to_pcapng, pcap), (run.to_folded, folded), (run.to_speedscope, speedscope)):
        if path:
            write(path)
    if printed is not None:
        click.echo(printed, nl=False)
        return
    result = {**run.summary, "binding": run.binding}
    if layout == "json":
        asked = {
            "slug": slug,
            "configuration": configuration,
            "workload": workload,
            "seed": seed,
            "set": values,
        }
        print_json({**asked, **result})
    else:
        print_frame(pd.DataFrame({"quantity": result.keys(), "value": result.values()}), layout)


@main.command()
@slug_argument
@click.argument("configuration")
@click.argument("workload")
@click.argument("grid", nargs=-1, metavar="[NAME=VALUE[,VALUE]...]...", callback=grid_of)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Runs of each combination."
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    callback=a_table,
    help="Write the rows to a .csv or .parquet file instead of printing them.",
)
@cache_option
@format_option
def sweep(
    slug: str,
    configuration: str,
    workload: str,
    grid: dict[str, list[Any]],
    seeds: int,
    out: str | None,
    cache: bool,
    layout: str,
) -> None:
    """Run the model for every combination of values.

    One row for each run: the values by dotted name, the seed, and the figures, whose names end in their unit.
    Ctrl-C keeps the runs that are done; the same command goes on from there.
    """
    if out and layout != "table":
        raise click.UsageError("--out has the layout that its ending names; leave --format out")
    frame = nic.sweep(nic.experiment(slug), configuration, workload, grid, seeds=range(seeds), cache=cache)
    if out:
        write_table(frame, out)
        click.echo(f"{len(frame)} runs written to {out}", err=True)
    else:
        print_frame(frame, layout, [*grid, "seed", *SHOWN["sweep"]])


@main.command()
@slug_argument
@click.argument("configuration")
@click.argument("workload")
@click.option("--maximise", type=click.Choice(["throughput"]), help="What shall be large.")
@click.option(
    "--minimise",
    type=click.Choice(["cpu", "latency"]),
    help="What shall be small, of settings that keep 99% of the throughput.",
)
@click.option(
    "--within",
    multiple=True,
    metavar="NAME=LIMITS",
    callback=lambda ctx, param, pairs: named(pairs),
    help="Limits of a parameter: low..high, or value,value, or all.",
)
@click.option("--hold", multiple=True, metavar="NAME", help="Leave a parameter as it is.")
@click.option(
    "--evaluations",
    type=click.IntRange(min=1),
    default=400,
    show_default=True,
    help="Most settings that the search looks at.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the search.")
@cache_option
@format_option
def suggest(
    slug: str,
    configuration: str,
    workload: str,
    within: dict[str, str],
    hold: tuple[str, ...],
    layout: str,
    **options: Any,
) -> None:
    """Find the best settings within what the boards allow, and say how flat the optimum is."""
    found = nic.suggest(nic.experiment(slug), configuration, workload, within=within, hold=hold, **options)
    if layout == "json":
        print_json({"slug": slug, "configuration": configuration, "workload": workload, **vars(found)})
        return
    print_frame(found.settings, layout)
    if layout == "table":
        click.echo()
        for statement in found.statements:
            click.echo(textwrap.fill(statement, 110, subsequent_indent="  ", break_on_hyphens=False))
        words = [f"--set {name}={_word(value)}" for name, value in found.changes.items()]
        click.echo(" ".join(["try: nicperf simulate", slug, configuration, workload, *words]))


def _word(value: Any) -> str:
    """A setting as `value_of` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@main.command()
@any_slug_argument
@write_option
@format_option
@click.pass_context
def ledger(ctx: click.Context, slug: str | None, write: bool, layout: str) -> None:
    """Figures and claims beside predictions, with verdicts.

    Exit status 1: a verdict is not the recorded one. --write records them.
    """
    from nicperf.experiments import threads
    from nicperf.experiments.text import text

    frame = threads.ledger(slug, progress=sys.stderr.isatty())
    if write:
        threads.record_verdicts(frame)
    if layout == "table":
        click.echo(text(frame, *threads.calibrated(frame)))
    else:
        print_frame(frame, layout)
    changed = threads.changed_verdicts(frame)
    for row in changed.to_dict("records"):
        now, then = (row[name] or "not a row" for name in ("computed", "recorded"))
        click.echo(f"verdict changed: {row['slug']} {row['id']}: {now}, recorded: {then}", err=True)
    ctx.exit(0 if changed.empty else 1)


@main.command("leave-out")
@any_slug_argument
@write_option
@format_option
def leave_out(slug: str | None, write: bool, layout: str) -> None:
    """Fit again without each configuration and each workload."""

    def answer(exp: Any) -> DataFrame:
        return exp.leave_out(write=write, progress=sys.stderr.isatty())

    print_frame(of_each_model(slug, answer), layout, SHOWN["leave-out"])


@main.command()
@any_slug_argument
@write_option
@format_option
def sensitivity(slug: str | None, write: bool, layout: str) -> None:
    """Say which parameters the headline figures hang on, each moved through its prior range.

    Indices after Morris, in percent of the figure.
    """

    def answer(exp: Any) -> DataFrame:
        return exp.screen(write=write, progress=sys.stderr.isatty())

    print_frame(of_each_model(slug, answer), layout, SHOWN["sensitivity"])


@main.command()
@any_slug_argument
@format_option
def consistency(slug: str | None, layout: str) -> None:
    """Recompute the arithmetic of the published figures."""
    print_frame(nic.consistency(slug), layout)


@main.command()
@click.argument("file")
@format_option
def parse(file: str, layout: str) -> None:
    """Read what a tool printed; FILE may be - for standard input."""
    records = nic.parse(sys.stdin.read() if file == "-" else file)
    frames = {number: record.to_frame() for number, record in enumerate(records, 1)}
    print_frame(stacked(frames, "record"), layout)


@main.command()
@any_slug_argument
@write_option
@format_option
def calibrate(slug: str | None, write: bool, layout: str) -> None:
    """Fit the free parameters to the figures of role fit, and draw vectors that fit equally well.

    Without SLUG all experiments that have a model, one after the other.
    """
    from nicperf.experiments.config_reader import available

    fits = {}
    for name in [slug] if slug else available():
        fits[name] = nic.experiment(name).calibrate(write=write, progress=sys.stderr.isatty())
    if layout == "json":
        names = ["slug", "cost", "figures_per_parameter", "parameters", "residuals", "inseparable"]
        said = [{name: getattr(fit, name) for name in names} for fit in fits.values()]
        print_json(said[0] if slug else said)
        return
    tables = {name: fit.parameters for name, fit in fits.items()}
    print_frame(tables[slug] if slug else stacked(tables, "slug"), layout)
    if layout == "table":
        for sentence in (sentence for fit in fits.values() for sentence in fit.inseparable):
            click.echo(sentence)


@main.command()
@slug_argument
@format_option
def ablation(slug: str, layout: str) -> None:
    """Each patch alone, and all in order."""
    print_frame(nic.experiment(slug).ablation(progress=sys.stderr.isatty()), layout)


@main.group(cls=Commands)
def live() -> None:
    """Measure on this machine."""


@live.command("copy")
@click.option("--quick", is_flag=True, help="Fewer message sizes, in less than 10 s instead of 60 s.")
@format_option
def live_copy(quick: bool, layout: str) -> None:
    """Cached against non-temporal copies; csv has the cells, json everything."""
    from tabulate import tabulate

    from nicperf.live import run_copy

    result = run_copy(quick, progress=sys.stderr.isatty())
    if layout == "csv":
        print_frame(result.cells, layout)
        return
    parameters = {
        "memory_parameters": result.memory_parameters(),
        "copies_parameters": result.copies_parameters(),
    }
    if layout == "json":
        names = ["machine", "notes", "cells", "fits", "crossovers"]
        print_json({**{name: getattr(result, name) for name in names}, **parameters})
        return
    for name, part in {"machine": result.machine, **parameters}.items():
        lines = [(key, words(value)) for key, value in part.items()]
        click.echo(f"{name}\n{tabulate(lines, tablefmt='plain', missingval='-')}\n")
    click.echo(f"ns of a call (chase: of an access), 10th percentile\n{as_table(result.side_by_side())}\n")
    for name in ("fits", "crossovers"):
        click.echo(f"{name}\n{as_table(getattr(result, name), SHOWN[name])}\n")
    for note in result.notes:
        click.echo(f"note: {note}")


@main.command()
@click.option("--output", default="report", show_default=True, help="Folder to write.")
def report(output: str) -> None:
    """Execute the notebooks and write the HTML report."""
    from nicperf.report import build

    build(output, say=click.echo)


if __name__ == "__main__":
    main()
