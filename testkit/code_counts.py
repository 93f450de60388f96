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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, nodes

from testkit.checkouts import CHECKOUT, PROGRAM
from testkit.store_calls import direct_store_calls

AVOIDED_IN_CLASSES = re.compile(
    "Told|Shown|Wish|Asked|Asking|Asker|Heard|Hearing|Sought|Mine|Became|Which|Where"
    "|By|Made|Kept|Taken|Given|Unheard|Elsewhere|Abroad|Ear|Eye|Desk|Door|Frame|Bell|Sight|Looker|Wanting"
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


PARTICIPLE = re.compile(
    r"_*(?!embed|exceed|feed|need|proceed|seed|shed|speed|succeed)(?:[a-z]+ed|(?:un|re)?(?:begun|bound|broken"
    r"|brought|built|caught|chosen|done|drawn|driven|fallen|fed|felt|forgotten|found|frozen|given|gone|grown"
    r"|heard|held|hidden|kept|known|laid|led|left|lost|made|meant|met|paid|risen|said|seen|sent|shown|sold"
    r"|sought|spoken|stolen|stood|taken|thought|thrown|told|understood|woken|written))"
)
"""A name that is nothing but a participle: it does not say what the function does, or to what."""
NAMELESS = frozenset(["one", "told", "said", "heard", "found", "shown", "kept", "asked", "liked"])
WITHOUT_SUBJECT = re.compile(r"(?:\A|(?<=[.:;!?])\s+|\n\s*\n\s*)[\"'`(*-]*(?:What|Who|Where)\b")
"""The beginning of a sentence that names no subject: the reader learns late what it is about."""
TEMPLATES = f"{PROGRAM}/web/templates"
CODE = ("src", "tests", "bench", "testkit", "deploy")
SUBJECTS = (
    "accounts",
    "ask",
    "channels",
    "digests",
    "feed",
    "graph",
    "lists",
    "media",
    "operations",
    "people",
    "posts",
    "receivers",
    "search",
    "sharing",
    "stories",
    "tenants",
    "understanding",
    "watches",
)
"""The words that name a subject in every layer. docs/architecture.md says what each is about."""
TESTED = ("src", "testkit", "bench", "deploy", "scripts", ".ci")
CROSSING = ("journeys", "laws", "chaos")
"""Folders of tests about several modules."""
WHOLE_PROJECT = ("house", "tenancy")
"""Tests about all modules, or all operations, at once."""
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


type Place = tuple[int, str]
"""A line, and the name that stands in it."""


@dataclass(frozen=True)
class Names:
    """The names of one file, as the rules want them: to parse and walk it takes longer than every rule."""

    protocols_by_class: Mapping[str, bool]
    functions: frozenset[str]
    unclear_functions: tuple[Place, ...]
    bindings: tuple[Place, ...]
    """Of variables and parameters; those of NAMELESS."""
    fields: tuple[Place, ...]
    docstrings_without_subject: tuple[int, ...]
    has_docstring: bool


@cache
def names_in(file: Path) -> Names:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    every_node = list(ast.walk(tree))
    classes = [node for node in every_node if isinstance(node, ast.ClassDef)]
    functions = [node for node in every_node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    fields = {id(target) for body in classes for target in _assigned_targets(body)}
    nameless = [
        (node.lineno, node.id, id(node) in fields)
        for node in every_node
        if isinstance(node, ast.Name) and node.id in NAMELESS and isinstance(node.ctx, ast.Store)
    ]
    parameters = [
        (node.lineno, node.arg) for node in every_node if isinstance(node, ast.arg) and node.arg in NAMELESS
    ]
    return Names(
        protocols_by_class={definition.name: _is_protocol(definition) for definition in classes},
        functions=frozenset(function.name for function in functions),
        unclear_functions=tuple(
            (function.lineno, function.name) for function in functions if _is_unclear(function)
        ),
        bindings=(*parameters, *((line, name) for line, name, is_field in nameless if not is_field)),
        fields=tuple((line, name) for line, name, is_field in nameless if is_field),
        docstrings_without_subject=tuple(
            docstring.lineno
            for body in (tree, *classes, *functions)
            for docstring in _docstrings(body)
            if WITHOUT_SUBJECT.search(str(docstring.value))
        ),
        has_docstring=ast.get_docstring(tree) is not None,
    )


def repeated_classes(checkout: Path) -> list[str]:
    """Public classes that two files define. A protocol and its implementation may share their name."""
    definitions = dict[str, list[bool]]()
    for file in files_of(checkout):
        for name, is_protocol in names_in(file).protocols_by_class.items():
            if not name.startswith("_"):
                definitions.setdefault(name, []).append(is_protocol)
    return sorted(
        name
        for name, protocols in definitions.items()
        if len(protocols) > 1 and sorted(protocols) != [False, True]
    )


def _is_protocol(definition: ast.ClassDef) -> bool:
    return any(ast.unparse(base).partition("[")[0] == "Protocol" for base in definition.bases)


def unclear_functions(checkout: Path) -> list[str]:
    """Functions that are no verb with its object: lone participles, and any `of` or `noun_of` with I/O."""
    return [
        f"{file.relative_to(checkout)}:{line}: {name}"
        for file in files_of(checkout)
        for line, name in names_in(file).unclear_functions
    ]


def _is_unclear(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if function.name in NAMED_BY_OTHERS or "property" in map(ast.unparse, function.decorator_list):
        return False
    is_look_up = function.name == "of" or function.name.endswith("_of")
    return PARTICIPLE.fullmatch(function.name) is not None or (
        is_look_up and isinstance(function, ast.AsyncFunctionDef)
    )


def avoided_names(checkout: Path) -> list[str]:
    """Classes and functions whose names have a word that says nothing about what they are."""
    files = files_of(checkout)
    classes = [
        name
        for file in files
        for name in names_in(file).protocols_by_class
        if any(map(AVOIDED_IN_CLASSES.fullmatch, re.findall("[A-Z][a-z0-9]*", name)))
    ]
    functions = [
        name
        for file in files
        for name in names_in(file).functions
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
    """Names of variables, parameters, fields and template variables that do not say what they hold.

    Of tests and benches, fields are not counted.
    """
    files = [file for folder in CODE for file in sorted((checkout / folder).rglob("*.py"))]
    program = set(files_of(checkout))
    python = [
        (file, line, name)
        for file in files
        for line, name in (*names_in(file).bindings, *(names_in(file).fields if file in program else ()))
    ]
    templates = [
        (file, line, name)
        for file in sorted((checkout / TEMPLATES).glob("*.html"))
        for line, name in _template_bindings(file.read_text(encoding="utf-8"))
        if name in NAMELESS
    ]
    return [f"{file.relative_to(checkout)}:{line}: {name}" for file, line, name in (*python, *templates)]


def _template_bindings(source: str) -> Iterator[tuple[int, str]]:
    """The loop variables, the parameters of macros and the names that are set."""
    syntax = Environment(autoescape=True, extensions=["jinja2.ext.i18n", "jinja2.ext.do"])
    for node in syntax.parse(source).find_all(nodes.Name):
        if node.ctx != "load":
            yield node.lineno, node.name


def docstrings_without_subject(checkout: Path) -> list[str]:
    """Docstrings with a sentence that begins with What, Who or Where."""
    return [
        f"{file.relative_to(checkout)}:{line}"
        for folder in CODE
        for file in sorted((checkout / folder).rglob("*.py"))
        for line in names_in(file).docstrings_without_subject
    ]


def _docstrings(
    body: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[ast.Constant]:
    """The docstring of a module, class or function, and the strings under attributes."""
    for statement in body.body:
        match statement:
            case ast.Expr(value=ast.Constant(value=str()) as docstring):
                yield docstring


def _assigned_targets(body: ast.ClassDef) -> Iterator[ast.expr]:
    for statement in body.body:
        if isinstance(statement, ast.AnnAssign):
            yield statement.target
        elif isinstance(statement, ast.Assign):
            yield from statement.targets


def long_lines(checkout: Path) -> dict[str, list[str]]:
    """Lines that are too long to be reviewed: of Python over 110 columns, of templates over 160."""
    python = [file for folder in CODE for file in (checkout / folder).rglob("*.py")]
    templates = (checkout / TEMPLATES).glob("*.html")
    return {
        "python": _lines_over(110, checkout, python),
        "templates": _lines_over(160, checkout, templates),
    }


def _lines_over(columns: int, checkout: Path, files: Iterable[Path]) -> list[str]:
    return [
        f"{file.relative_to(checkout)}:{number}"
        for file in sorted(files)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > columns
    ]


def tests_without_module(checkout: Path) -> list[str]:
    """Tests that bear the name of no module, package, script or document. Tests of what crosses modules
    are named by what they show.
    """
    names = {
        file.stem.replace("-", "_")
        for folder in TESTED
        for file in (checkout / folder).rglob("*")
        if file.suffix in {"", ".py"} and "versions" not in file.parts and "__pycache__" not in file.parts
    } | {file.stem for file in checkout.iterdir()}
    tests = [file.relative_to(checkout) for file in sorted((checkout / "tests").rglob("test_*.py"))]
    return [
        str(test)
        for test in tests
        if test.parts[1] not in CROSSING
        and test.stem.removeprefix("test_") not in WHOLE_PROJECT
        and not _names_any(test.stem.removeprefix("test_"), names)
    ]


def _names_any(subject: str, names: Collection[str]) -> bool:
    parts = subject.split("_")
    return any("_".join(parts[:end]) in names for end in range(1, len(parts) + 1))


def package_sizes(checkout: Path) -> dict[str, int]:
    """Files in each package. Migrations count as one subject: their number only grows."""
    folders = {file.parent for file in files_of(checkout) if file.parent.name != "versions"}
    return {str(folder.relative_to(checkout)): len(list(folder.glob("*.py"))) for folder in folders}


def counts(checkout: Path) -> dict[str, object]:
    largest, files = max(package_sizes(checkout).items(), key=lambda entry: entry[1])
    return {
        "classes_defined_twice": len(repeated_classes(checkout)),
        "unclear_functions": len(unclear_functions(checkout)),
        "names_with_avoided_words": len(avoided_names(checkout)),
        "largest_package": {largest: files},
        "modules_outside_subjects": len(outside_subjects(checkout)),
        "nameless_bindings": len(nameless_bindings(checkout)),
        "docstrings_without_subject": len(docstrings_without_subject(checkout)),
        "long_lines": {kind: len(places) for kind, places in long_lines(checkout).items()},
        "direct_store_calls": len(direct_store_calls(checkout)),
        "tests_without_module": len(tests_without_module(checkout)),
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
