"""`overspill query`: JMESPath on JSON, SQL on tables."""

from __future__ import annotations

from typing import Any

import click

from overspill.cli import kept


@click.command(short_help="Ask a kept output by JMESPath or SQL.")
@kept.handle_argument
@click.argument("expression", required=False)
@click.option("--sql", metavar="SELECT", help="A SELECT on the view `output`.")
@click.option("--skip", metavar="N", default="0", show_default=True, help="Leave out the first results.")
@kept.size_options
@kept.store_option
@kept.json_option
def query(
    handle: str,
    expression: str | None,
    sql: str | None,
    skip: str,
    store: str | None,
    as_json: bool,  # noqa: FBT001
    **sizes: Any,
) -> int:
    """Ask an output: by a JMESPath EXPRESSION on JSON and JSON lines, by --sql on anything tabular.

    \b
    Examples:
      overspill query ovs_7k2m9x4q '[?status==`failed`].{id:id,error:error}'
      overspill query ovs_7k2m9x4q --sql 'select level, count(*) from output group by 1'
    """
    from overspill.retrieve.query import query as ask

    if (expression is None) == (sql is None):
        raise click.UsageError("give either a JMESPath EXPRESSION or --sql; `overspill query --help` shows both")
    found = kept.store_for(handle, store)
    answer = ask(found, handle, expression, sql=sql, skip=skip, policy=kept.policy(sizes))
    return kept.answered(answer, found, verb="query", as_json=as_json)
