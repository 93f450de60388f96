import ast
from pathlib import Path

import pytest
from pydantic import ValidationError

from telegram_assistant.errors import SettingsError
from telegram_assistant.settings import effective, read_settings, unknown_names, variables

NEEDED = {"DATABASE_URL": "postgresql://u:p4ss@db/x", "REDIS_URL": "redis://:r3dis@cache:6379/0"}
TESTS = Path(__file__).parent
EXAMPLES = {
    "DATABASE_ADMIN_URL": "postgresql://a@db/x",
    "DATABASE_SYSTEM_URL": "postgresql://w@db/x",
    "DATABASE_INGEST_URL": "postgresql://i@db/x",
    "DATABASE_DIRECT_URL": "postgresql://d@db/x",
    "TZ": "Asia/Tokyo",
    "QUIET_HOURS_TZ": "Asia/Tokyo",
    "TELEGRAM_DC_ADDR": "127.0.0.1",
    "TELEGRAM_PROXY_TYPE": "http",
    "SESSION_ENCRYPTION_KEY": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "LOG_LEVEL": "error",
    "PARSER_MODE_OVERRIDE": "historical",
    "PARSER_SCHEDULER_POLICY": "classic",
    "SMTP_SECURITY": "tls",
    "OUTBOUND_ALLOWED_NETWORKS": "10.0.0.0/8",
    "PREVIEWS_ENABLED": "true",
    "PREVIEWS_URL": "http://127.0.0.1:8446",
    "QDRANT_URL": "http://127.0.0.1:6333",
    "API_CORS_ORIGINS": "https://desk.example",
    "BASE_URL": "https://news.example",
    "TRUSTED_PROXIES": "10.0.0.0/8",
    "CRAWL_ALLOW": "example.org",
    "CRAWL_DENY": "example.org",
    "CRAWLER_ADDRESS": "127.0.0.1:8013",
    "AI_PROVIDERS": "openai",
    "AI_EMBEDDINGS": "openai",
    "GIGACHAT_SCOPE": "GIGACHAT_API_CORP",
    "EMBEDDINGS_BASE_URL": "http://127.0.0.1:8080/v1",
    "EMBEDDINGS_IS_OWN": "true",
}
COMPANIONS = {"EMBEDDINGS_IS_OWN": {"EMBEDDINGS_BASE_URL": "http://127.0.0.1:8080/v1"}}
"""Settings that a setting makes no sense without."""


def test_every_problem_is_told_at_once_and_in_words() -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings({"API_PORT": "many", "REDIS_URL": "http://x", "TZ": "Mars/Olympus"})
    assert refused.value.problems == (
        "DATABASE_URL is required",
        "REDIS_URL is wrong: it must begin with redis:// or rediss://",
        "API_PORT is wrong: Input should be a valid integer, unable to parse string as an integer",
        "TZ is wrong: unknown time zone; write it like Europe/Moscow or UTC",
    )


def test_a_wrong_secret_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings({**NEEDED, "DATABASE_URL": "mysql://root:h1dden@db/x"})
    assert "h1dden" not in str(refused.value)


@pytest.mark.parametrize("name", [variable.name for variable in variables()])
def test_every_variable_can_come_from_a_file(name: str, tmp_path: Path) -> None:
    known = {variable.name: variable for variable in variables()}[name]
    value = NEEDED.get(name) or EXAMPLES.get(name, "7")
    value = "false" if known.default == "true" else value
    file = tmp_path / "value"
    file.write_text(f"{value}\n", encoding="utf-8")
    needed = {**NEEDED, **COMPANIONS.get(name, {})}
    environ = {**needed, f"{name}_FILE": str(file)}
    environ.pop(name, None)
    from_file = read_settings(environ)
    assert from_file == read_settings({**needed, name: value})
    assert known.required or from_file != read_settings(needed)


def test_a_value_and_a_file_together_are_a_mistake() -> None:
    with pytest.raises(SettingsError, match="TZ and TZ_FILE are both set"):
        read_settings({**NEEDED, "TZ": "UTC", "TZ_FILE": "/x"})


