"""Changes that are performed once, however often the same request comes."""

from collections.abc import Awaitable, Callable

from telegram_assistant.stores.postgres.tenants.idempotency import Idempotency, StoredResponse


async def perform_once[T](
    perform: Callable[[], Awaitable[T]],
    *,
    key: str,
    request: bytes,
    seconds: float,
    idempotency: Idempotency,
    response_of: Callable[[T], StoredResponse | None],
) -> T | StoredResponse:
    """Performs a change, or returns the response that was stored when it was performed before.

    `request` is the hash of the request; another one with the same key raises Conflicting. `response_of` says
    what to store; None: nothing was changed, and the key may be used again. `seconds` is how long the
    change may take.
    """
    earlier_response = await idempotency.take(key, request, seconds=seconds)
    if earlier_response is not None:
        return earlier_response
    try:
        result = await perform()
    except BaseException:
        await idempotency.give_back(key)
        raise
    response = response_of(result)
    if response is None:
        await idempotency.give_back(key)
    else:
        await idempotency.keep(key, response)
    return result
