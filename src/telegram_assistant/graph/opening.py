"""Opening Neo4j, and what a lost server means."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from neo4j import AsyncDriver, AsyncGraphDatabase, NotificationMinimumSeverity
from neo4j.exceptions import AuthError, ClientError, ConfigurationError, DriverError, Neo4jError

from telegram_assistant.domain.finding import Finding, bad, off, ok
from telegram_assistant.errors import Busy, CannotStart
from telegram_assistant.settings import GraphSettings

SUBJECT = "neo4j"
AWAY_SECONDS = 5.0
OUR_MISTAKES = ("Neo.ClientError.Statement", "Neo.ClientError.Schema", "Neo.ClientError.Procedure")


def open_driver(settings: GraphSettings) -> AsyncDriver:
    """It connects when it is first used."""
    return AsyncGraphDatabase.driver(
        settings.uri,
        auth=(settings.user, settings.password.get_secret_value()),
        connection_timeout=5,
        connection_acquisition_timeout=5,
        max_transaction_retry_time=5,
        notifications_min_severity=NotificationMinimumSeverity.OFF,
    )


@asynccontextmanager
async def opened_driver(settings: GraphSettings) -> AsyncIterator[AsyncDriver | None]:
    """None: the graph is off. CannotStart where the address makes no sense; a server that is away is no reason not to start."""
    if not settings.uri:
        yield None
        return
    try:
        driver = open_driver(settings)
    except (ConfigurationError, ValueError) as error:
        raise CannotStart(f"NEO4J_URI cannot be used ({error})", remedy="Write it like bolt://host:7687, or leave it empty") from error
    try:
        yield driver
    finally:
        await driver.close()


@contextmanager
def answered() -> Iterator[None]:
    """A lost or overloaded server is Busy; what the server calls our mistake is one."""
    try:
        yield
    except AuthError as error:
        raise Busy("Neo4j refuses the login; correct NEO4J_USER and NEO4J_PASSWORD", retry_after_seconds=AWAY_SECONDS) from error
    except (Neo4jError, DriverError, OSError, TimeoutError) as error:
        if isinstance(error, ClientError) and str(error.code).startswith(OUR_MISTAKES):
            raise
        raise Busy(f"Neo4j does not answer ({type(error).__name__})", retry_after_seconds=AWAY_SECONDS) from error


def name_of(database: str) -> str:
    """The graph is a projection of one database, and bears its name: several of them can share a server."""
    return re.sub(r"\W+", "_", database, flags=re.ASCII).strip("_").capitalize() or "Graph"


async def examine(settings: GraphSettings) -> list[Finding]:
    """Connects and writes into a transaction that is rolled back."""
    if not settings.uri:
        return [off(SUBJECT, "NEO4J_URI is empty: the graph is off")]
    try:
        async with open_driver(settings) as driver, driver.session() as session:
            components = await session.run("CALL dbms.components() YIELD name, versions, edition RETURN name, versions[0] AS version, edition")
            server = await components.single(strict=True)
            transaction = await session.begin_transaction()
            await (await transaction.run("CREATE (:Doctor)")).consume()
            await transaction.rollback()
    except AuthError:
        return [bad(SUBJECT, f"Neo4j at {settings.uri} refuses the login", remedy="correct NEO4J_USER and NEO4J_PASSWORD")]
    except (Neo4jError, DriverError, ConfigurationError, OSError, ValueError) as error:
        remedy = "start Neo4j, or correct NEO4J_URI; an empty NEO4J_URI turns the graph off"
        return [bad(SUBJECT, f"Neo4j at {settings.uri} does not answer ({type(error).__name__})", remedy=remedy)]
    return [ok(SUBJECT, f"{server['name']} {server['version']} {server['edition']} at {settings.uri}")]
