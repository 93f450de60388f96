"""Every endpoint says all that a reader of the documentation needs; found by walking the routes,
so none can be forgotten.
"""

import ast
import inspect
import textwrap
from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from telegram_assistant.api.routing import COMMON_STATUSES
from telegram_assistant.api.site import AREAS
from telegram_assistant.domain.tenants.access import KeyScope
from testkit.api_clients import description

DESCRIBED = description()
ROUTES = [route for area in AREAS for route in area.router.routes if isinstance(route, APIRoute)]


OPERATIONS = [
    pytest.param(method, path, operation, id=operation["operationId"])
    for path, methods in DESCRIBED["paths"].items()
    for method, operation in methods.items()
]


def test_everything_is_under_one_version() -> None:
    assert all(path.startswith("/api/v1/") for path in DESCRIBED["paths"])


def test_operation_ids_differ() -> None:
    ids = [operation.id for operation in OPERATIONS]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_every_endpoint_declares_its_scope_its_words_and_its_refusals(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    assert KeyScope(operation["x-scope"])
    assert operation["security"] == [{"key": []}]
    assert operation["summary"]
    assert operation["description"].endswith(f"Needs the scope `{operation['x-scope']}`.")
    assert operation["tags"]
    wanted = {
        *COMMON_STATUSES,
        *((404,) if "{" in path else ()),
        *((400, 409, 413) if method != "get" else ()),
    }
    assert wanted <= {int(status) for status in operation["responses"]}
    for status, answer in operation["responses"].items():
        if int(status) >= 400:
            assert set(answer["content"]) == {"application/problem+json"}, status
    assert (method == "get") or any(
        parameter["name"] == "Idempotency-Key" for parameter in operation["parameters"]
    )
    assert all("description" in parameter for parameter in operation.get("parameters", ()))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation_id)
def test_every_endpoint_shows_an_example_that_is_a_whole_answer(route: APIRoute) -> None:
    answer = route.responses[route.status_code or 200]
    if route.status_code == 204:
        assert "content" not in answer
        return
    (content,) = answer["content"].values()
    example = content["example"]
    answers = TypeAdapter(route.response_model)
    assert answers.dump_python(answers.validate_python(example), mode="json") == example


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.body_field], ids=lambda route: route.operation_id
)
def test_every_body_shows_an_example_that_would_be_accepted(route: APIRoute) -> None:
    assert route.body_field is not None
    wishes: TypeAdapter[Any] = TypeAdapter(route.body_field.field_info.annotation or object)
    for example in examples_of(wishes.json_schema()):
        wishes.validate_python(example)


def examples_of(schema: dict[str, Any]) -> list[Any]:
    described = [schema, *schema.get("$defs", {}).values()]
    examples = [example for definition in described for example in definition.get("examples", ())]
    assert examples
    return examples


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation_id)
def test_endpoints_contain_no_logic(route: APIRoute) -> None:
    """An endpoint awaits one thing, its feature, and decides nothing."""
    source = inspect.getsource(route.endpoint)
    assert source.count("await ") <= 1
    statements = {type(node) for node in ast.walk(ast.parse(textwrap.dedent(source)))}
    assert not statements & {ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match}
