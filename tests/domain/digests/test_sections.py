"""The sections of a digest."""

from telegram_assistant.domain.digests.sections import Section, has_folders, sections_of

ENTRIES = (("a", ""), ("b", "City"), ("c", "World"), ("d", "City"), ("e", None))


def test_entries_are_in_the_order_of_their_weight_and_those_without_a_folder_last() -> None:
    sections = sections_of(ENTRIES, lambda entry: entry[1])
    assert [(section.folder, [name for name, _ in section.entries]) for section in sections] == [
        ("City", ["b", "d"]),
        ("World", ["c"]),
        ("", ["a", "e"]),
    ]
    assert has_folders(sections)


def test_without_folders_there_is_one_section_without_a_heading() -> None:
    sections = sections_of(["a", "b"], lambda _: "")
    assert sections == (Section("", ("a", "b")),)
    assert not has_folders(sections)
    assert sections_of([], lambda _: "") == ()
