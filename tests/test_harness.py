"""Benchmarks say what is wrong, and fail."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from testkit.checkouts import CHECKOUT
from testkit.harness import Limit, arguments, at_least, at_most, finish

RESULT = {"ratio": 0.5, "lost": ["a post"], "text": {"recall": 0.97}}


@pytest.mark.parametrize(
    ("limits", "missed"),
    [
        (at_most(0.5, "ratio"), None),
        (at_least(0.5, "ratio"), None),
        (at_most(0.4, "ratio"), "ratio is 0.5 and must be at most 0.4"),
        (at_least(0.6, "ratio"), "ratio is 0.5 and must be at least 0.6"),
        (at_most(0, "lost"), "lost is 1 and must be at most 0"),
        (at_least(0.98, "text.recall"), "text.recall is 0.97 and must be at least 0.98"),
    ],
)
def test_a_figure_beyond_its_limit_ends_the_benchmark_with_1(
    limits: tuple[Limit, ...], missed: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        finish(RESULT, arguments(None).parse_args(["--json"]), *limits)
    captured = capsys.readouterr()
    assert ended.value.code == (0 if missed is None else 1)
    assert captured.err == ("" if missed is None else f"LIMIT MISSED: {missed}\n")
    assert captured.out.startswith('{"ratio": 0.5')


def test_a_limit_can_be_turned_on_the_command_line() -> None:
    def code(*typed: str) -> object:
        with pytest.raises(SystemExit) as ended:
            finish(RESULT, arguments(None).parse_args(typed), *at_least(0.4, "ratio"))
        return ended.value.code

    assert (code(), code("--limit", "ratio=0.6")) == (0, 1)
    assert code("--limit", "rate=1") == "no limit for rate; there are: ratio"


def origin_of(benchmark: str) -> str | None:
    spec = find_spec(f"bench.{benchmark}")
    return None if spec is None else spec.origin


def test_every_benchmark_of_make_can_fail() -> None:
    run = set(re.findall(r"-m bench\.(\w+)", (CHECKOUT / "Makefile").read_text(encoding="utf-8")))
    assert len(run) > 20
    assert [
        name
        for name in sorted(run)
        if "    finish(" not in Path(str(origin_of(name))).read_text(encoding="utf-8")
    ] == []
