"""Files, variables and flags together: what is found, what wins, what is refused and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overspill.config import load
from overspill.config.presets import PRESETS, Preset
from overspill.config.settings import SETTINGS
from overspill.core.access import Shell
from overspill.core.model import Budget
from overspill.errors import PolicyError


def settled(name: str, *, env: dict[str, str] | None = None, **asked: Any) -> tuple[Any, str]:
    found = load(str(Path.cwd()), env or {}).settle(**asked).settled[name]
    return found.value, found.origin


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_without_anything_the_built_in_policy_holds() -> None:
    policy = load(str(Path.cwd()), {}).settle().policy(access=Shell())
    assert policy.budget == Budget(max_tokens=2_000, max_bytes=9_000)
    assert policy.strategy.name == "auto"


def test_every_setting_has_a_variable_of_its_own() -> None:
    names = [setting.variables[0] for setting in SETTINGS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("OVERSPILL_") for name in names)


@pytest.mark.parametrize("name", ["overspill.toml", "pyproject.toml", "overspill.yaml"])
def test_each_kind_of_file_is_read(name: str) -> None:
    if name.endswith("yaml"):
        write(name, "max_lines: 70\ntools: {grep: {max_lines: 3000}}\ncommands: {git log: {keep: head}}\n")
    else:
        table = "tool.overspill" if name == "pyproject.toml" else ""
        top, sub = (f"[{table}]\n", f"{table}.") if table else ("", "")
        write(
            name,
            f'{top}max_lines = 70\n[{sub}tools.grep]\nmax_lines = 3000\n[{sub}commands."git log"]\nkeep = "head"\n',
        )
    assert settled("max_lines") == (70, name)
    assert settled("max_lines", tool="grep") == (3000, f"{name} [tools.grep]")
    assert settled("keep", command="git log -3") == ("head", f"{name} [commands.git log]")
    assert settled("keep", command="git logs") == ("auto", "built-in")


def test_the_nearest_directory_that_has_a_file_speaks_for_the_project(tmp_path: Path) -> None:
    project = tmp_path / "work"
    (project / ".git").mkdir()
    write(str(tmp_path / "overspill.toml"), "max_lines = 1")
    assert "max_lines" not in load(str(project), {}).settle().settled
    write(str(project / "overspill.toml"), "max_lines = 2")
    below = project / "a" / "b"
    below.mkdir(parents=True)
    assert load(str(below), {}).settle().get("max_lines") == 2
    write(str(below / "overspill.toml"), "max_lines = 3")
    assert load(str(below), {}).settle().get("max_lines") == 3


def test_the_project_s_file_goes_before_the_user_s(tmp_path: Path) -> None:
    write(str(tmp_path / ".config/overspill/overspill.toml"), 'keep = "tail"\nlanguage = "zh"\n')
    write("overspill.toml", 'keep = "head"')
    env = {"HOME": str(tmp_path)}
    assert settled("keep", env=env)[0] == "head"
    assert settled("language", env=env)[0] == "zh"


def test_one_file_can_be_named_instead_of_all() -> None:
    write("overspill.toml", 'keep = "head"')
    write("other.toml", 'keep = "tail"')
    assert settled("keep", env={"OVERSPILL_CONFIG": "other.toml"})[0] == "tail"
    assert settled("keep", env={"OVERSPILL_CONFIG": ""})[0] == "auto"


def test_the_more_specific_scope_then_the_nearer_source() -> None:
    write(
        "overspill.toml",
        "max_lines = 10\n[tools.shell]\nmax_lines = 20\n[tools.'s*']\nmax_lines = 15\n"
        "[commands.pytest]\nmax_lines = 30\n",
    )
    env = {"OVERSPILL_MAX_LINES": "40"}
    assert settled("max_lines") == (10, "overspill.toml")
    assert settled("max_lines", env=env) == (40, "OVERSPILL_MAX_LINES")
    assert settled("max_lines", env=env, tool="shell") == (20, "overspill.toml [tools.shell]")
    assert settled("max_lines", env=env, tool="sed") == (15, "overspill.toml [tools.s*]")
    assert settled("max_lines", env=env, tool="shell", command="pytest -x")[0] == 30
    flags = {"max_lines": 50}
    assert settled("max_lines", env=env, tool="shell", command="pytest", flags=flags) == (50, "--max-lines")


def test_a_preset_is_the_farthest_source_of_the_scope_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "test", Preset({"max_lines": 7, "keep": "tail"}, {"grep": {"max_lines": 8}}))
    write("overspill.toml", 'preset = "test"\nkeep = "head"')
    assert settled("max_lines") == (7, "preset test")
    assert settled("keep") == ("head", "overspill.toml")
    assert settled("max_lines", tool="grep") == (8, "preset test [grep]")
    write("overspill.toml", 'keep = "head"\n[tools.shell]\nkeep = "head"')
    assert settled("keep", tool="shell", flags={"preset": "test"}) == ("tail", "preset test")


def test_the_variables_of_the_unified_design() -> None:
    env = {
        "TOOL_OUTPUT_MAX_LINES": "2000",
        "TOOL_OUTPUT_MAX_BYTES": "51200",
        "TOOL_OUTPUT_TRUNCATE_DIRECTION": "tail",
        "TOOL_OUTPUT_DIR": "/somewhere",
        "TOOL_OUTPUT_RETENTION_DAYS": "3",
    }
    found = load(str(Path.cwd()), env).settle()
    assert found.sizes() == {"max_lines": 2000, "max_bytes": 51200}
    assert (found.get("keep"), found.get("store.place"), found.get("store.retention_days")) == ("tail", "/somewhere", 3)
    assert load(str(Path.cwd()), {**env, "OVERSPILL_MAX_LINES": "5"}).settle().get("max_lines") == 5


LIMITS = """
tool_output_limits:
  default: {max_chars: 8000, max_lines: 500, truncation_strategy: head_tail}
  tools:
    repo_map: {max_chars: 10000, max_lines: 1000}
    grep_search: {max_lines: 100, show_context: 2}
    get_repo_structure: {max_depth: 3, max_files: 500}
