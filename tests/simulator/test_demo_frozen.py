"""The demo world is the same in every process, and the one that was frozen before anything is measured with
it.
"""

import os
import subprocess
import sys

import pytest

from telegram_simulator.world.demo.demo import DAYS
from telegram_simulator.world.demo.packs import packs_sha256

NOW = 1_794_700_000

PACKS_SHA256 = "5b30d756fe48ce8a2d819043285dae3781afe8bc7f01094a34cf6d6edcd79793"
"""Detectors are measured against these texts. A change of the texts after a detector was written would change
the meaning of every earlier figure. New texts belong into a new world.
"""

MEASURING_SHA256 = "4c81f2e7d5e65e75d24b031b3d081c56cf95a6b314f4e572d8504ad8dd66aa27"
"""Every post of the measuring world with its truth, the stories, and the pages they link to;
pictures are left out, they take minutes.
"""

SAMPLE = 9
SAMPLE_SHA256 = "32a51f0803521a9779296f0761fd8c5d31fa47fa682c9ed7c0af1cdcdc454c95"
"""Every ninth post in all its versions with its truth, all stories, and all pages they link to: quick, and
any change of the plan shows.
"""

HASH_OF_WORLD = """
import hashlib, json, sys
from telegram_simulator.control.seeing import truth
from telegram_simulator.world.demo.demo import Demo
from telegram_simulator.world.files import make_file
from telegram_simulator.world.world import World

now, seed, days, pictures, sample = (int(one) for one in sys.argv[1:])
demo = Demo(seed=seed, present=now, clock=lambda: now, days=days)
world = World(seed=seed, clock=lambda: now, channels=demo.channels, stories=demo.stories, press=demo.press())
digest = hashlib.sha256()
for channel in demo.channels:
    for number in range(1, channel.newest_id + 1, sample):
        told = channel.get(number) if sample == 1 else (channel.versions(number), channel.about(number))
        digest.update(repr(told).encode())
for line in (*(truth(world) if sample == 1 else ()), *demo.stories(), *demo.pages()):
    digest.update(json.dumps(line, ensure_ascii=False, sort_keys=True).encode())
for channel in demo.channels if pictures else ():
    for number in range(1, channel.newest_id, pictures):
        file = world.file_of(channel.channel_id, number)
        digest.update(make_file(file) if file is not None else b"")
print(digest.hexdigest())
"""


def digest(*, hash_seed: int, seed: int = 1, days: int = 2, pictures: int = 0, sample: int = 1) -> str:
    """The hash of a world that a separate process makes; with a picture of every `pictures`-th post."""
    command = [
        sys.executable,
        "-c",
        HASH_OF_WORLD,
        *(str(value) for value in (NOW, seed, days, pictures, sample)),
    ]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    return ran.stdout.strip()


def test_the_texts_are_those_that_were_frozen() -> None:
    assert packs_sha256() == PACKS_SHA256


def test_the_same_seed_and_now_give_the_same_posts_truth_and_pictures_in_every_process(
    request: pytest.FixtureRequest,
) -> None:
    """At full size the measuring world with every tenth picture."""
    days, pictures = (DAYS["measuring"], 10) if request.config.getoption("full") else (2, 20)
    first = digest(hash_seed=1, days=days, pictures=pictures)
    assert first == digest(hash_seed=2, days=days, pictures=pictures)
    assert first != digest(hash_seed=1, seed=2, days=days, pictures=pictures)


def test_the_measuring_world_is_the_one_that_was_frozen(request: pytest.FixtureRequest) -> None:
    """A change of the plan changes the world that detectors were measured with, like a change of the texts.

    At full size every post is checked.
    """
    sample, frozen = (1, MEASURING_SHA256) if request.config.getoption("full") else (SAMPLE, SAMPLE_SHA256)
    assert digest(hash_seed=3, days=DAYS["measuring"], sample=sample) == frozen
