import pytest

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.graph.opening import examine
from telegram_assistant.settings import read_settings


@pytest.mark.turns("NEO4J_URI")
@pytest.mark.turns("NEO4J_USER")
@pytest.mark.turns("NEO4J_PASSWORD")
@pytest.mark.parametrize(
    ("changed", "verdict", "remedy"),
    [
        ({}, Severity.OK, ""),
        ({"NEO4J_URI": ""}, Severity.OFF, ""),
        ({"NEO4J_URI": "bolt://127.0.0.1:1"}, Severity.BAD, "NEO4J_URI"),
        ({"NEO4J_URI": "nonsense"}, Severity.BAD, "NEO4J_URI"),
        ({"NEO4J_USER": "somebody"}, Severity.BAD, "NEO4J_USER"),
        ({"NEO4J_PASSWORD": "wrong"}, Severity.BAD, "NEO4J_PASSWORD"),
    ],
)
async def test_the_graph_is_examined_with_its_settings(
    environ: dict[str, str], changed: dict[str, str], verdict: Severity, remedy: str
) -> None:
    findings = await examine(read_settings({**environ, **changed}).graph)
    assert [finding.verdict for finding in findings] == [verdict]
    assert remedy in str(findings[0].remedy)
