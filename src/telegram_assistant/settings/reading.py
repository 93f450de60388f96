"""Reads one group from the environment."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from telegram_assistant.errors import SettingsError
from telegram_assistant.settings.declaring import SettingsGroup


def read_group[G: SettingsGroup](group: type[G], environ: Mapping[str, str]) -> G:
    """Builds one group of settings, for a command that needs no others."""
    problems: list[str] = []
    values = {
        name: value
        for name, field in group.model_fields.items()
        if (value := _value_of(field, environ, problems))
    }
    if not problems:
        try:
            return group.model_validate(values)
        except ValidationError as error:
            problems += _explain_problems(group, error)
    raise SettingsError(problems)


def _value_of(field: FieldInfo, environ: Mapping[str, str], problems: list[str]) -> str:
    name, also = name_of(field), spelling_of(field, "also")
    if also and (environ.get(also) or environ.get(f"{also}_FILE")):
        if environ.get(name) or environ.get(f"{name}_FILE"):
            problems.append(f"{name} and {also} are both set; keep one")
        return _text_of(also, environ, problems)
    return _text_of(name, environ, problems)


def _text_of(name: str, environ: Mapping[str, str], problems: list[str]) -> str:
    value, file_name = environ.get(name, ""), environ.get(f"{name}_FILE", "")
    if value and file_name:
        problems.append(f"{name} and {name}_FILE are both set; keep one")
    if not value and file_name:
        try:
            value = Path(file_name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problems.append(
                f"{name}_FILE cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
            )
    return value


def _explain_problems(group: type[SettingsGroup], error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        name = name_of(group.model_fields[str(problem["loc"][0])])
        why = (
            "is required"
            if problem["type"] == "missing"
            else f"is wrong: {problem['msg'].removeprefix('Value error, ')}"
        )
        yield f"{name} {why}"


def name_of(field: FieldInfo) -> str:
    return spelling_of(field, "variable")


def spelling_of(field: FieldInfo, variant: str) -> str:
    extra = field.json_schema_extra
    assert isinstance(extra, dict)  # every field is declared by variable()
    return str(extra[variant])
