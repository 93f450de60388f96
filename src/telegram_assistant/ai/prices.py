"""Prices of models: a dated list, packaged or the operator's."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from telegram_assistant.domain.understanding.spending import MILLION, Price
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason

OTHERS = "*"


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sent: Decimal = Field(default=Decimal(0), ge=0)
    received: Decimal = Field(default=Decimal(0), ge=0)


class _File(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, _Line]]

    as_of: date
    unit: str = Field(pattern="^[A-Z]{3}$")


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by provider and model."""

    as_of: date
    unit: str
    lines: Mapping[str, Mapping[str, Price]]

    def price_of(self, provider: str, model: str) -> Price:
        """The price of a model; an unlisted model costs the provider's `*` price,
        or nothing if there is none.
        """
        model_prices = self.lines.get(provider, {})
        return model_prices.get(model) or model_prices.get(OTHERS) or Price()


def read_prices(file: Path | None) -> Prices:
    """Reads the operator's list, or the packaged one. Raises CannotStart if it is invalid."""
    try:
        text = (
            file.read_text(encoding="utf-8")
            if file
            else (files("telegram_assistant.ai") / "prices.toml").read_text(encoding="utf-8")
        )
        read = _File.model_validate(tomllib.loads(text, parse_float=Decimal))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise CannotStart(
            Reason(
                "prices_unreadable",
                "the prices in {file} cannot be read ({error})",
                file=str(file or "prices.toml"),
                error=type(error).__name__,
            ),
            remedy=Reason(
                "correct_prices",
                "Correct AI_PRICES_FILE; src/telegram_assistant/ai/prices.toml shows the form",
            ),
        ) from error
    lines = {
        provider: {
            model: Price(int(line.sent * MILLION), int(line.received * MILLION))
            for model, line in models.items()
        }
        for provider, models in read.__pydantic_extra__.items()
    }
    return Prices(read.as_of, read.unit, lines)
