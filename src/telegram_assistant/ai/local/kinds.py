"""What a post is, by its signs: an advertisement carries marks that the law or the trade asks for, an opinion says `I`."""

import re

from telegram_assistant.ai.outputs import PostSort

_AD_MARK = re.compile(
    r"\berid\b|(?:^|\n|[.#]\s?)реклама\b|#(?:реклама|ad|sponsored|промо)\b|на правах рекламы|рекламодател|"
    r"\bsponsored\b|\bpaid partnership\b|(?:^|\n)\W{0,3}(?:ad|advertisement|promo)\b\W",
    re.IGNORECASE,
)
"""One is enough."""
_AD_SIGNS = tuple(
    re.compile(sign, re.IGNORECASE)
    for sign in (
        r"промокод|promo ?code|use code|купон\b|coupon",
        r"скидк|discount|\b\d{1,2} ?% off\b|распродаж|\bsale\b|акци[яи] действует|выгодн",
        r"заказать|купить сейчас|оформ(?:и|ить|ите) (?:заказ|карт|заявк)|buy now|order (?:now|today|yours)|shop now|жми(?:те)?\b",
        r"переходи(?:те)? по ссылке|ссылк[аеу] в (?:описании|профиле|шапке)|link in bio|click (?:here|the link)|по ссылке (?:ниже|👇)",
        r"успей(?:те)?\b|только (?:сегодня|до конца)|количество мест|limited (?:time|offer)|don.t miss|places? left|hurry",
        r"запис(?:аться|ывайтесь|ывайся|ь)\b (?:на|по|к)|регистр(?:ируйтесь|ируйся|ация) (?:по|на|бесплатн)|sign up|register (?:now|free)",
        r"бесплатн(?:ая|ый|ое|о) (?:доставк|урок|вебинар|консультаци|курс)|free (?:shipping|trial|delivery|lesson|webinar)",
        r"(?:от|всего|за) \d[\d ]*(?:₽|руб)|(?:from|only|just) [$€£]\d",
        r"подписывай(?:ся|тесь) на канал|наш партн[её]р|our partner",
    )
)
_ENOUGH_SIGNS = 2
_OPINION = re.compile(
    r"\b(?:я (?:думаю|считаю|уверен|убежд[её]н|бы|верю|полагаю|не понимаю)|мне кажется|на мой взгляд|по-моему|по моему мнению|мо[её] мнение|"
    r"лично я|честно говоря|имхо|как по мне|согласитесь|спорное мнение|колонка|авторское мнение)\b|"
    r"\b(?:i (?:think|believe|feel|guess|doubt|would|wonder|suspect|don.t think)|in my (?:opinion|view|experience)|imho|personally|"
    r"my (?:take|guess|view|opinion)|honestly|frankly|unpopular opinion|op-ed|let.s be honest)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:как (?:вы )?(?:думаете|считаете)|что (?:вы )?думаете|а вы\b[^.!]{0,80}|what do you think|(?:would|do) you\b[^.!]{0,80})\?",
    re.IGNORECASE,
)
MOST_CHARACTERS = 4_000


def has_ad_marks(text: str) -> bool:
    """Advertising, by its mark or by two signs of selling."""
    text = text[:MOST_CHARACTERS]
    return _AD_MARK.search(text) is not None or sum(sign.search(text) is not None for sign in _AD_SIGNS) >= _ENOUGH_SIGNS


def sort_of(text: str, *, is_service: bool, is_ad: bool) -> PostSort:
    if is_service:
        return PostSort.SERVICE
    if is_ad:
        return PostSort.ADVERTISING
    beginning = text[:MOST_CHARACTERS]
    return PostSort.OPINION if _OPINION.search(beginning) or _ASKING.search(beginning) else PostSort.NEWS
