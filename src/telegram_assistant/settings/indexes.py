"""The indexes beside PostgreSQL: vectors and the graph."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from telegram_assistant.settings.declaring import SettingsGroup, variable, web_address


def _collection_prefix(prefix: str) -> str:
    # An installation without a prefix takes every collection named posts-... for its own.
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,60}", prefix) or prefix.startswith("posts-"):
        raise ValueError(
            "use up to 60 letters, digits, hyphens and underscores; it must not begin with posts-"
        )
    return prefix


class GraphSettings(SettingsGroup):
    """Neo4j: who forwards whom. Optional."""

    uri: str = variable(
        "NEO4J_URI", "", help="URI of the Neo4j server, like bolt://host:7687. Empty: the graph is off."
    )
    user: str = variable("NEO4J_USER", "neo4j", help="User name for Neo4j.")
    password: SecretStr = variable("NEO4J_PASSWORD", SecretStr(""), help="Password for Neo4j.")


class VectorSettings(SettingsGroup):
    """Qdrant: semantic search over posts. A server, or embedded when QDRANT_URL is empty. Optional."""

    url: Annotated[str, AfterValidator(web_address)] = variable(
        "QDRANT_URL",
        "",
        help="URL of the Qdrant server, like http://host:6333; needed when worker and api are separate "
        "processes. Empty: VECTORS_DIR.",
    )
    api_key: SecretStr = variable(
        "QDRANT_API_KEY", SecretStr(""), help="API key for Qdrant, if it requires one."
    )
    collection_prefix: Annotated[str, AfterValidator(_collection_prefix)] = variable(
        "QDRANT_COLLECTION_PREFIX",
        "",
        help="Prefix of every collection name, like acme-, so that several installations can share one "
        "Qdrant server.",
    )
    folder: Path | None = variable(
        "VECTORS_DIR",
        None,
        help="Folder for vectors when QDRANT_URL is empty; only one process can open it at a time. "
        "Both empty: search is by words only.",
    )
