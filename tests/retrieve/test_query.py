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


def test_lines_that_are_no_json_are_left_out_and_named() -> None:
    rows = [json.dumps({"v": n}) for n in range(300)]
    store, handle = keep("\n".join([rows[0], "no json", *rows[1:], '{"v": 30']).encode())
    for asked in ({"expression": "[].v"}, {"sql": "select v from output"}):
        answer = query(store, handle, **asked)  # type: ignore[arg-type]
        assert len(answer.facts) == 300  # type: ignore[arg-type]
        assert "without 2 lines that are no JSON: 2, 302]" in answer.text.splitlines()[0]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"expression": "keys(@)"}, "keys() takes object, not array"),
        ({"sql": "select repeat('x', 3000000000)"}, "used); select less, or aggregate"),
        ({"sql": "select level::int from output"}, "auto-detected from the CSV file."),
    ],
)
def test_a_refusal_quotes_neither_the_data_nor_advice_that_cannot_be_followed(asked: dict[str, str], says: str) -> None:
    data = json.dumps(["secret"] * 1000).encode() if "expression" in asked else CSV
    with pytest.raises(QueryError) as raised:
        query(*keep(data), **asked)  # type: ignore[arg-type]
    assert str(raised.value).endswith(says)


@pytest.mark.parametrize(
    ("form", "rows", "note", "want"),
    [
        ("[%s]", 190_000, "request handled by a worker of the pool", [0, 190_000]),
        ('{"id":-1,"items":[%s]}', 400, "y" * 50_000, [-1, 1]),
    ],
)
def test_sql_over_tens_of_megabytes_in_one_line(form: str, rows: int, note: str, want: list[int]) -> None:
    items = ",".join(
        f'{{"id":{n},"user":{{"id":{n % 7},"name":"abcde"}},"note":"{note}","ms":{n / 7},"tags":["x"],"status":"ok"}}'
        for n in range(rows)
    )
    answer = query(*keep((form % items).encode()), sql="select min(id), count(*) from output", seconds=120)
    assert answer.facts == [want]


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_text('{secret}')",
        "select * from '{secret}'",
        "select * from glob('/*')",
        "with x as (select 1) select (select max(path) from duckdb_databases()) from x",
        "with x as (with duckdb_views as (select 1) select 1) select * from duckdb_views",
        "select * from (select 1 union all select path from duckdb_temporary_files())",
        "select current_setting('temp_directory')",
        "select getenv('HOME')",
        "select * from query('select 1')",
        "copy output to '{target}'",
        "attach '{target}' as other",
        "install httpfs",
        "set enable_external_access = true",
        "create table t as select 1",
        "select 1; select 2",
        "pragma database_list; select 1",
        "select 1) union all (select 2",
    ],
)
def test_sql_reaches_nothing_else_of_the_machine(sql: str, tmp_path: Path) -> None:
    secret, target = tmp_path / "secret.csv", tmp_path / "target"
    secret.write_text("token\nabc123\n")
    store, handle = keep(CSV)
    with pytest.raises(QueryError) as raised:
        query(store, handle, sql=sql.format(secret=secret, target=target))
    assert "abc123" not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not target.exists()


def test_the_engine_itself_reaches_no_file_and_no_setting_whatever_passes_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    from overspill.retrieve import sql_worker

    secret, output = tmp_path / "secret.csv", tmp_path / "output.csv"
    secret.write_text("token\nabc123\n")
    output.write_bytes(CSV)
    monkeypatch.setattr(sql_worker, "_checked", lambda *given: given[2])
    asked = {
        "file": str(output),
        "scratch": str(tmp_path / "scratch"),
        "table": "read_csv_auto(?)",
        "threads": 2,
        "memory_bytes": 512 << 20,
    }
    asked |= {"most_rows": 10, "most_chars": 1000}
    for sql in (
        f"from read_text('{secret}')",
        f"from glob('{tmp_path}/*')",
        "from enable_logging()",
        "from 'http://localhost:1/x.csv'",
    ):
        with pytest.raises(duckdb.Error, match=r"disabled by configuration|has been locked"):
            list(sql_worker._results(duckdb, {**asked, "sql": sql}))


def test_a_statement_that_takes_too_much_memory_is_stopped_at_once() -> None:
    with pytest.raises(QueryError, match="Memory"):
        query(*keep(CSV), sql="select repeat('x', 3000000000)", seconds=60)


def test_values_of_every_type_are_json() -> None:
    sql = (
        "select timestamptz '2026-01-01 00:00:00Z' a, 1.50::decimal(5, 2) b, 'nan'::double c, null d, "
        "date '2026-01-01' e, {'x': [1]} f, 9007199254740993 g, output.ms from output limit 1 -- the first"
    )
    answer = query(*keep(CSV), sql=sql)
    assert answer.facts == [["2026-01-01 00:00:00+00", 1.5, "NaN", None, "2026-01-01", {"x": [1]}, 9007199254740993, 1]]
    assert answer.text.splitlines()[1] == '# ["a","b","c","d","e","f","g","ms"]'
    assert "1-" in query(*keep(CSV), sql="select repeat('x', 100000) from range(100)").text


def test_sql_over_parquet(tmp_path: Path) -> None:
    import duckdb

    made = tmp_path / "made.parquet"
    duckdb.connect().execute(f"copy (select range as n, range % 7 as k from range(1000)) to '{made}' (format parquet)")
    store, handle = keep(made.read_bytes())
    assert query(store, handle, sql="select count(*), max(n) from output where k = 3").facts == [[143, 997]]
    assert "select * from output limit 5" in query(store, handle, "[0]").text


def test_a_query_that_runs_too_long_is_stopped() -> None:
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select sum(n) from t"
    with pytest.raises(QueryError, match=r"longer than 0\.5 s"):
        query(*keep(CSV), sql=endless, seconds=0.5)


def test_what_is_no_table_is_said_to_be_none() -> None:
    for data, says in (
        (b"just a log line\nand another one, see\n", "plain text"),
        (b"\x00\x01\x02" * 50, "binary"),
        (b"", "empty"),
        (b"\n" * 100_000 + b"words", "plain text"),
        (CSV, "csv, not JSON; ask with sql"),
    ):
        answer = query(*keep(data), "[0]")
        assert answer.exit_status == 1
        assert says in answer.text
    with pytest.raises(QueryError, match=r"query"):
        query(*keep(b"[1, 2]"), "[?")
    with pytest.raises(QueryError, match=r"no valid JSON: .*; see what it is with overspill outline"):
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
