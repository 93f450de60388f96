"""Counts of the program's names and packages: `python -m testkit.code_counts
[REVISION]` compares a revision with the working tree.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from testkit.checkouts import CHECKOUT

PROGRAM = "src/telegram_assistant"
AVOIDED_IN_CLASSES = frozenset(
    [
        "Told",
        "Shown",
        "Wish",
        "Asked",
        "Asking",
        "Asker",
        "Heard",
        "Hearing",
        "Sought",
        "Mine",
        "Became",
        "Which",
        "Where",
        "By",
        "Made",
        "Kept",
        "Taken",
        "Given",
        "Unheard",
        "Elsewhere",
        "Abroad",
        "Ear",
        "Eye",
        "Desk",
        "Door",
        "Frame",
        "Bell",
        "Sight",
        "Looker",
        "Wanting",
    ]
)
AVOIDED_IN_FUNCTIONS = (
    "again_and_again",
    "see_to",
    "sit_out",
    "heed",
    "make_way",
    "take_in",
    "told",
    "made",
    "given",
)
NAMED_BY_OTHERS = {"connection_made"}
"""A callback of asyncio."""


NAMELESS = frozenset(["one", "told", "said", "heard", "found", "shown", "kept", "asked", "liked"])
CODE = ("src", "tests", "bench", "testkit", "deploy")
SUBJECTS = (
    "accounts",
    "ask",
    "channels",
    "digests",
    "feed",
    "graph",
    "media",
    "operations",
    "people",
    "posts",
    "receivers",
    "search",
    "stories",
    "tenants",
    "understanding",
    "watches",
)
"""The words that name a subject in every layer. docs/architecture.md says what each is about."""
LAYERS = {
    f"{PROGRAM}/domain": {"branch", "days", "hosts", "ids", "lane", "timestamps"},
    f"{PROGRAM}/stores/postgres": {
        "pipeline",
        "migrations",
        "database",
        "database_logins",
        "migrating",
        "own_database",
        "schema",
        "stores",
    },
    f"{PROGRAM}/features": set[str](),
    f"{PROGRAM}/api/endpoints": set[str](),
    f"{PROGRAM}/cli/commands": set[str](),
    f"{PROGRAM}/web/pages": set[str](),
}
"""The layers, and the modules beside their subjects."""


def files_of(checkout: Path) -> list[Path]:
    return sorted((checkout / PROGRAM).rglob("*.py"))


def repeated_classes(checkout: Path) -> list[str]:
    """Public classes that two files define. A protocol and the store behind it may share their name."""
    twice = {
        name: files
        for name, files in _defined(checkout, ast.ClassDef).items()
        if len(files) > 1 and not name.startswith("_")
    }
    stores = {
        name
        for name, files in twice.items()
        if len(files) == 2 and sum("stores" in file.parts for file in files) == 1
    }
    return sorted(set(twice) - stores)


def avoided_names(checkout: Path) -> list[str]:
    """Classes and functions whose names have a word that says nothing about what they are."""
    classes = [
        name
        for name in _defined(checkout, ast.ClassDef)
        if AVOIDED_IN_CLASSES.intersection(re.findall("[A-Z][a-z0-9]*", name))
    ]
    functions = [
        name
        for name in _defined(checkout, ast.FunctionDef, ast.AsyncFunctionDef)
        if any(f"_{word}_" in f"_{name.strip('_')}_" for word in AVOIDED_IN_FUNCTIONS)
        and name not in NAMED_BY_OTHERS
    ]
    return sorted({*classes, *functions})


def modules_of(folder: Path) -> dict[str, int]:
    """The modules and packages of a folder, and how many files each has."""
    modules = {file.stem: 1 for file in folder.glob("*.py") if file.stem != "__init__"}
    packages = {
        inner.name: len(list(inner.rglob("*.py"))) - 1
        for inner in folder.iterdir()
        if (inner / "__init__.py").exists()
    }
    return modules | packages


def outside_subjects(checkout: Path) -> list[str]:
    """Modules of a layer that bear no subject's name, and packages without a module."""
    return sorted(
        f"{layer}/{name}"
        for layer, beside in LAYERS.items()
        for name, files in modules_of(checkout / layer).items()
        if (name not in SUBJECTS and name not in beside) or not files
    )


def subject_table(checkout: Path) -> dict[str, dict[str, int]]:
    """How many files each subject has in each layer."""
    layers = {layer.removeprefix(f"{PROGRAM}/"): modules_of(checkout / layer) for layer in LAYERS}
    return {
        subject: {layer: modules[subject] for layer, modules in layers.items() if subject in modules}
        for subject in SUBJECTS
    }


def nameless_bindings(checkout: Path) -> list[str]:
    """Variables and parameters whose names do not say what they hold. Fields of classes are not counted."""
    files = [file for folder in CODE for file in sorted((checkout / folder).rglob("*.py"))]
    return [
        f"{file.relative_to(checkout)}:{line}: {name}"
        for file in files
        for line, name in _bindings(ast.parse(file.read_text(encoding="utf-8")))
        if name in NAMELESS
    ]


def _bindings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    fields = {
        id(node) for body in ast.walk(tree) if isinstance(body, ast.ClassDef) for node in _assigned(body)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.lineno, node.id


def _assigned(body: ast.ClassDef) -> Iterator[ast.expr]:
    for statement in body.body:
        if isinstance(statement, ast.AnnAssign):
            yield statement.target
        elif isinstance(statement, ast.Assign):
            yield from statement.targets


def long_lines(checkout: Path) -> dict[str, int]:
    """Lines that are too long to be reviewed: of Python over 110 columns, of templates over 160."""
    python = [file for folder in CODE for file in (checkout / folder).rglob("*.py")]
    templates = (checkout / PROGRAM / "web/templates").glob("*.html")
    return {"python": _lines_over(110, python), "templates": _lines_over(160, templates)}


def _lines_over(columns: int, files: Iterable[Path]) -> int:
    return sum(
        len(line) > columns for file in files for line in file.read_text(encoding="utf-8").splitlines()
    )


def package_sizes(checkout: Path) -> dict[str, int]:
    """Files in each package. Migrations count as one subject: their number only grows."""
    folders = {file.parent for file in files_of(checkout) if file.parent.name != "versions"}
    return {str(folder.relative_to(checkout)): len(list(folder.glob("*.py"))) for folder in folders}


def _defined(checkout: Path, *kinds: type[ast.AST]) -> dict[str, list[Path]]:
    """The files in which each name is defined."""
    definitions = dict[str, list[Path]]()
    for file in files_of(checkout):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                definitions.setdefault(node.name, []).append(file)  # type: ignore[attr-defined]  # definitions have names
    return definitions


def counts(checkout: Path) -> dict[str, object]:
    largest, files = max(package_sizes(checkout).items(), key=lambda entry: entry[1])
    return {
        "classes_defined_twice": len(repeated_classes(checkout)),
        "names_with_avoided_words": len(avoided_names(checkout)),
        "largest_package": {largest: files},
        "modules_outside_subjects": len(outside_subjects(checkout)),
        "nameless_bindings": len(nameless_bindings(checkout)),
        "long_lines": long_lines(checkout),
    }


def main() -> None:
    for revision in sys.argv[1:2]:
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(
                ["git", "archive", revision, *CODE], cwd=CHECKOUT, capture_output=True, check=True
            ).stdout
            with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
                packed.extractall(folder, filter="data")
            print(json.dumps({"at": revision, **counts(Path(folder))}))
    print(json.dumps({"at": "working tree", **counts(CHECKOUT)}))


if __name__ == "__main__":
    main()
