"""Vectors from a sentence model in a folder: tokenizer.json, model.onnx with the files that it refers to,
and model.json, which says how the model is used.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from onnxruntime import InferenceSession, SessionOptions
from tokenizers import Tokenizer

from telegram_assistant.ai.local.models import read_card
from telegram_assistant.ai.protocols import TextKind, Vector
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

BATCH = 16
NAMED = "output:"

type Numbers = npt.NDArray[np.float32]
type Mask = npt.NDArray[np.int64]


class SentenceModel:
    """One loaded model. Calls keep a core busy: run them in a thread."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """Raises Rejected if the folder holds no model that can be used as its card says."""
        self._card = read_card(folder)
        options = SessionOptions()
        options.intra_op_num_threads = threads
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the libraries raise classes of their own, without a common parent
            raise Rejected(
                Reason(
                    "model_unusable",
                    "{model} cannot be loaded ({error}); a file of it may be missing: pull it again with "
                    "--file",
                    model=self._card.name,
                    error=type(error).__name__,
                )
            ) from error
        self._tokenizer.enable_truncation(self._card.max_tokens)
        self._tokenizer.enable_padding()
        self._inputs = {model_input.name for model_input in self._session.get_inputs()}
        outputs = [model_output.name for model_output in self._session.get_outputs()]
        self._output = outputs[0]
        if self._card.pooling.startswith(NAMED):
            self._output = self._card.pooling.removeprefix(NAMED)
        if self._output not in outputs:
            raise Rejected(
                Reason(
                    "model_output_unknown",
                    "{model} has no output {output}; it has {outputs}",
                    model=self._card.name,
                    output=self._output,
                    outputs=", ".join(outputs),
                )
            )

    def embed(self, texts: Sequence[str], kind: TextKind) -> tuple[Vector, ...]:
        prefix = self._card.query_prefix if kind is TextKind.QUERY else self._card.document_prefix
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH):
            vectors += self._batch([prefix + text for text in texts[start : start + BATCH]])
        return tuple(vectors)

    def _batch(self, texts: list[str]) -> list[Vector]:
        encodings = self._tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        model_inputs = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
            "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
        }
        states = self._session.run(
            [self._output], {name: value for name, value in model_inputs.items() if name in self._inputs}
        )[0]
        pooled_states = pool(states.astype(np.float32), mask, self._card.pooling)[:, : self._card.dimensions]
        unit = pooled_states / np.maximum(np.linalg.norm(pooled_states, axis=1, keepdims=True), 1e-9)
        return [tuple(float(number) for number in vector) for vector in unit]


def pool(states: Numbers, mask: Mask, pooling: str) -> Numbers:
    """One vector per text; padding may be on either side."""
    rows, pooled_states = np.arange(len(states)), states
    if pooling == "cls":
        pooled_states = states[rows, mask.argmax(axis=1)]
    elif pooling == "last":
        pooled_states = states[rows, mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)]
    elif pooling == "mean":
        weights = mask[:, :, None].astype(np.float32)
        total = np.maximum(weights.sum(axis=1), np.float32(1e-9))
        pooled_states = ((states * weights).sum(axis=1) / total).astype(np.float32)
    return pooled_states
