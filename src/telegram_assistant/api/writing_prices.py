"""The price of a text that a provider writes, in responses."""

from telegram_assistant.ai.tenant_questions import WritingOffer
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.features.understanding.provider_texts import WritingPrice, price_of

OFFER_EXAMPLE = {
    "offer": {
        "provider": "gigachat",
        "model": "GigaChat-2",
        "unit": "RUB",
        "highest_micro": 2720000,
        "spent_micro": None,
    }
}


class WritingPriceResponse(ResponseModel):
    """The maximum and the actual cost of a provider's text, in millionths of `unit`.

    `spent_micro` is null until it is known.
    """

    provider: str
    model: str
    unit: str
    highest_micro: int
    spent_micro: int | None


class OfferResponse(ResponseModel):
    """`offer` is null if no provider may write: none is configured, the owner has not consented,
    or no post may be sent. Then nothing is paid.
    """

    offer: WritingPriceResponse | None


def price_response(price: WritingPrice) -> WritingPriceResponse:
    return WritingPriceResponse(
        provider=price.provider,
        model=price.model,
        unit=price.unit,
        highest_micro=price.highest_micro,
        spent_micro=price.spent_micro,
    )


def offer_response(offer: WritingOffer | None) -> OfferResponse:
    return OfferResponse(offer=None if offer is None else price_response(price_of(offer)))
