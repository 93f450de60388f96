"""Neo4j through its driver.

No other module imports the library, which takes half a second and is loaded only if the graph is on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from neo4j import READ_ACCESS, AsyncGraphDatabase, AsyncManagedTransaction, NotificationMinimumSeverity
from neo4j.exceptions import AuthError, ClientError, ConfigurationError, DriverError, Neo4jError

from telegram_assistant.domain.operations.diagnosis import Finding, bad, ok
from telegram_assistant.errors import Busy, CannotStart
from telegram_assistant.graph.protocol import Row, RunStatement
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import GraphSettings

SUBJECT = "neo4j"
RETRY_AFTER_SECONDS = 5.0
WRITE_TIMEOUT_SECONDS = 40.0
QUESTION_TIMEOUT_SECONDS = 10.0
OUR_MISTAKES = ("Neo.ClientError.Statement", "Neo.ClientError.Schema", "Neo.ClientError.Procedure")


class Neo4jServer:
    """Connects on first use. Raises CannotStart if the address is invalid."""

    def __init__(self, settings: GraphSettings) -> None:
        try:
            self.driver = AsyncGraphDatabase.driver(
                settings.uri,
                auth=(settings.user, settings.password.get_secret_value()),
                connection_timeout=5,
                connection_acquisition_timeout=5,
                max_transaction_retry_time=5,
                notifications_min_severity=NotificationMinimumSeverity.OFF,
            )
        except (ConfigurationError, ValueError) as error:
            raise CannotStart(
                Reason("graph_address_unusable", "NEO4J_URI cannot be used ({error})", error=str(error)),
                remedy=Reason(
                    "correct_graph_address", "Write NEO4J_URI like bolt://host:7687, or leave it empty"
                ),
            ) from error

    async def close(self) -> None:
        await self.driver.close()

    async def read(self, text: str, **values: Any) -> list[Row]:  # noqa: ANN401 -- as the driver takes them
        """Runs a query without retries: the caller does not wait for a second try,
        because PostgreSQL may answer instead.
        """
        with translate_errors():
            async with (
                asyncio.timeout(QUESTION_TIMEOUT_SECONDS),
                self.driver.session(default_access_mode=READ_ACCESS) as session,
            ):
                return await (await session.run(text, **values)).data()

    async def write[T](self, work: Callable[[RunStatement], Awaitable[T]]) -> T:
        async def within(transaction: AsyncManagedTransaction) -> T:
            async def run(text: str, **values: Any) -> list[Row]:  # noqa: ANN401 -- as above
                return await (await transaction.run(text, **values)).data()

            return await work(run)

        with translate_errors():
            async with asyncio.timeout(WRITE_TIMEOUT_SECONDS), self.driver.session() as session:
                return await session.execute_write(within)

    async def alone(
        self,
        text: str,
        *,
        takes_long: bool = False,
        **values: Any,  # noqa: ANN401 -- as above
    ) -> None:
        with translate_errors():
            async with (
                asyncio.timeout(None if takes_long else WRITE_TIMEOUT_SECONDS),
                self.driver.session() as session,
            ):
                await (await session.run(text, **values)).consume()


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translates the errors of a lost or overloaded server into Busy;
    errors in our statements are raised unchanged.
    """
    try:
        yield
    except AuthError as error:
        raise Busy(
            Reason("graph_refuses_login", "Neo4j refuses the login; correct NEO4J_USER and NEO4J_PASSWORD"),
            retry_after_seconds=RETRY_AFTER_SECONDS,
        ) from error
    except (Neo4jError, DriverError, OSError, TimeoutError) as error:
        if isinstance(error, ClientError) and str(error.code).startswith(OUR_MISTAKES):
            raise
        raise Busy(
            Reason("graph_silent", "Neo4j does not answer ({error})", error=type(error).__name__),
            retry_after_seconds=RETRY_AFTER_SECONDS,
        ) from error


async def examine(settings: GraphSettings) -> Finding:
    """Checks the server: connects, and writes in a transaction that is rolled back."""
    try:
        server = Neo4jServer(settings)
    except CannotStart as error:
        return bad(SUBJECT, error.why, remedy=error.remedy)
    location = urlsplit(settings.uri).netloc.rpartition("@")[2]
    try:
        async with server.driver.session() as session:
            components = await session.run(
                "CALL dbms.components() YIELD name, versions, edition RETURN name, versions[0] AS version, "
                "edition"
            )
            component = await components.single(strict=True)
            transaction = await session.begin_transaction()
            await (await transaction.run("CREATE (:Doctor)")).consume()
            await transaction.rollback()
    except AuthError:
        reason = Reason("graph_at_refuses_login", "Neo4j at {where} refuses the login", where=location)
        return bad(
            SUBJECT, reason, remedy=Reason("correct_graph_login", "correct NEO4J_USER and NEO4J_PASSWORD")
        )
    except (Neo4jError, DriverError, OSError) as error:
        reason = Reason(
            "graph_at_silent",
            "Neo4j at {where} does not answer ({error})",
            where=location,
            error=type(error).__name__,
        )
        return bad(
            SUBJECT,
            reason,
            remedy=Reason(
                "start_graph", "start Neo4j, or correct NEO4J_URI; an empty NEO4J_URI turns the graph off"
            ),
        )
    finally:
        await server.close()
    version = f"{component['version']} {component['edition']}"
    return ok(
        SUBJECT,
        Reason(
            "server_found",
            "{program} {version} at {where}",
            program=component["name"],
            version=version,
            where=location,
        ),
    )
