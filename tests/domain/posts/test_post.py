from dataclasses import replace

from telegram_assistant.domain.posts.post import TextEntity, fingerprint

ENTITIES = [
    TextEntity("bold", 0, 4),
    TextEntity("text_url", 5, 8, "https://a.example/?q=ё"),
    TextEntity("custom_emoji", 14, 2),
]


def test_the_fingerprint_of_what_is_stored_never_changes() -> None:
    known = "4e84112a3b9936d692dc92b44a98d558a70ce63c5f6f02fb00ede0942a0b89c2"
    assert fingerprint('Мост "закрыт" é🔥', ENTITIES, [2**62 + 1, 3]).hex() == known
    detailed = [replace(entity, detail=7) for entity in ENTITIES]
    assert fingerprint('Мост "закрыт" é🔥', detailed, [2**62 + 1, 3]).hex() == known


def test_an_entity_says_in_json_only_what_it_has() -> None:
    assert TextEntity("bold", 0, 4).as_json() == {"kind": "bold", "offset": 0, "length": 4}
    assert TextEntity("pre", 0, 4, detail="python").as_json() == {
        "kind": "pre",
        "offset": 0,
        "length": 4,
        "detail": "python",
    }
    assert TextEntity("text_url", 0, 4, "https://a.example/").as_json() == {
        "kind": "text_url",
        "offset": 0,
        "length": 4,
        "url": "https://a.example/",
    }
