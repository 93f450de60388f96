"""Media: in S3, or in a folder on disk."""

import asyncio
import uuid
from urllib.parse import urlsplit

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import LocalStore, S3Store

from telegram_assistant.domain.finding import Finding, bad, off, ok
from telegram_assistant.settings import FilesSettings

SUBJECT = "files"
TIMEOUT_SECONDS = 8.0


def open_files(settings: FilesSettings) -> S3Store | LocalStore | None:
    """The place for media, or None where no place is set."""
    if settings.endpoint:
        return S3Store(
            settings.bucket,
            endpoint=_endpoint(settings),
            region=settings.region,
            access_key_id=settings.access_key_id.get_secret_value(),
            secret_access_key=settings.secret_access_key.get_secret_value(),
            virtual_hosted_style_request=not settings.force_path_style,
            client_options={"allow_http": settings.endpoint.startswith("http://"), "connect_timeout": "3s", "timeout": "30s"},
            retry_config={"max_retries": 1},
        )
    return LocalStore(settings.folder, mkdir=True) if settings.folder else None


def _endpoint(settings: FilesSettings) -> str:
    if settings.force_path_style:
        return settings.endpoint
    parts = urlsplit(settings.endpoint)
    if parts.hostname and parts.hostname.replace(".", "").isdecimal():
        raise ValueError("S3_FORCE_PATH_STYLE=false needs a host name in S3_ENDPOINT, not an address")
    return f"{parts.scheme}://{settings.bucket}.{parts.netloc}"


async def examine(settings: FilesSettings) -> list[Finding]:
    """Writes, reads and deletes one small file."""
    if settings.endpoint and not settings.bucket:
        return [bad(SUBJECT, "S3_ENDPOINT is set and S3_BUCKET is not", remedy="name the bucket in S3_BUCKET")]
    where = f"S3 at {settings.endpoint}, bucket {settings.bucket}" if settings.endpoint else f"the folder {settings.folder}"
    path = f"doctor/{uuid.uuid4()}"
    try:
        store = open_files(settings)
        if store is None:
            return [off(SUBJECT, "no S3_ENDPOINT and no FILES_DIR: no media are kept")]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await store.put_async(path, b"doctor")
            await (await store.get_async(path)).bytes_async()
            await store.delete_async(path)
    except (PermissionDeniedError, UnauthenticatedError):
        remedy = "check S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, and that they may read, write and delete in the bucket"
        return [bad(SUBJECT, f"{where} refuses the key", remedy=remedy)]
    except (BaseError, OSError, TimeoutError, ValueError) as error:
        remedy = (
            "start the S3 server, or correct S3_ENDPOINT and S3_BUCKET" if settings.endpoint else "make the folder writable, or correct FILES_DIR"
        )
        return [bad(SUBJECT, f"{where} cannot be used ({_reason(error)})", remedy=remedy)]
    return [ok(SUBJECT, where)]


def _reason(error: Exception) -> str:
    """The library's first line: it names the address and the cause, never the key."""
    lines = str(error).strip().splitlines()
    return lines[0][:160] if lines else type(error).__name__
