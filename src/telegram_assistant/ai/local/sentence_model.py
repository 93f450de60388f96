"""Vectors from a sentence model in a folder: tokenizer.json, model.onnx,
and model.json with its prefixes and limits.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession, SessionOptions
from tokenizers import Tokenizer

from telegram_assistant.ai.local.models import read_card
from telegram_assistant.ai.protocols import TextKind, Vector

BATCH = 16


class SentenceModel:
    """One loaded model. Calls keep a core busy: run them in a thread."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self._card = read_card(folder)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(self._card.max_tokens)
        self._tokenizer.enable_padding()
        options = SessionOptions()
        options.intra_op_num_threads = threads
        self._session = InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {model_input.name for model_input in self._session.get_inputs()}

    def embed(self, texts: Sequence[str], kind: TextKind) -> tuple[Vector, ...]:
        prefix = self._card.query_prefix if kind is TextKind.QUERY else self._card.document_prefix
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH):
            vectors += self._batch([prefix + text for text in texts[start : start + BATCH]])
        return tuple(vectors)

    def _batch(self, texts: list[str]) -> list[Vector]:
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encoded], dtype=np.int64)
        fed = {
            "input_ids": np.array([encoding.ids for encoding in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoding.type_ids for encoding in encoded], dtype=np.int64),
        }
        states = self._session.run(
            None, {name: value for name, value in fed.items() if name in self._inputs}
        )[0]
        weights = mask[:, :, None].astype(np.float32)
        pooled = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        unit = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        return [tuple(float(number) for number in vector) for vector in unit]
