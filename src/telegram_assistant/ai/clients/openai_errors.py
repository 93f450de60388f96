"""The errors of OpenAI's library as ours."""

from collections.abc import Iterator
from contextlib import contextmanager

import openai

from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed

NO_MONEY, FIRST_SERVER_ERROR = 402, 500


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translates the library's errors into ProviderFailed.

    Omits the server's message, because it may repeat the text.
    """
    try:
        yield
    except openai.RateLimitError as error:
        failure = Failure.NO_MONEY if error.code == "insufficient_quota" else Failure.RATE
        raise ProviderFailed(
            failure, "the server asks to wait", retry_after_seconds=_seconds(error)
        ) from None
    except openai.APIStatusError as error:
        raise ProviderFailed(
            _failure(error.status_code), f"the server answered {error.status_code}"
        ) from None
    except (openai.APITimeoutError, TimeoutError) as error:
        raise ProviderFailed(Failure.LATE, "no answer in time") from error
    except openai.APIConnectionError as error:
        raise ProviderFailed(
            Failure.OUTAGE, f"the server cannot be reached ({type(error.__cause__ or error).__name__})"
        ) from error
    except (openai.OpenAIError, ValueError, TypeError, KeyError) as error:
        raise ProviderFailed(
            Failure.UNUSABLE, f"the server speaks another protocol ({type(error).__name__})"
        ) from None


def _seconds(error: openai.RateLimitError) -> float:
    try:
        return float(error.response.headers.get("retry-after") or 0)
    except ValueError:
        return 0.0


def _failure(status: int) -> Failure:
    if status == NO_MONEY:
        return Failure.NO_MONEY
    return Failure.OUTAGE if status >= FIRST_SERVER_ERROR else Failure.REFUSED
