"""Classifies posts by signs: an advertisement carries marks that law or trade require, an opinion says `I`.

Signs are matched against the lower-case words of a text, with one space between and around them.
"""

import re
from collections.abc import Sequence

from telegram_assistant.ai.local.paid_links import MAX_ADDRESSES, has_paid_link, has_short_link
from telegram_assistant.ai.local.selling import is_selling
from telegram_assistant.domain.understanding.policy import PostSort

_AD_MARK = re.compile(
    r"\berid\b|(?:^|\n|[.#]\s?)реклама(?=\s*(?:$|\n|[.:,|]|(?:ооо|ип|ао|пао|оао|зао)\b))|"
    r"#(?:реклама|ad|sponsored|промо)\b|на правах рекламы|"
    r"информаци\w+ о рекламодател|(?:^|\n)\W{0,3}рекламодатель(?:\s*[:—–-]|\s+(?:ооо|ип|ао|пао|оао|зао)\b)|"
    r"\bsponsored\b|paid partnership|(?:^|\n)\W{0,3}(?:ad|advertisement|promo)\b\W",
)
"""One mark suffices."""
_AD_HINTS = ("erid", "реклам", "sponsored", "#ad", "ad:", "промо", "promo", "partnership", "advertisement")
"""A text without any of these has no mark; checked first because it is faster."""
_AD_SIGNS = (
    (" промокод", " promo code", " promocode", " use code ", " купон ", " coupon "),
    (" скидк", " discount", " распродаж", " sale ", " акция действует", " выгодн", " кэшбэк", " кешбэк"),
    (
        " заказать ",
        " закажите ",
        " купить сейчас",
        " оформить карт",
        " оформите ",
        " buy now",
        " order now",
        " order today",
        " shop now",
        " жми ",
    ),
    (
        " по ссылке ",
        " ссылка в описании",
        " ссылка в профиле",
        " link below ",
        " link in bio",
        " click here",
    ),
    (
        " успей ",
        " успейте ",
        " только сегодня ",
        " только до конца",
        " количество мест",
        " limited time",
        " limited offer",
        " don t miss",
        " hurry ",
    ),
    (
        " записывайтесь ",
        " запишитесь ",
        " записаться на ",
        " зарегистрируйтесь",
        " регистрация по ",
        " sign up ",
        " register now",
        " register free",
    ),
    (
        " бесплатная доставка",
        " бесплатный урок",
        " бесплатный вебинар",
        " бесплатная консультация",
        " free shipping",
        " free trial",
        " free delivery",
    ),
    (
        " наш партнёр",
        " наш партнер",
        " партнёрский материал",
        " our partner",
        " special offer",
        " спецпредложение",
    ),
)
"""Signs of selling, by kind; signs of two kinds suffice."""
_ENOUGH_SIGNS = 2
_GIVEAWAY = (
    (
        (" розыгрыш", " разыгрыва"),
        (" участв", " поучаств", " участия ", " участие ", " подпи", " условия "),
        (" подпишит", " подпишись", " итоги ", " победител", " приз"),
    ),
    (
        (" giveaway", " giving away ", " give away ", " raffle", " prize draw"),
        (" subscribe ", " join ", " take part ", " to enter ", " follow "),
        (" winner", " prize", " drawn "),
    ),
)
"""Signs of a giveaway in two languages; it has one of each kind."""
_OPINIONS = (
    *(
        f" я {verb} "
        for verb in (
            "думаю",
            "считаю",
            "уверен",
            "уверена",
            "убеждён",
            "убежден",
            "бы",
            "верю",
            "полагаю",
            "подозреваю",
            "не понимаю",
        )
    ),
    *(
        " мне кажется ",
        " на мой взгляд ",
        " по-моему ",
        " по моему мнению ",
        " моё мнение ",
        " мое мнение ",
        " лично я ",
        " лично мне ",
        " имхо ",
    ),
    *(
        " честно говоря ",
        " как по мне ",
        " согласитесь ",
        " спорное мнение ",
        " авторская колонка ",
        " признаюсь ",
        " хочется верить ",
    ),
    *(
        f" i {verb} "
        for verb in (
            "think",
            "believe",
            "feel",
            "guess",
            "doubt",
            "would",
            "wonder",
            "suspect",
            "don t think",
            "hope",
        )
    ),
    *(
        " in my opinion ",
        " in my view ",
        " in my experience ",
        " imho ",
        " my take ",
        " my guess ",
        " my view ",
        " my opinion ",
        " personally ",
    ),
    *(" honestly ", " frankly ", " unpopular opinion ", " op-ed ", " let s be honest ", " if you ask me "),
)
_QUESTIONS = (
    " как думаете ",
    " как вы думаете ",
    " как считаете ",
    " что думаете ",
    " что вы думаете ",
    " а вы ",
    " what do you think ",
    " would you ",
    " do you ",
)
MAX_CHARACTERS = 4_000


def has_ad_marks(text: str, words: str, addresses: Sequence[str] = ()) -> bool:
    """Whether a post is advertising: by a mark in its text or in an address, as a giveaway, by a seller's
    voice, or by two kinds of selling signs. An address that hides its page is such a sign.
    """
    beginning = text[:MAX_CHARACTERS].casefold()
    if any(hint in beginning for hint in _AD_HINTS) and _AD_MARK.search(beginning):
        return True
    addresses = addresses[:MAX_ADDRESSES]
    if has_paid_link(addresses) or _is_giveaway(words) or is_selling(beginning):
        return True
    signs = sum(any(sign in words for sign in signs) for signs in _AD_SIGNS)
    return signs >= _ENOUGH_SIGNS or (signs + 1 >= _ENOUGH_SIGNS and has_short_link(addresses))


def _is_giveaway(words: str) -> bool:
    """Whether readers are called to do something for a prize; news of a prize draw calls nobody."""
    return any(all(any(sign in words for sign in signs) for signs in kind) for kind in _GIVEAWAY)


def classify_post(text: str, words: str, *, is_service: bool, is_ad: bool) -> PostSort:
    if is_service:
        return PostSort.SERVICE
    if is_ad:
        return PostSort.ADVERTISING
    if any(sign in words for sign in _OPINIONS) or (
        "?" in text and any(sign in words for sign in _QUESTIONS)
    ):
        return PostSort.OPINION
    return PostSort.NEWS
