"""Neo4j: who forwards whom. A projection that can be rebuilt, and optional."""

from neo4j import AsyncDriver, AsyncGraphDatabase
from neo4j.exceptions import AuthError, ConfigurationError, DriverError, Neo4jError

from telegram_assistant.domain.finding import Finding, bad, off, ok
from telegram_assistant.settings import GraphSettings

SUBJECT = "neo4j"


def open_graph(settings: GraphSettings) -> AsyncDriver:
    return AsyncGraphDatabase.driver(
        settings.uri,
        auth=(settings.user, settings.password.get_secret_value()),
        connection_timeout=5,
        max_transaction_retry_time=5,
    )


async def examine(settings: GraphSettings) -> list[Finding]:
    """Connects and writes into a transaction that is rolled back."""
    if not settings.uri:
        return [off(SUBJECT, "NEO4J_URI is empty: the graph is off")]
    try:
        async with open_graph(settings) as driver, driver.session() as session:
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
