"""Pictures that others have taken over: found again by their looks and their words,
so that nothing is paid for twice.
"""

import itertools
import random
import shutil
from collections.abc import AsyncIterator

import pytest

from telegram_assistant.ai.local.ocr import read_text
from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.domain.media.similarity import Look, is_same_picture, probes
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_simulator.world.files import make_file
from telegram_simulator.world.post import Drawing, File, FileKind
from testkit.factories import fresh_number
from testkit.provider_server import saying
from tests.ai.conftest import make_payer
from tests.stages.looking import Looking, looking_at

pytestmark = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")

CHANGES = ("original", "recompressed", "watermarked", "cropped")
SCENES = ("photo", "map", "notice", "screenshot", "chart", "poster", "score")


def picture(scene: str, lines: tuple[str, ...], number: int, change: str = "original") -> bytes:
    """As the simulator's demo world draws it."""
    drawing = Drawing(scene, lines, number, change, "@severny_vestnik" if change == "watermarked" else "")
    return make_file(File(fresh_number(), FileKind.JPEG, 90_000, 2, width=640, height=400, drawing=drawing))


def lines(number: int) -> tuple[str, ...]:
    rng = random.Random(number)
    return (
        (
            f"{rng.choice(('Билет', 'Мост', 'Рейс', 'Концерт'))}: {rng.randrange(10, 99)} вместо "
            f"{rng.randrange(10, 99)}"
        ),
        "Подробности на сайте",
    )


@pytest.fixture(scope="module")
async def running(
    database: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Looking]:
    async with looking_at(database, tmp_path_factory.mktemp("looking")) as looking:
        looking.server.says = saying(description="Объявление", text="", is_meme=False)
        yield looking


@pytest.fixture
def looking(running: Looking) -> Looking:
    running.server.request_counts.clear()
    return running


async def test_a_picture_saved_again_and_one_with_a_mark_cost_nothing(looking: Looking) -> None:
    number = fresh_number()
    for change in CHANGES[:3]:
        post = await looking.post(await looking.channel(), picture("notice", lines(number), number, change))
        await looking.look(post)
        assert (await looking.rows(post))["provider"]["description"] == "Объявление"
    assert looking.server.calls == 1


async def test_the_same_notice_with_another_date_is_another_picture(looking: Looking) -> None:
    number = fresh_number()
    for day in (12, 13):
        post = await looking.post(
            await looking.channel(),
            picture("notice", (f"Концерт отменён: {day} мая", "Деньги возвращают в кассе"), number),
        )
        await looking.look(post)
    assert looking.server.calls == 2


async def test_what_closed_channels_show_is_not_told_elsewhere(looking: Looking) -> None:
    number = fresh_number()
    closed = await looking.channel()
    await looking.admin.execute("UPDATE channels SET is_private = true WHERE channel_id = $1", closed)
    await looking.look(await looking.post(closed, picture("notice", lines(number), number)))
    await looking.look(
        await looking.post(await looking.channel(), picture("notice", lines(number), number, "recompressed"))
    )
    assert looking.server.calls == 2
    again = await looking.post(closed, picture("notice", lines(number), number, "watermarked"), message_id=2)
    await looking.look(again)
    assert looking.server.calls == 2


async def test_who_may_not_ask_gets_no_copy_of_an_answer(looking: Looking) -> None:
    number = fresh_number()
    await looking.look(await looking.post(await looking.channel(), picture("notice", lines(number), number)))
    local = await looking.channel(AiPolicy.LOCAL)
    await looking.app.system.channels.subscribe(
        await make_payer(looking.app.system), Subscription(channel_id=local)
    )
    post = await looking.post(local, picture("notice", lines(number), number, "recompressed"))
    await looking.look(post)
    assert set(await looking.rows(post)) == {"local"}


def test_near_hashes_share_a_piece_that_is_nearly_the_same() -> None:
    rng = random.Random(1)
    for _ in range(300):
        first = rng.getrandbits(64)
        other = first
        for bit in rng.sample(range(64), 7):
            other ^= 1 << bit
        pieces = [other >> (16 * band) & 0xFFFF for band in range(4)]
        assert any(piece in wanted for piece, wanted in zip(pieces, probes(first), strict=True))


async def test_how_many_of_the_demo_worlds_pictures_are_found_again(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """Two stories of each scene, as they were and changed: never is one story taken for another.

    At full size all scenes, cropped too.
    """
    scenes, changes = (SCENES, CHANGES) if request.config.getoption("full") else (SCENES[::2], CHANGES[:3])
    readers, command = PictureReaders(at_once=1), shutil.which("tesseract") or ""
    seen: list[tuple[int, str, Look, str]] = []
    try:
        for number, (scene, story) in enumerate(itertools.product(scenes, range(2))):
            for change in changes:
                opened = await readers.open(picture(scene, lines(story), 1000 + number, change))
                seen.append((number, change, opened.look, await read_text(opened.picture, command=command)))
    finally:
        await readers.close()
    matches = dict.fromkeys(CHANGES[1:], 0)
    for first, other in itertools.combinations(seen, 2):
        if is_same_picture(first[2], other[2], words=first[3], other_words=other[3]):
            assert first[0] == other[0], (first, other)
            if first[1] == "original":
                matches[other[1]] += 1
    with capsys.disabled():
        print(f"\nfound again of {2 * len(scenes)}: {matches}")
    assert matches["recompressed"] >= 0.85 * 2 * len(scenes)
    assert matches["watermarked"] >= 0.85 * 2 * len(scenes)
