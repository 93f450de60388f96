"""Sentence models of a few numbers, written byte by byte as ONNX has them: a token's state is its row of a
table, so that a test computes every vector beside the model.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from telegram_assistant.ai.local.models import folder_of

WORDS = ("[PAD]", "[UNK]", "query:", "passage:", "snow", "rain", "falls", "today")
DIMENSIONS = 12
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), DIMENSIONS)).astype(np.float32)
STATES, SENTENCE = "last_hidden_state", "sentence_embedding"
DATA = "model.onnx_data"
FLOAT, INT64 = 1, 7
LENGTH_DELIMITED = 2


def states_of(text: str) -> npt.NDArray[np.float32]:
    """The vectors that the model computes for the words of a text."""
    return TABLE[[WORDS.index(word) if word in WORDS else 1 for word in text.split()]]


def write_tiny_model(folder: Path, *, has_data_file: bool = False) -> None:
    """tokenizer.json and model.onnx, and the file of its numbers if they are not inside."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    if has_data_file:
        (folder / DATA).write_bytes(TABLE.tobytes())
    (folder / "model.onnx").write_bytes(_model(has_data_file=has_data_file))


def put_tiny_model_on_hub(hub: Path, name: str, revision: str, *, has_data_file: bool = False) -> None:
    """Writes the model to the path at which a hub serves it."""
    published, made = hub / name / "resolve" / revision, hub / folder_of(Path(), name)
    write_tiny_model(made, has_data_file=has_data_file)
    (published / "onnx").mkdir(parents=True)
    (made / "tokenizer.json").rename(published / "tokenizer.json")
    for file in made.iterdir():
        file.rename(published / "onnx" / file.name)


def _model(*, has_data_file: bool) -> bytes:
    table = [*(_number(1, size) for size in TABLE.shape), _number(2, FLOAT), _text(8, "table")]
    if has_data_file:
        table += [_bytes(13, _text(1, "location") + _text(2, DATA)), _number(14, 1)]
    else:
        table.append(_bytes(9, TABLE.tobytes()))
    gather = _node("Gather", ["table", "input_ids"], [STATES])
    maximum = _node(
        "ReduceMax", [STATES], [SENTENCE], _text(1, "axes") + _number(8, 1) + _number(20, 7),
        _text(1, "keepdims") + _number(3, 0) + _number(20, 2),
    )  # fmt: skip
    graph = b"".join(
        (
            _bytes(1, gather),
            _bytes(1, maximum),
            _text(2, "tiny"),
            _bytes(5, b"".join(table)),
            _bytes(11, _value("input_ids", INT64, ("texts", "words"))),
            _bytes(12, _value(STATES, FLOAT, ("texts", "words", DIMENSIONS))),
            _bytes(12, _value(SENTENCE, FLOAT, ("texts", DIMENSIONS))),
        )
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))


def _node(operator: str, inputs: Sequence[str], outputs: Sequence[str], *attributes: bytes) -> bytes:
    return b"".join(
        (
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(4, operator),
            *(_bytes(5, attribute) for attribute in attributes),
        )
    )


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(
        _bytes(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | LENGTH_DELIMITED) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)