summarization: {enabled: true, model: small, max_input_chars: 50000, trigger_threshold: 20000}
"""


def test_the_yaml_of_the_tool_level_design() -> None:
    write("overspill.yaml", LIMITS)
    configuration = load(str(Path.cwd()), {})
    found = configuration.settle()
    assert (found.sizes(), found.get("keep")) == ({"max_chars": 8000, "max_lines": 500}, "ends")
    assert configuration.settle(tool="repo_map").sizes() == {"max_chars": 10_000, "max_lines": 1000}
    assert configuration.tool_parameters("get_repo_structure") == {"max_depth": 3, "max_files": 500}
    assert configuration.tool_parameters("grep_search") == {"show_context": 2}
    assert configuration.summarization is not None
    assert configuration.summarization.trigger_threshold == 20_000


def test_patterns_in_a_variable_are_lines() -> None:
    found = load(
        str(Path.cwd()), {"OVERSPILL_REDACT": "1", "OVERSPILL_REDACT_PATTERNS": "ours=K-[0-9]+=\nid = X"}
    ).settle()
    assert {(secret.name, secret.pattern) for secret in found.redact} >= {("ours", "K-[0-9]+="), ("id", " X")}


MISTAKES = [
    ("overspill.toml", 'max_lines = "x"', "overspill.toml: max_lines", "x", "a whole number, 1 or more"),
    ("overspill.toml", "max_lines = -1", "overspill.toml: max_lines", -1, "a whole number, 1 or more"),
    ("overspill.toml", "max_lines = true", "overspill.toml: max_lines", True, "a whole number, 1 or more"),
    ("overspill.toml", "max_line = 5", "overspill.toml: max_line", 5, "did you mean max_lines?"),
    (
        "overspill.toml",
        "[tools.grep]\nmax_byte = 5",
        "overspill.toml: tools.grep.max_byte",
        5,
        "did you mean max_bytes?",
    ),
    ("overspill.toml", "[tools]\ngrep = 5", "overspill.toml: tools.grep", 5, "a table of settings"),
    ("overspill.toml", "[tools.grep.store]\nplace = 'x'", "overspill.toml: tools.grep.store.place", "x", "known are"),
    ("overspill.toml", "[limit]\nmax_bytes = 'x'", "overspill.toml: limit.max_bytes", "x", "a whole number, 1 or more"),
    ("overspill.toml", "max_lines = ", "config", "overspill.toml", "valid TOML"),
    (
        "pyproject.toml",
        "[tool.overspill]\nkeap = 'x'",
        "pyproject.toml: tool.overspill.keap",
        "x",
        "did you mean keep?",
    ),
    ("overspill.yaml", "a: [", "config", "overspill.yaml", "valid YAML"),
    ("overspill.yaml", "- a", "overspill.yaml", ["a"], "a table of settings"),
    (
        "overspill.yaml",
        "tool_output_limits: {default: {max_chars: big}}",
        "overspill.yaml: tool_output_limits.default.max_chars",
        "big",
        "expected int",
    ),
    (
        "overspill.yaml",
        "tool_output_limits: {tools: {grep: {max_cars: 5}}}",
        "overspill.yaml: tool_output_limits.tools.grep.max_cars",
        5,
        "one of max_chars",
    ),
    (
        "overspill.yaml",
        "tool_output_limits: {default: {truncation_strategy: middle}}",
        "overspill.yaml: tool_output_limits.default.truncation_strategy",
        "middle",
        "head_tail or head_only or summarize",
    ),
    ("overspill.yaml", "x: " + "[" * 5_000, "config", "overspill.yaml", "nested too deep"),
    ("overspill.toml", "x = " + "[" * 5_000, "config", "overspill.toml", "nested too deep"),
    *(
        (
            "overspill.yaml",
            f"tool_output_limits: {{tools: {{x: {{{key}: {value}}}}}}}",
            f"overspill.yaml: tool_output_limits.tools.x.{key}",
            value,
            accepted,
        )
        for key, value, accepted in (
            ("max_depth", 100, "1 to 50"),
            ("show_context", 1_000, "0 to 50"),
            ("max_files", 0, "1 to 10,000"),
        )
    ),
    ("overspill.yaml", "summarization: {enabled: 5}", "overspill.yaml: summarization.enabled", 5, "expected bool"),
]


@pytest.mark.parametrize(("name", "content", "setting", "value", "accepted"), MISTAKES)
def test_a_mistake_is_named_by_its_exact_path(name: str, content: str, setting: str, value: Any, accepted: str) -> None:
    write(name, content)
    with pytest.raises(PolicyError) as raised:
        load(str(Path.cwd()), {})
    error = raised.value
    assert (error.setting.removeprefix(f"{Path.cwd()}/"), accepted in error.accepted) == (setting, True), error
    assert error.value == value or str(error.value).endswith(str(value))


@pytest.mark.parametrize(
    ("env", "setting"),
    [
        ({"OVERSPILL_MAX_LINES": "many"}, "OVERSPILL_MAX_LINES"),
        ({"OVERSPILL_REDACT_PATTERNS": "ours"}, "OVERSPILL_REDACT_PATTERNS"),
        ({"OVERSPILL_SKIP": "perhaps"}, "OVERSPILL_SKIP"),
        ({"TOOL_OUTPUT_TRUNCATE_DIRECTION": "middle"}, "TOOL_OUTPUT_TRUNCATE_DIRECTION"),
    ],
)
def test_a_wrong_variable_is_named(env: dict[str, str], setting: str) -> None:
    with pytest.raises(PolicyError) as raised:
        load(str(Path.cwd()), env)
    assert raised.value.setting == setting


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('keep = "middle"', "keep (overspill.toml)"),
        ('preset = "none"', "preset"),
        ("max_bytes = 5", "max_bytes (overspill.toml)"),
        ('language = "fr"', "language (overspill.toml)"),
    ],
)
def test_a_value_that_no_policy_takes_is_refused_with_its_origin(content: str, words: str) -> None:
    write("overspill.toml", content)
    with pytest.raises(PolicyError) as raised:
        load(str(Path.cwd()), {}).settle().policy(access=Shell())
    assert raised.value.setting == words


@pytest.mark.parametrize(
    ("content", "env", "words"),
    [
        ('[store]\nretention_days = "soon"', {}, "store.retention_days (overspill.toml)"),
        ('[store]\nplace = "ftp://x"', {}, "store.place (overspill.toml)"),
        ("", {"OVERSPILL_DIR": "ftp://x"}, "store.place (OVERSPILL_DIR)"),
        ("", {"TOOL_OUTPUT_RETENTION_DAYS": "x"}, "store.retention_days (TOOL_OUTPUT_RETENTION_DAYS)"),
    ],
)
def test_a_value_that_no_store_takes_is_refused_with_its_origin(content: str, env: dict[str, str], words: str) -> None:
    write("overspill.toml", content)
    with pytest.raises(PolicyError) as raised:
        load(str(Path.cwd()), env).settle().store(default="kept")
    assert raised.value.setting == words


def test_the_store_is_beside_the_file_that_names_it(tmp_path: Path) -> None:
    write(str(tmp_path / "work" / "overspill.toml"), '[store]\nplace = "kept"\nretention_days = "2 days"\n')
    below = tmp_path / "work" / "below"
    below.mkdir()
    store = load(str(below), {}).settle().store(default="elsewhere")
    assert Path(store.where) == tmp_path / "work" / "kept"  # type: ignore[attr-defined]
    assert store.retention.days == 2  # type: ignore[attr-defined]
