"""People, places and organisations in Russian texts, found by natasha's small network."""

from collections.abc import Callable

from natasha import Doc, NewsEmbedding, NewsNERTagger, Segmenter

from telegram_assistant.ai.outputs import Entity, EntityKind

KINDS = {"PER": EntityKind.PERSON, "LOC": EntityKind.PLACE, "ORG": EntityKind.ORGANISATION}
MOST_CHARACTERS = 10_000


def name_finder() -> Callable[[str], tuple[Entity, ...]]:
    """Loads the network, about 30 MB."""
    segmenter = Segmenter()
    tagger = NewsNERTagger(NewsEmbedding())

    def find(text: str) -> tuple[Entity, ...]:
        document = Doc(text[:MOST_CHARACTERS])
        document.segment(segmenter)
        document.tag_ner(tagger)
        found = (Entity(text=span.text[:100], kind=KINDS[span.type]) for span in document.spans if span.type in KINDS)
        return tuple(dict.fromkeys(found))

    return find
