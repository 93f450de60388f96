"""Rules about the code itself that no linter knows."""

import re
import tomllib
from importlib.util import find_spec

from testkit import code_counts
from testkit.checkouts import CHECKOUT
from testkit.store_calls import direct_store_calls

CODE = [
    file
    for folder in ("src", "tests", "bench", "testkit", "deploy")
    for file in (CHECKOUT / folder).rglob("*.py")
] + [
    CHECKOUT / "scripts/servers",
    CHECKOUT / "scripts/generate",
]


def test_no_check_is_silenced_without_a_reason() -> None:
    silenced = re.compile(r"#\s*(noqa|type:\s*ignore)(?P<rest>.*)")
    bare = []
    for file in CODE:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = silenced.search(line)
            if match and not re.search(r"(--|#) \w", match["rest"]) and file.name != "test_house.py":
                bare.append(f"{file.relative_to(CHECKOUT)}:{number}")
    assert bare == []


def test_every_direct_dependency_and_every_ignored_rule_has_its_reason() -> None:
    text = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    entries = [
        *project["dependencies"],
        *(entry for extra in project["optional-dependencies"].values() for entry in extra),
    ]
    ruff = tomllib.loads(text)["tool"]["ruff"]["lint"]
    entries += [*ruff["ignore"], *(rule for rules in ruff["per-file-ignores"].values() for rule in rules)]
    without = [entry for entry in entries if not re.search(rf'"{re.escape(entry)}",\s*# \w+', text)]
    assert without == []


def test_lock_files_hold_hashes_and_no_addresses() -> None:
    locks = list((CHECKOUT / "requirements").glob("*.txt"))
    assert {lock.stem for lock in locks} == {
        "run",
        "dev",
        "crawler",
        "ai",
        "local-ai",
        "vectors",
        "qdrant",
        "image",
        "image-full",
        "build",
    }
    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        requirements = re.findall(r"^[a-z0-9].*?(?=^[a-z0-9#]|\Z)", text, flags=re.MULTILINE | re.DOTALL)
        assert len(requirements) > (5 if lock.stem == "build" else 40)
        assert all("--hash=sha256:" in requirement for requirement in requirements)


def test_a_file_over_400_lines_says_why() -> None:
    long = [
        str(file.relative_to(CHECKOUT))
        for file in CODE
        if len(file.read_text(encoding="utf-8").splitlines()) > 400
        and "long because" not in file.read_text(encoding="utf-8")
    ]
    assert long == []


def test_no_line_of_python_is_longer_than_110_columns() -> None:
    """The linter lets reasons of silenced checks and words without a space pass."""
    assert code_counts.long_lines(CHECKOUT)["python"] == []


def test_no_line_of_a_template_is_longer_than_160_characters() -> None:
    assert code_counts.long_lines(CHECKOUT)["templates"] == []


MAX_FILES = 20


def test_a_public_class_name_means_one_thing() -> None:
    assert code_counts.repeated_classes(CHECKOUT) == []


def test_a_function_is_a_verb_with_its_object() -> None:
    """`noun_of` is a look-up without I/O; a participle alone says neither what happens nor to what."""
    assert code_counts.unclear_functions(CHECKOUT) == []


def test_names_are_words_of_the_field() -> None:
    assert code_counts.avoided_names(CHECKOUT) == []


def test_variables_say_what_they_hold() -> None:
    """The loop variable is the singular of its collection; a local says its role."""
    assert code_counts.nameless_bindings(CHECKOUT) == []


def test_sentences_of_docstrings_name_their_subject_first() -> None:
    assert code_counts.docstrings_without_subject(CHECKOUT) == []


def test_the_pages_the_api_and_the_command_line_call_features_and_no_stores() -> None:
    assert direct_store_calls(CHECKOUT) == []


def test_a_test_bears_the_name_of_what_it_tests() -> None:
    assert code_counts.tests_without_module(CHECKOUT) == []


def test_every_benchmark_has_the_command_of_a_gate() -> None:
    studies = sorted(file.stem for file in (CHECKOUT / "bench/studies").glob("[!_]*.py"))
    gates = sorted(file.stem for file in (CHECKOUT / "bench").glob("[!_]*.py"))
    assert len(gates) == 10
    assert [name for name in (*studies, *gates) if find_spec(f"bench.{name}") is None] == []


def test_every_module_says_what_is_in_it() -> None:
    silent = [
        str(file.relative_to(CHECKOUT))
        for file in code_counts.files_of(CHECKOUT)
        if not code_counts.names_in(file).has_docstring
    ]
    assert silent == []


def test_a_package_has_room_for_more() -> None:
    """A package with more files holds several subjects."""
    assert {
        package: size for package, size in code_counts.package_sizes(CHECKOUT).items() if size > MAX_FILES
    } == {}


def test_every_layer_names_its_subjects_alike() -> None:
    """A new subject is a word in SUBJECTS and a row in docs/architecture.md."""
    assert code_counts.outside_subjects(CHECKOUT) == []
    used = {subject for subject, layers in code_counts.subject_table(CHECKOUT).items() if layers}
    assert used == set(code_counts.SUBJECTS)


def test_the_docs_explain_every_subject() -> None:
    text = (CHECKOUT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = text.partition("### Subjects")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE) == list(code_counts.SUBJECTS)


def test_the_limits_of_all_steps_fit_into_eighty_minutes() -> None:
    """CI ends after ninety, and then nothing lands at all."""
    lines = (CHECKOUT / ".ci/budget").read_text(encoding="utf-8").splitlines()
    assert sum(int(line.split()[1]) for line in lines if not line.startswith("#")) <= 80 * 60


def test_every_suite_of_the_makefile_has_a_limit() -> None:
    files = [CHECKOUT / ".ci/budget", CHECKOUT / ".ci/bench-budget"]
    limits = {
        line.split()[0]
        for file in files
        for line in file.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    }
    assert (
        set(re.findall(r"scripts/suite (\S+)", (CHECKOUT / "Makefile").read_text(encoding="utf-8"))) <= limits
    )


def test_files_of_serial_tests_name_their_mark() -> None:
    """The Makefile finds the files by it, so that nobody collects the others for a few tests."""
    naming = {file for file in CODE if re.search(r"\bmark\.serial\b", file.read_text(encoding="utf-8"))}
    assert [file for file in naming if not file.name.startswith("test_")] == []
