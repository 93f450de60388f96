"""Vectors in a Qdrant server, for any number of processes."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import urlsplit
from uuid import UUID

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Busy
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import VectorSettings
from telegram_assistant.vectors.filters import AnyOf, Between, PointFilter, filter_for
from telegram_assistant.vectors.protocol import (
    FIELDS,
    OVERSAMPLING,
    PREFIX,
    FieldType,
    Hit,
    Point,
    Space,
    VectorQuery,
    post_id_in,
)

TIMEOUT_SECONDS = 10
RETRY_AFTER_SECONDS = 5.0
SEARCH_PARAMS = models.SearchParams(
    quantization=models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
)


class ServerVectors:
    """The vector store in a Qdrant server; one per process.

    Adds the prefix of this installation to names on the server; callers do not see it.
    """

    def __init__(self, settings: VectorSettings) -> None:
        parts = urlsplit(settings.url)
        self.where = (
            f"Qdrant at {parts.hostname}:{parts.port}" if parts.port else f"Qdrant at {parts.hostname}"
        )
        self._prefix = settings.collection_prefix
        key = settings.api_key.get_secret_value() or None
        with warnings.catch_warnings(
            action="ignore"
        ):  # a key over plain HTTP is the operator's choice; often it does not leave the machine
            self._client = AsyncQdrantClient(
                url=settings.url, api_key=key, timeout=TIMEOUT_SECONDS, check_compatibility=False
            )

    async def close(self) -> None:
        await self._client.close()

    async def collections(self) -> Mapping[str, str | None]:
        with _busy(self.where):
            collection_list = await self._client.get_collections()
            aliases = await self._client.get_aliases()
        own_names = [
            collection.name.removeprefix(self._prefix)
            for collection in collection_list.collections
            if collection.name.startswith(self._prefix + PREFIX)
        ]
        spaces = {
            alias.collection_name.removeprefix(self._prefix): alias.alias_name.removeprefix(self._prefix)
            for alias in aliases.aliases
        }
        return {name: spaces.get(name) for name in own_names}

    async def create(self, space: Space, collection: str) -> None:
        with _busy(self.where):
            if await self._client.collection_exists(self._prefix + collection):
                return
        with _busy(self.where, accepted_status=HTTPStatus.CONFLICT):
            await self._client.create_collection(
                self._prefix + collection,
                vectors_config=models.VectorParams(
                    size=space.dimension, distance=models.Distance.COSINE, on_disk=True
                ),
                quantization_config=models.ScalarQuantization(
                    scalar=models.ScalarQuantizationConfig(
                        type=models.ScalarType.INT8, quantile=0.99, always_ram=True
                    )
                ),
                on_disk_payload=True,
            )
        with _busy(self.where):
            for name, kind in FIELDS.items():
                await self._client.create_payload_index(
                    self._prefix + collection, name, _index_of(kind), wait=True
                )

    async def switch(self, space: Space, collection: str) -> None:
        create = models.CreateAliasOperation(
            create_alias=models.CreateAlias(
                collection_name=self._prefix + collection, alias_name=self._prefix + space.name
            )
        )
        with _busy(self.where):
            await self._client.update_collection_aliases([create])

    async def drop(self, collection: str) -> None:
        with _busy(self.where, accepted_status=HTTPStatus.NOT_FOUND):
            await self._client.delete_collection(self._prefix + collection)

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        sent_points = [
            models.PointStruct(
                id=str(point.post_id.uuid), vector=list(point.vector), payload=dict(point.payload)
            )
            for point in points
        ]
        with _busy(self.where, accepted_status=HTTPStatus.NOT_FOUND):
            await self._client.upsert(self._prefix + collection, sent_points, wait=True)

    async def delete(self, collection: str, post_ids: Sequence[PostId]) -> None:
        if post_ids:
            with _busy(self.where, accepted_status=HTTPStatus.NOT_FOUND):
                await self._client.delete(
                    self._prefix + collection, [str(post_id.uuid) for post_id in post_ids], wait=True
                )

    async def search(self, space: Space, query: VectorQuery) -> tuple[Hit, ...]:
        if query.reaches_nothing:
            return ()
        points: list[models.ScoredPoint] = []
        with _busy(self.where, accepted_status=HTTPStatus.NOT_FOUND):
            response = await self._client.query_points(
                self._prefix + space.name,
                query=list(query.vector),
                query_filter=_filter(filter_for(query)),
                limit=query.limit,
                with_payload=False,
                search_params=SEARCH_PARAMS,
            )
            points = response.points
        return tuple(Hit(post_id_in(UUID(str(point.id))), point.score) for point in points)

    async def count(self, collection: str) -> int:
        count_result = models.CountResult(count=0)
        with _busy(self.where, accepted_status=HTTPStatus.NOT_FOUND):
            count_result = await self._client.count(self._prefix + collection, exact=True)
        return count_result.count


@contextmanager
def _busy(where: str, *, accepted_status: HTTPStatus | None = None) -> Iterator[None]:
    """Translates errors into Busy.

    The status `accepted_status` counts as success; a bad request is a bug and is raised unchanged.
    """
    try:
        yield
    except UnexpectedResponse as error:
        if error.status_code == accepted_status:
            return
        if error.status_code == HTTPStatus.BAD_REQUEST:
            raise
        raise Busy(
            Reason(
                "vectors_refuse",
                "{where} refuses the request ({status} {reason})",
                where=where,
                status=error.status_code or 0,
                reason=error.reason_phrase,
            ),
            retry_after_seconds=RETRY_AFTER_SECONDS,
        ) from error
    except (ApiException, QdrantException, OSError, TimeoutError) as error:
        raise Busy(
            Reason(
                "vectors_silent", "{where} does not answer ({error})", where=where, error=type(error).__name__
            ),
            retry_after_seconds=RETRY_AFTER_SECONDS,
        ) from error


def _filter(conditions: PointFilter | None) -> models.Filter | None:
    if conditions is None:
        return None
    return models.Filter(
        must=[_condition(condition) for condition in conditions.must] or None,
        must_not=[_condition(condition) for condition in conditions.must_not] or None,
        should=[
            point_filter
            for alternative in conditions.either
            if (point_filter := _filter(alternative)) is not None
        ]
        or None,
    )


def _condition(condition: AnyOf | Between) -> models.FieldCondition:
    match condition:
        case AnyOf():
            return models.FieldCondition(key=condition.field, match=models.MatchAny(any=condition.listed))
        case Between():
            return models.FieldCondition(
                key=condition.field, range=models.Range(gte=condition.since, lt=condition.until)
            )


def _index_of(kind: FieldType) -> models.IntegerIndexParams | models.KeywordIndexParams:
    match kind:
        case FieldType.NUMBER:
            return models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=False)
        case FieldType.MOMENT:
            return models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True)
        case FieldType.WORD:
            return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)
