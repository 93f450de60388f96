"""The sentence model with which the demo searches by meaning.

It is one that was downloaded before: the demo itself asks no server. Without one, search finds words only,
and the demo says which command changes that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from telegram_assistant.ai.local.models import DEFAULT_MODEL, list_installed
from telegram_assistant.demo.folder import DemoFolder
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

LIBRARIES = ("qdrant_edge", "onnxruntime", "tokenizers")
INSTALL = "pip install 'telegram-assistant[vectors,local-ai]'"
USUAL_MODELS = "models"


@dataclass(frozen=True, slots=True)
class DemoModel:
    """A sentence model, and the folder with all models."""

    name: str
    models: Path

    def variables(self, folder: DemoFolder) -> dict[str, str]:
        """Settings of the program: it reads the model, and stores vectors in the demo's folder."""
        return {
            "VECTORS_DIR": str(folder.path / "vectors"),
            "MODELS_DIR": str(self.models),
            "AI_EMBEDDINGS_MODEL": self.name,
        }


def find_model(environ: Mapping[str, str]) -> DemoModel | Reason:
    """Looks where `tga models pull` puts models. If there are several, it takes that of AI_EMBEDDINGS_MODEL,
    or the usual one.

    Returns the reason for people if search by meaning is impossible.
    """
    if not all(find_spec(library) for library in LIBRARIES):
        return Reason(
            "demo_lacks_vector_libraries",
            "Search finds posts by words only. To find them by meaning too, run {install} and "
            "`tga models pull` (in containers see docs/installation.md), then start the demo again",
            install=INSTALL,
        )
    models = Path(environ.get("MODELS_DIR") or USUAL_MODELS).absolute()
    try:
        names = [model.card.name for model in list_installed(models)]
    except Rejected as error:
        return error.reason
    wanted_names = (environ.get("AI_EMBEDDINGS_MODEL"), DEFAULT_MODEL, *names)
    return next(
        (DemoModel(name, models) for name in wanted_names if name in names),
        Reason(
            "demo_lacks_model",
            "Search finds posts by words only, because {folder} has no sentence model. To find them by "
            "meaning too, run `tga models pull` once (490 MB), then start the demo again",
            folder=str(models),
        ),
    )
