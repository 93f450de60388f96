"""The local provider: tags, text in pictures and vectors on this machine,
as far as the libraries are installed.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from telegram_assistant.ai.gate_results import Material
from telegram_assistant.ai.local.models import ModelCard, folder_of, read_card
from telegram_assistant.ai.local.morphology import dictionary
from telegram_assistant.ai.local.name_dictionary import NO_DICTIONARY
from telegram_assistant.ai.local.ocr import LANGUAGES, missing_languages, ocr_command, read_text
from telegram_assistant.ai.local.tagging import LocalTagger
from telegram_assistant.ai.local.words import plain_forms
from telegram_assistant.ai.outputs import PictureFacts, Tags
from telegram_assistant.ai.protocols import Embedded, Picture, TextKind, Vector
from telegram_assistant.domain.operations.diagnosis import Finding, off, ok, warning
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed, Tier
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.domain.understanding.vocabulary import Vocabulary
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.language.russian import analyser
from telegram_assistant.reasons import Reason, quote

INSTALL = "pip install 'telegram-assistant[local-ai]'"
SUBJECT = "local understanding"
LIBRARIES = Reason("libraries_installed", "all its libraries are installed")
OCR_SUBJECT = "tesseract"
PICTURES_AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Reading one picture keeps a processor busy for about a second."""

type Embedder = Callable[[Sequence[str], TextKind], tuple[Vector, ...]]


def is_there(*libraries: str) -> bool:
    return all(find_spec(library) is not None for library in libraries)


class LocalModels:
    """Loads the dictionary and the models on first use, and keeps them in memory."""

    def __init__(self, *, models: Path) -> None:
        self._models = models
        self._loading = asyncio.Lock()
        self._embedders: dict[str, asyncio.Task[Embedder]] = {}
        self._readings = asyncio.Semaphore(PICTURES_AT_ONCE)
        self._is_stopping = False

    async def tags(self, materials: Sequence[Material], *, vocabulary: Vocabulary) -> list[Tags]:
        """Tags each material by its words."""
        tagger = await self.load()
        return await asyncio.to_thread(_tags, tagger, materials, vocabulary)

    async def load(self) -> LocalTagger:
        """Loads the tagger, which takes a second, once. Call it early to avoid the delay later."""
        async with self._loading:
            return await asyncio.to_thread(_load_tagger)

    async def picture(self, picture: Picture) -> PictureFacts:
        """Reads only the text of a picture. Raises ProviderFailed if it cannot be read,
        and Busy if its turn comes after `stop_reading`.
        """
        command = ocr_command()
        if command is None:
            raise ProviderFailed(Failure.REFUSED, "tesseract is not installed")
        async with self._readings:
            if self._is_stopping:
                raise Busy(
                    Reason("pictures_not_read_any_more", "this process stops and reads no more pictures")
                )
            return PictureFacts(text=await read_text(picture, command=command))

    def stop_reading(self) -> None:
        """Gives up the pictures that wait for their turn: of a queue, each would take another second."""
        self._is_stopping = True

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        """Computes vectors; ignores the timeout. Raises Rejected if the model was not downloaded."""
        del timeout_seconds
        embedder = await asyncio.shield(self._embedder(model))
        return Embedded(await asyncio.to_thread(embedder, texts, kind), Tokens())

    async def close(self) -> None:
        for loading in self._embedders.values():
            loading.cancel()
        self._embedders.clear()

    def _embedder(self, model: str) -> asyncio.Task[Embedder]:
        """The model, which a query may stop waiting for: loading goes on, and the next query finds it."""
        loading = self._embedders.get(model)
        if loading is None or (loading.done() and (loading.cancelled() or loading.exception())):
            loading = asyncio.create_task(asyncio.to_thread(_load_model, self._models, model))
            self._embedders[model] = loading
        return loading


@cache
def _load_tagger() -> LocalTagger:
    words = analyser()
    return LocalTagger(plain_forms, NO_DICTIONARY) if words is None else LocalTagger(*dictionary(words))


def _load_model(models: Path, name: str) -> Embedder:
    if not is_there("onnxruntime", "tokenizers"):
        raise Rejected(
            Reason(
                "vectors_need_libraries",
                "vectors need onnxruntime and tokenizers: {install}",
                install=INSTALL,
            )
        )
    folder = folder_of(models, name)
    read_card(folder)
    loaded_model: Embedder = (
        import_module("telegram_assistant.ai.local.sentence_model").SentenceModel(folder).embed
    )
    return loaded_model


def _tags(tagger: LocalTagger, materials: Sequence[Material], vocabulary: Vocabulary) -> list[Tags]:
    return [
        tagger.tags(
            material.text_for(Tier.LOCAL),
            vocabulary,
            addresses=material.addresses,
            is_service=material.is_service,
        )
        for material in materials
    ]


def examine(models: Path, model: str | None) -> list[Finding]:
    """Checks what is installed for local understanding. `model` None: a provider computes the vectors."""
    missing_libraries = [
        library for library in ("pymorphy3", "onnxruntime", "tokenizers") if not is_there(library)
    ]
    findings = [ok(SUBJECT, LIBRARIES)]
    if missing_libraries:
        reason = Reason(
            "understanding_with_less",
            "works in part: {libraries} not installed",
            libraries=", ".join(missing_libraries),
        )
        findings = [
            warning(
                SUBJECT, reason, remedy=Reason("install_library", "install it: {command}", command=INSTALL)
            )
        ]
    findings.append(examine_ocr(ocr_command()))
    if not missing_libraries and model is not None:
        card = _card(models, model)
        if card:
            findings.append(ok("sentence model", quote(card.name)))
        else:
            reason, remedy = (
                Reason("model_missing", "{model} was not downloaded", model=model),
                Reason("pull_model", "run `tga models pull`"),
            )
            findings.append(warning("sentence model", reason, remedy=remedy))
    return findings


def examine_ocr(command: str | None) -> Finding:
    """Checks whether tesseract has data for the required languages."""
    if command is None:
        command = "apt install tesseract-ocr tesseract-ocr-rus"
        return off(
            OCR_SUBJECT,
            Reason(
                "ocr_not_installed",
                "not installed, so text in pictures is not read ({command})",
                command=command,
            ),
        )
    missing_language_names = missing_languages(command)
    if missing_language_names:
        packages = " ".join(f"tesseract-ocr-{language}" for language in missing_language_names)
        reason = Reason(
            "ocr_lacks_data",
            "no data for {languages}, so text in pictures is not read",
            languages=", ".join(missing_language_names),
        )
        return warning(
            OCR_SUBJECT,
            reason,
            remedy=Reason("install_library", "install it: {command}", command=f"apt install {packages}"),
        )
    return ok(
        OCR_SUBJECT, Reason("ocr_reads", "reads {languages} in pictures", languages=", ".join(LANGUAGES))
    )


def _card(models: Path, model: str) -> ModelCard | None:
    try:
        return read_card(folder_of(models, model))
    except Rejected:
        return None
