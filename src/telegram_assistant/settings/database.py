"""PostgreSQL: the logins and the pool."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from telegram_assistant.settings.declaring import SettingsGroup, require_scheme, variable

PostgresUrl = Annotated[SecretStr, require_scheme("postgresql", "postgres")]


class DatabaseLogin(StrEnum):
    """A process that connects to PostgreSQL. Each may have its own login, or all share one."""

    API = "api"
    SYSTEM = "system"
    INGEST = "ingest"

    @property
    def variable(self) -> str:
        """The environment variable that holds its URL."""
        return "DATABASE_URL" if self is DatabaseLogin.API else f"DATABASE_{self.name}_URL"


class DatabaseSettings(SettingsGroup):
    """PostgreSQL: the source of truth."""

    url: PostgresUrl = variable(
        "DATABASE_URL",
        help="PostgreSQL, for API requests. The login must not be a superuser and must not own tables. "
        "Connect directly, or through a pooler; if that pools by transaction, set DATABASE_DIRECT_URL, too.",
    )
    system_url: PostgresUrl | None = variable(
        "DATABASE_SYSTEM_URL",
        None,
        help="The same database with the login of the worker and of periodic jobs, which see every tenant. "
        "Empty: DATABASE_URL.",
    )
    ingest_url: PostgresUrl | None = variable(
        "DATABASE_INGEST_URL",
        None,
        help="The same database with the login of the ingest role, the only one that reads sessions. Empty: "
        "DATABASE_SYSTEM_URL.",
    )
    admin_url: PostgresUrl | None = variable(
        "DATABASE_ADMIN_URL",
        None,
        help="The same database with a login that may create roles and tables. Only `tga migrate` uses it. "
        "Empty: DATABASE_URL.",
    )
    direct_url: PostgresUrl | None = variable(
        "DATABASE_DIRECT_URL",
        None,
        help="The same database without the pooler, with the login of DATABASE_URL. "
        "For what a pooler in transaction mode cannot carry: "
        "one connection per process that waits for new posts (LISTEN), "
        "and `tga migrate` if DATABASE_ADMIN_URL is empty. Empty: DATABASE_URL.",
    )
    data_folder: Path | None = variable(
        "DATABASE_DATA_DIR",
        None,
        help="Folder with PostgreSQL's data, or any folder on its disk, if it is on this machine: "
        "its free space is watched. "
        "Empty: it is not, because PostgreSQL tells it to superusers only.",
    )
    pool_size: int = variable(
        "DATABASE_POOL_SIZE",
        10,
        help="Maximum number of connections per login in one process.",
        ge=1,
        le=1000,
    )

    def url_of(self, login: DatabaseLogin) -> SecretStr:
        """Returns the URL with this login. INGEST falls back to SYSTEM, and SYSTEM to API."""
        system_url = self.system_url or self.url
        return {
            DatabaseLogin.API: self.url,
            DatabaseLogin.SYSTEM: system_url,
            DatabaseLogin.INGEST: self.ingest_url or system_url,
        }[login]

    @property
    def session_url(self) -> SecretStr:
        """The URL of a connection that keeps its server process from statement to statement."""
        return self.direct_url or self.url

    @property
    def migration_url(self) -> SecretStr:
        """The URL for `tga migrate`, which needs a session for its lock."""
        return self.admin_url or self.session_url

    def name_of(self, login: DatabaseLogin) -> str:
        """Returns the database user of this login."""
        return unquote(urlsplit(self.url_of(login).get_secret_value()).username or "")

    @property
    def separates_system(self) -> bool:
        """Whether API requests use another login than the worker."""
        return self.name_of(DatabaseLogin.API) != self.name_of(DatabaseLogin.SYSTEM)
