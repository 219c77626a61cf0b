"""``query``: exact results, nothing but the output within reach, and a sentence for what is no table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overspill.core.model import Budget
from overspill.errors import QueryError
from overspill.retrieve import query
from retrieve.kept import keep, tight

pytest.importorskip("duckdb")
pytest.importorskip("jmespath")

CSV = b"level,ms\n" + b"".join(b"%s,%d\n" % (b"error" if n % 7 == 0 else b"info", n) for n in range(1, 701))


def test_jmespath_on_json_and_on_json_lines() -> None:
    rows = [{"id": n, "status": "failed" if n % 3 == 0 else "ok", "error": f"e{n}"} for n in range(9)]
    document = keep(json.dumps(rows).encode())
    lines = keep(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    for store, handle in (document, lines):
        answer = query(store, handle, "[?status=='failed'].{id:id,error:error}")
        assert answer.facts == [{"id": n, "error": f"e{n}"} for n in (0, 3, 6)]
        assert '{"id":3,"error":"e3"}\n' in answer.text
    nothing = query(*document, "[?status=='lost']")
    assert nothing.exit_status == 1
    assert "no results" in nothing.text


def test_sql_over_csv_json_and_json_lines() -> None:
    want = [["error", 100], ["info", 600]]
    rows = [{"level": "error" if n % 7 == 0 else "info", "ms": n} for n in range(1, 701)]
    outputs = [
        CSV,
        CSV.replace(b",", b"\t"),
        json.dumps(rows).encode(),
        b"".join(json.dumps(row).encode() + b"\n" for row in rows),
    ]
    for data in outputs:
        answer = query(*keep(data), sql="select level, count(*) from output group by 1 order by 1")
        assert answer.facts == want


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_text('{secret}')",
        "select * from read_csv_auto('{secret}')",
        "select * from '{secret}'",
        "select * from glob('/*')",
        "copy output to '{target}'",
        "attach '{target}' as other",
        "install httpfs",
        "set enable_external_access = true",
        "create table t as select 1",
        "drop view output",
        "select 1; select 2",
        "select * from query_table('store')",
        "pragma database_list; select 1",
    ],
)
def test_sql_reaches_nothing_else_of_the_machine(sql: str, tmp_path: Path) -> None:
    secret, target = tmp_path / "secret.csv", tmp_path / "target"
    secret.write_text("token\nabc123\n")
    store, handle = keep(CSV)
    with pytest.raises(QueryError) as raised:
        query(store, handle, sql=sql.format(secret=secret, target=target))
    assert "abc123" not in str(raised.value)
    assert not target.exists()


def test_a_query_that_runs_too_long_is_stopped() -> None:
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select sum(n) from t"
    with pytest.raises(QueryError, match=r"longer than 0\.5 s"):
        query(*keep(CSV), sql=endless, seconds=0.5)


def test_what_is_no_table_is_said_to_be_none() -> None:
    for data, says in (
        (b"just a log line\nand another one, see\n", "plain text"),
        (b"\x00\x01\x02" * 50, "binary"),
        (b"", "empty"),
        (CSV, "csv, not JSON; ask with sql"),
    ):
        answer = query(*keep(data), "[0]")
        assert answer.exit_status == 1
        assert says in answer.text
    with pytest.raises(QueryError, match=r"query"):
        query(*keep(b"[1, 2]"), "[?")
    with pytest.raises(QueryError, match="no valid JSON"):
        query(*keep(b'{"a": 1, "b": [1, 2}\n\n\n{'), "a")


@given(st.lists(st.text(max_size=80), max_size=60), st.integers(300, 700))
def test_results_fit_and_can_be_walked_to_the_end(values: list[str], tokens: int) -> None:
    store, handle = keep(json.dumps(values).encode())
    policy = tight(Budget(max_tokens=tokens))
    seen: list[str] = []
    skip = "0"
    while skip:
        answer = query(store, handle, "@", skip=skip, policy=policy)
        assert policy.measure.fits(answer.text, policy.budget)
        seen += [json.loads(line) for line in answer.text.split("\n")[1:-1] if not line.startswith("[more: ")]
        skip = answer.rest
    assert seen == values


def test_one_result_larger_than_the_budget_is_cut_and_says_so() -> None:
    store, handle = keep(json.dumps(["x" * 100_000, "y"]).encode())
    answer = query(store, handle, "@")
    assert "100002 characters" in answer.text
    assert answer.next.endswith("--skip 1")
