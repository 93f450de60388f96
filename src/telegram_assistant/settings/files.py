"""The store for media."""

from pathlib import Path

from pydantic import SecretStr

from telegram_assistant.settings.declaring import SettingsGroup, variable


class FilesSettings(SettingsGroup):
    """Media: in S3, or in a folder when S3_ENDPOINT is empty."""

    endpoint: str = variable(
        "S3_ENDPOINT",
        "",
        help="URL of the S3 server, with http:// or https://. Empty: media are stored in FILES_DIR.",
    )
    region: str = variable("S3_REGION", "us-east-1", help="Region that requests are signed for.")
    bucket: str = variable("S3_BUCKET", "", help="Bucket that holds the media.")
    access_key_id: SecretStr = variable(
        "S3_ACCESS_KEY_ID", SecretStr(""), help="Access key ID for the S3 server."
    )
    secret_access_key: SecretStr = variable(
        "S3_SECRET_ACCESS_KEY", SecretStr(""), help="Secret access key for the S3 server."
    )
    force_path_style: bool = variable(
        "S3_FORCE_PATH_STYLE",
        default=True,
        help="true: http://server/bucket/file, as most self-hosted servers expect. false: "
        "http://bucket.server/file.",
    )
    folder: Path | None = variable(
        "FILES_DIR", None, help="Folder for media when S3_ENDPOINT is empty. Both empty: no media are stored."
    )
    max_bytes: int = variable(
        "MEDIA_MAX_BYTES", 20 * 1024 * 1024, help="Files larger than this are not downloaded.", ge=1
    )
    quota_bytes: int = variable(
        "MEDIA_QUOTA_BYTES",
        0,
        help="Bytes of media that a tenant may store, unless it has its own quota. 0: no limit.",
        ge=0,
    )
    min_free_percent: int = variable(
        "MEDIA_MIN_FREE_PERCENT",
        10,
        help="Per cent of the disks of FILES_DIR and MEDIA_SPOOL_DIR that must stay free. With less, "
        "files are not downloaded and posts still are.",
        ge=0,
        le=90,
    )
    spool: Path | None = variable(
        "MEDIA_SPOOL_DIR",
        None,
        help="Folder for unfinished downloads; a persistent one lets them resume after a restart. Empty: "
        "a folder under the system's temporary one.",
    )