def test_a_file_that_cannot_be_read_is_named_by_its_variable() -> None:
    with pytest.raises(SettingsError, match="OPERATOR_KEY_FILE cannot be read: No such file"):
        read_settings({**NEEDED, "OPERATOR_KEY_FILE": "/nowhere/key"})


def test_a_second_spelling_is_read_and_both_at_once_are_a_mistake() -> None:
    assert read_settings({**NEEDED, "PARSER_LPA_MAX_AGE_HOURS": "5"}) == read_settings(
        {**NEEDED, "LPA_MAX_AGE_HOURS": "5"}
    )
    assert unknown_names({"PARSER_LPA_MAX_AGE_HOURS": "5"}) == []
    with pytest.raises(SettingsError, match="LPA_MAX_AGE_HOURS and PARSER_LPA_MAX_AGE_HOURS are both set"):
        read_settings({**NEEDED, "PARSER_LPA_MAX_AGE_HOURS": "5", "LPA_MAX_AGE_HOURS": "5"})


def test_an_empty_value_is_no_value() -> None:
    assert read_settings({**NEEDED, "API_PORT": "", "DATABASE_ADMIN_URL": ""}) == read_settings(NEEDED)


def test_settings_are_frozen_at_every_depth() -> None:
    installation = read_settings(NEEDED)
    with pytest.raises(ValidationError):
        installation.http.api_port = 1


def test_secrets_are_in_no_repr_and_hidden_in_what_people_see() -> None:
    secrets = {
        "S3_SECRET_ACCESS_KEY": "s3s3cret",
        "S3_ACCESS_KEY_ID": "s3id",
        "NEO4J_PASSWORD": "n3o",
        "OPERATOR_KEY": "0perator",
    }
    installation = read_settings({**NEEDED, **secrets})
    printed = (
        repr(installation)
        + str(installation)
        + " ".join(f"{variable.name}={value}" for variable, value in effective(installation))
    )
    assert not any(secret in printed for secret in (*secrets.values(), "p4ss", "r3dis"))
    assert "DATABASE_URL=postgresql://u:********@db/x" in printed


def test_names_that_look_like_ours_and_are_unknown_are_reported() -> None:
    assert unknown_names({"PARSER_SPEED": "1", "FEATURE_X": "true", "OTHER": "1", "DATABASE_URL": "x"}) == [
        "FEATURE_X is unknown to this version and has no effect",
        "PARSER_SPEED is unknown to this version and has no effect",
    ]


def test_a_misspelt_name_in_the_file_is_reported_with_the_right_one() -> None:
    exported = {"AWS_SECRET_ACCESS_KEY": "x", "DATABSE_URL": "x"}  # may be for another program
    assert unknown_names(
        exported, in_file=["DATABASE_URI", "COMPOSE_PROJECT_NAME", "REDIS_URL", "API_PORT_FILE"]
    ) == [
        "DATABASE_URI is unknown to this version and has no effect; did you mean DATABASE_URL?",
    ]


@pytest.mark.parametrize("text", ["short", "QUJD", "A" * 43 + "é"])
def test_a_key_for_sessions_that_is_none_is_told_without_repeating_it(text: str) -> None:
    with pytest.raises(
        SettingsError,
        match="SESSION_ENCRYPTION_KEY is wrong: not a valid key; set it to what `tga accounts key` prints",
    ) as refused:
        read_settings({**NEEDED, "SESSION_ENCRYPTION_KEY": text})
    assert text not in str(refused.value)


def test_the_example_file_agrees_with_the_code() -> None:
    example = (TESTS.parent / ".env.example").read_text(encoding="utf-8")
    written = [
        line.lstrip("# ").partition("=")[0]
        for line in example.splitlines()
        if "=" in line and line.lstrip("# ").partition("=")[0].isupper()
    ]
    assert written == [variable.name for variable in variables()]


def test_every_variable_has_a_test_that_turns_it() -> None:
    turned = set()
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "turns"
            ):
                turned |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    assert turned == {variable.name for variable in variables()}
