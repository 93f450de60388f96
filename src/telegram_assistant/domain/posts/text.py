"""Text of strangers, as every store takes it."""


def storable(text: str) -> str:
    """The same text, with U+FFFD for what PostgreSQL refuses: NUL, and halves of surrogate pairs.

    One UTF-16 unit stands for one, so that the offsets of entities hold.
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
