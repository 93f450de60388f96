"""Places where an interface calls a store instead of a feature."""

import ast
from collections.abc import Iterator
from pathlib import Path

from testkit.checkouts import PROGRAM

INTERFACES = ("web", "api", "cli")


STORE_LISTS = frozenset(["stores", "own", "system", "ingest"])
"""Attributes and variables that hold a list of stores; `api` is one only behind an app."""


STORE_LIST_MAKERS = frozenset(["tenant", "person", "tenant_of_actor"])
"""Functions that return a list of stores."""


def direct_store_calls(checkout: Path) -> list[str]:
    """Places where the pages, the API or the command line call a store instead of a feature."""
    return [
        f"{file.relative_to(checkout)}:{line}: {call}"
        for interface in INTERFACES
        for file in sorted((checkout / PROGRAM / interface).rglob("*.py"))
        for line, call in _store_calls(ast.parse(file.read_text(encoding="utf-8")))
    ]


def _store_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    lists, stores = set[str](), set[str]()
    for name, value in _assigned_values(tree):
        if _is_store_list(value, lists):
            lists.add(name)
        elif _is_store(value, lists, stores):
            stores.add(name)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and _is_store(node.func.value, lists, stores)
        ):
            yield node.lineno, ast.unparse(node.func)


def _assigned_values(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts, strict=False):
                    if isinstance(name, ast.Name):
                        yield name.id, value


def _is_store(value: ast.expr, lists: set[str], stores: set[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id in stores
    return isinstance(value, ast.Attribute) and _is_store_list(value.value, lists)


def _is_store_list(value: ast.expr, lists: set[str]) -> bool:
    """Whether it is `….stores`, `app.api`, `app.tenant(…)` or a variable that holds such a value."""
    match value:
        case ast.Name(id=name):
            return name in STORE_LISTS or name in lists
        case ast.Attribute(
            value=ast.Name(id="app" | "assembled") | ast.Attribute(attr="app" | "_app"), attr="api"
        ):
            return True
        case ast.Attribute(attr=name):
            return name in STORE_LISTS
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name.removeprefix("_") in STORE_LIST_MAKERS
    return False
