"""Posts that give orders change nothing: even a model that obeys them gets
no strange tag and no word of the prompt through.
"""

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest

from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.outputs import PictureFacts, Tags, leaks, parse
from telegram_assistant.ai.prompting import MAX_CHARACTERS, fence_data, harmless, prompt
from telegram_assistant.assembly import App
from telegram_assistant.domain.understanding.policy import (
    Failure,
    FallbackReason,
    ProviderFailed,
    Tier,
    Urgency,
)
from testkit.provider_server import ChatRequest, FakeServer
from tests.ai.conftest import VOCABULARY, ask_tags, make_paid_channel

HOSTILE = [
    line.replace("\\n", "\n")
    for line in (Path(__file__).parent / "hostile_posts.txt").read_text(encoding="utf-8").splitlines()
    if line.strip()
]
FENCED = re.compile(
    r"^===== DATA (?P<word>[0-9a-f]{16}) =====\n(?P<data>.*)\n===== END (?P=word) =====$", re.DOTALL
)
STRANGE = ("pwned", "взлом", "HACKED", "ВЗЛОМ")


def test_there_are_enough_hostile_posts_in_both_languages() -> None:
    russian = [text for text in HOSTILE if re.search("[а-я]", text)]
    assert len(HOSTILE) >= 40
    assert len(russian) >= 15
    assert len(HOSTILE) - len(russian) >= 15


@pytest.mark.parametrize("text", HOSTILE)
def test_no_post_can_end_its_fence_or_open_a_new_turn(text: str) -> None:
    instruction = prompt("tagging").instruct(text, max_tokens=10, vocabulary="спорт")
    match = FENCED.match(instruction.user)
    assert match is not None
    assert not re.search(
        r"={3,}|<\||\[INST\]|<start_of_turn>|<<SYS>>|</s>|[\u200b\u202e\uff1d]", match["data"]
    )
    assert not re.search(
        r"\[/?(SYSTEM_PROMPT|TOOL_CALLS|THINK)\]|</?(think|tool_call|tool_response|tools)>",
        match["data"],
        re.IGNORECASE,
    )
    assert text[:20] not in instruction.system
    assert instruction.system == prompt("tagging").instruct("", max_tokens=10, vocabulary="спорт").system


@pytest.mark.parametrize("text", HOSTILE)
def test_an_obedient_model_gets_neither_a_strange_tag_nor_the_prompt_through(text: str) -> None:
    system = (
        prompt("tagging").instruct(text, max_tokens=10, vocabulary=", ".join(VOCABULARY.tags_of("ru"))).system
    )
    obeyed = json.dumps(
        {"tags": [*STRANGE, "спорт", system], "entities": [{"text": system[:90], "kind": "person"}]},
        ensure_ascii=False,
    )
    with pytest.raises(ProviderFailed) as failed:
        parse(Tags, obeyed, prompt=system)
    assert failed.value.failure == Failure.UNUSABLE
    only_tags = parse(Tags, json.dumps({"tags": [*STRANGE, "Спорт"]}), prompt=system).within(VOCABULARY, text)
    assert only_tags.tags == ("спорт",)
    for reply in (text, f"{text} {system}", system, f'{{"tags": "{STRANGE[0]}"}}'):
        try:
            tags = parse(Tags, reply, prompt=system).within(VOCABULARY, text)
        except ProviderFailed:
            continue
        assert set(tags.tags) <= {*VOCABULARY.tags_of("ru"), *VOCABULARY.tags_of("en")}
        assert not leaks(" ".join(entity.text for entity in tags.entities), system)


async def test_through_the_gate_an_obedient_model_changes_nothing(
    gate: Gate, app: App, server: FakeServer
) -> None:
    """The model repeats whatever the post says, and adds its instructions."""
    channel_id, _ = await make_paid_channel(app.system)

    def obey(request: ChatRequest) -> str:
        return json.dumps(
            {
                "tags": [*STRANGE, "спорт"],
                "entities": [{"text": "pwned", "kind": "place"}],
                "why": request.system,
            },
            ensure_ascii=False,
        )

    server.says = obey
    for text in HOSTILE:
        result = await ask_tags(gate, f"{text} {uuid4()}", channel_id=channel_id, urgency=Urgency.BACKFILL)
        assert result.value is not None
        assert result.value.tags == ("спорт",)
        assert all(entity.text in text for entity in result.value.entities)
    server.says = lambda request: json.dumps({"description": request.system, "tags": [request.system]})
    leaked = await ask_tags(gate, f"{HOSTILE[0]} {uuid4()}", channel_id=channel_id)
    assert (leaked.tier, leaked.reason) == (Tier.LOCAL, FallbackReason.FAILED)


def test_a_description_that_repeats_the_prompt_is_refused_and_an_honest_one_is_not() -> None:
    system = prompt("vision").text
    with pytest.raises(ProviderFailed, match="repeats its instructions"):
        parse(PictureFacts, json.dumps({"description": f"Sure: {system[:200]}"}), prompt=system)
    honest = parse(
        PictureFacts,
        '{"description": "A picture that shows a street in winter, people and cars", "text": ""}',
        prompt=system,
    )
    assert honest.description.startswith("A picture")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no",
        "{",
        "[]",
        '{"tags": 5}',
        '{"tags": ["x"',
        "null",
        '{"tags": ' + "[" * 5000,
        '{"tags": ["' + "x" * 200_000,
    ],
)
def test_whatever_a_model_says_is_either_of_the_shape_or_refused(reply: str) -> None:
    with pytest.raises(ProviderFailed) as failed:
        parse(Tags, reply, prompt="")
    assert failed.value.failure == Failure.UNUSABLE


def test_json_is_found_in_a_talkative_answer() -> None:
    assert parse(Tags, 'Sure!\n```json\n{"tags": ["a"]}\n```\nAnything else?', prompt="").tags == ("a",)


def test_fences_differ_each_time_and_long_posts_are_cut() -> None:
    assert fence_data("x") != fence_data("x")
    assert len(harmless("а" * 1_000_000)) == MAX_CHARACTERS


def test_a_text_for_readers_stays_as_it_is() -> None:
    text = "Курс: 1 USD = 92,5 ₽ (+0.4 %)\n\tсм. таблицу == ниже 👨‍👩‍👧 <b>важно</b> [1] {x}"
    assert harmless(text) == text


def test_every_prompt_has_a_version_and_says_that_data_is_data() -> None:
    for name in ("tagging", "vision", "repair"):
        written = prompt(name)
        assert written.version >= 1
        assert "never an instruction" in written.text or "never instructions" in written.text
