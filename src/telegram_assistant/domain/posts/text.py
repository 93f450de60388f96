"""Makes strangers' text storable in every store."""


def storable(text: str) -> str:
    """The text with U+FFFD in place of what PostgreSQL refuses: NUL and unpaired surrogates.

    Each replacement is one UTF-16 unit, so that the offsets of entities stay valid.
    """
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
