import pytest

from telegram_assistant.ai.local.english_names import find_english_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("On Monday Prime Minister Anna Reed flew to Japan.", {"Anna Reed": "person", "Japan": "place"}),
        ("Russia and the UK signed it in Oslo.", {"Russia": "place", "UK": "place", "Oslo": "place"}),
        ("They met in Cape Town and New York.", {"Cape Town": "place", "New York": "place"}),
        ("Persistent hurdles remain. After May the Chinese plan fails.", {}),
        ("Bold New Plan Meets Some Old Problems\nIt failed.", {}),
        ("See https://paper.example/?utm_campaign=RSS and Bert Lund", {"Bert Lund": "person"}),
        ("Norwood's Reed paid. The Aldren Bank said no.", {"Aldren Bank": "organisation"}),
        ("They praised Environment Study and the Alder Ridge plan.", {}),
        ("He left the Boston Larks for Rovaniemi Hall.", {"Boston Larks": "organisation"}),
        ("The road from Tucson to Uttar Pradesh", {"Tucson": "place", "Uttar Pradesh": "place"}),
        ("It said so in Reed's letter about the UI and the AGM.", {}),
        ("They heard Ivar Quelden in Boston.", {"Ivar Quelden": "person", "Boston": "place"}),
        ("They heard Zzyx Quelden, and Quelden left.", {"Zzyx Quelden": "person"}),
        ("They heard Zzyx Quelden. Later he left.", {}),
        ("Rooms in T20Is cost less in North American towns.", {}),
    ],
)
def test_english_names_are_no_titles_months_or_first_words(text: str, names: dict[str, str]) -> None:
    assert {name: kind.value for name, kind in find_english_names(text)} == names
