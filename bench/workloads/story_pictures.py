"""Pictures of the measuring world as the program sees them: drawn, changed and encoded as channels show them,
hashed by our own code.

Reading thousands of pictures takes an hour, so our own OCR reads a sample. Of the words of every other
picture as large a share is lost as in one of the sample of the same scene.
"""

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import asyncpg

from bench.workloads.story_world import PICTURES, LabelledPost
from telegram_assistant.ai.local.ocr import ocr_command, read_text
from telegram_assistant.ai.pictures import SanitizedPicture, make
from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.media.similarity import COARSE_BITS
from telegram_assistant.language.lemmas import WORD
from telegram_simulator.world.demo.drawn import file_of
from telegram_simulator.world.demo.media import KINDS, drawing_of
from telegram_simulator.world.files import make_file
from telegram_simulator.world.post import Drawing, FileKind

SAMPLE_PER_SCENE = 6


@dataclass(frozen=True, slots=True)
class SeenPicture:
    """A picture's perceptual hashes and the words that were read in it."""

    coarse: int
    fine: int
    words: str


async def read_pictures(
    posts: Sequence[LabelledPost],
) -> tuple[dict[tuple[Drawing, FileKind], SeenPicture], dict[str, float]]:
    """Every picture of these posts, and how well words were read in the sample."""
    drawings = sorted({picture_of(post) for post in posts if post.planned.shows in PICTURES}, key=repr)
    made = {drawing: make(make_file(file_of(*drawing))) for drawing in drawings}
    lost = await _measure_lost_words(made)
    seen = {}
    for key, picture in made.items():
        rng = random.Random(repr(key))
        share = rng.choice(lost[key[0].scene])
        words = [word for line in key[0].lines for word in line.split() if rng.random() >= share]
        seen[key] = SeenPicture(picture.coarse, picture.fine, " ".join(words))
    read = [share for shares in lost.values() for share in shares]
    return seen, {
        "pictures": len(made),
        "pictures_read": len(read),
        "words_read": round(1 - sum(read) / max(len(read), 1), 4),
    }


def picture_of(post: LabelledPost) -> tuple[Drawing, FileKind]:
    return drawing_of(post.planned), KINDS[post.planned.shows]


async def _measure_lost_words(
    made: Mapping[tuple[Drawing, FileKind], SanitizedPicture],
) -> dict[str, list[float]]:
    """The share of words that our OCR misses in each picture of the sample, by scene."""
    command = ocr_command()
    assert command is not None, "tesseract is not installed"
    by_scene: dict[str, list[tuple[Drawing, SanitizedPicture]]] = defaultdict(list)
    for (drawing, _), picture in made.items():
        by_scene[drawing.scene].append((drawing, picture))
    lost = {}
    for scene, pictures in sorted(by_scene.items()):
        sample = random.Random(scene).sample(pictures, min(SAMPLE_PER_SCENE, len(pictures)))
        lost[scene] = [
            _lost_share(
                drawing,
                await read_text(
                    Picture(sanitized.data, sanitized.mime), command=command, timeout_seconds=120
                ),
            )
            for drawing, sanitized in sample
        ]
    return lost


def _lost_share(drawing: Drawing, read: str) -> float:
    there = WORD.findall(" ".join(drawing.lines).casefold())
    words = set(WORD.findall(read.casefold()))
    return sum(word not in words for word in there) / max(len(there), 1)


async def store_pictures(
    admin: "asyncpg.Connection[asyncpg.Record]",
    posts: Sequence[LabelledPost],
    pictures: Mapping[tuple[Drawing, FileKind], SeenPicture],
) -> None:
    """As if each post's picture had been fetched and looked at."""
    pictured = [(post.post.id, picture_of(post)) for post in posts if post.planned.shows in PICTURES]
    hashes = {drawing: sha256(repr(drawing).encode()).digest() for _, drawing in pictured}
    await admin.executemany(
        "INSERT INTO media_objects (sha256, size_bytes, phash, phash_fine) VALUES ($1, 1, $2, $3) "
        "ON CONFLICT DO NOTHING",
        [
            (hashes[drawing], _as_signed(pictures[drawing].coarse), pictures[drawing].fine.to_bytes(32))
            for drawing in hashes
        ],
    )
    await admin.executemany(
        "INSERT INTO media_results (sha256, tier, provider, model, prompt_version, data) "
        "VALUES ($1, 'local', '', '', '', $2) ON CONFLICT DO NOTHING",
        [(hashes[drawing], json.dumps({"text": pictures[drawing].words})) for drawing in hashes],
    )
    await admin.executemany(
        "INSERT INTO post_media (channel_id, message_id, media_id, kind, sha256) "
        "VALUES ($1, $2, $3, 'photo', $4)",
        [
            (post.channel_id, post.message_id, int.from_bytes(hashes[drawing][:7]), hashes[drawing])
            for post, drawing in pictured
        ],
    )


def _as_signed(coarse: int) -> int:
    return coarse - 2**COARSE_BITS if coarse >= 2 ** (COARSE_BITS - 1) else coarse
