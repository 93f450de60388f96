"""Which files a post shows, and which of them are wanted."""

from typing import Any

import pytest

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.media.files import (
    MediaFile,
    MediaKind,
    MediaRules,
    MediaSubscriber,
    SkipReason,
    Terms,
    decide,
    files_of,
)
from testkit.factories import make_post

RULES = MediaRules(has_place=True, max_bytes=1000, quota_bytes=0)


def tenant(
    number: int = 1, *, keeps_protected: bool = False, room_bytes: int | None = None
) -> MediaSubscriber:
    return MediaSubscriber(TenantId(number), keeps_protected, room_bytes)


def file(**more: Any) -> MediaFile:
    return MediaFile(**{"ordinal": 0, "media_id": 1, "kind": MediaKind.PHOTO, "size_bytes": 100, **more})


def verdict(
    media_file: MediaFile,
    *wanting: MediaSubscriber,
    is_closed: bool = False,
    is_protected: bool = False,
    rules: MediaRules = RULES,
) -> SkipReason | None:
    return decide(media_file, is_protected=is_protected, terms=Terms(is_closed, wanting), rules=rules)


def test_a_post_shows_its_file_and_not_the_picture_of_a_preview() -> None:
    photo = {"kind": "photo", "id": 5, "size_bytes": 7, "dc_id": 4, "width": 3}
    (media_file,) = files_of(make_post(facts={"media": photo}))
    assert (
        media_file.media_id,
        media_file.kind,
        media_file.size_bytes,
        media_file.dc_id,
        media_file.mime,
    ) == (
        5,
        MediaKind.PHOTO,
        7,
        4,
        "image/jpeg",
    )
    assert files_of(make_post(facts={"media": {"kind": "web_page", "photo": photo}})) == ()
    assert files_of(make_post(facts={"media": {"kind": "geo", "id": 5}})) == ()
    assert files_of(make_post()) == ()


def test_items_that_were_paid_for_keep_their_places() -> None:
    items = [{"kind": "preview"}, {"kind": "video", "id": 8, "size_bytes": 9}]
    (media_file,) = files_of(make_post(facts={"media": {"kind": "paid_media", "items": items}}))
    assert (media_file.ordinal, media_file.media_id) == (1, 8)


@pytest.mark.parametrize("kind", [kind for kind in MediaKind if kind is not MediaKind.STICKER])
def test_every_kind_but_stickers_is_wanted(kind: MediaKind) -> None:
    assert verdict(file(kind=kind), tenant()) is None
    assert verdict(file(kind=MediaKind.STICKER), tenant()) is SkipReason.KIND


def test_what_is_not_wanted_has_a_reason_that_a_person_understands() -> None:
    assert verdict(file(vanishes=True), tenant()) is SkipReason.VANISHES
    assert verdict(file(size_bytes=0), tenant()) is SkipReason.UNAVAILABLE
    assert verdict(file(size_bytes=1001), tenant()) is SkipReason.SIZE
    assert verdict(file(size_bytes=1000), tenant()) is None
    assert verdict(file()) is SkipReason.NOT_WANTED
    assert (
        verdict(file(), tenant(), rules=MediaRules(has_place=False, max_bytes=1000, quota_bytes=0))
        is SkipReason.NO_PLACE
    )
    assert all(len(str(reason.words)) > 10 for reason in SkipReason)


def test_protected_and_private_channels_keep_none_unless_somebody_has_decided_so() -> None:
    assert verdict(file(), tenant(), is_closed=True) is SkipReason.PROTECTED
    assert verdict(file(), tenant(), is_protected=True) is SkipReason.PROTECTED
    assert verdict(file(), tenant(), tenant(2, keeps_protected=True), is_closed=True) is None


def test_a_file_is_wanted_while_one_of_those_who_may_keep_it_has_room() -> None:
    full, roomy = tenant(1, room_bytes=99), tenant(2, room_bytes=250)
    assert verdict(file(), full) is SkipReason.QUOTA
    terms = Terms(is_closed=False, wanting=(full, roomy))
    verdicts = [decide(file(), is_protected=False, terms=terms, rules=RULES) for _ in range(3)]
    assert verdicts == [None, None, SkipReason.QUOTA]
    assert full.room_bytes == -101  # it counts in full for everybody who wants it
