"""Recognises advertising by the voice of a seller: own business, shops, banks, contests."""

import re
from dataclasses import dataclass

_MONEY = r"\d[\d\s\u00a0]*(?:тыс\w*\.?\s?)?(?:₽|руб\w*|р\b|\$|€)"
_HIRING = re.compile(
    r"\b(?:мы ищем|ищем в (?:нашу )?команду|жд[её]м (?:вас|тебя) в (?:нашей )?команд|"
    r"присоединиться к (?:нашей|своей) "
    r"команд|присоединяйтесь к нашей команд|приглашаем в (?:нашу )?команду|we(?: are|['’]re) hiring|"
    r"join our team)"
)
_JOB = re.compile(
    r"\bваканси[ийяюе]|\bстажиров[ок]|\bфултайм|\bрезюме\b|\bоткликнуться\b|\bjob openings?\b|\bvacanc|"
    r"\bapply\b|\bcv\b"
)
_OWN_ADS = re.compile(
    r"(?:у нас|в наших? канал\w*|в нашем канале) (?:\w+ |\([^)]*\) ){0,4}(?:купить|заказать|"
    r"разместить) рекламу|"
    r"(?:купить|заказать|разместить) рекламу (?:у нас|в наш)|advertise with us|buy (?:an )?ads? (?:here|"
    r"with us)"
)
_OWN_PRICES = re.compile(
    r"мы снизили цены|мы дарим скидк|(?:^|\s)[-–−]?\s?\d{1,2}\s?% на (?:\w+ ){0,2}(?:курс|подписк|"
    r"обучени|заказ)|"
    r"на (?:все )?наши курсы|\bскидк\w+ \d{1,2}\s?% на (?:один из )?наш|(?:off|discount on) (?:all )?our "
)
_TWO_PRICES = re.compile(
    rf"{_MONEY}\s*\(?(?:вместо|instead of)\s+\$?\d|\d{{3,}}\s?(?:₽|руб\w*)\s{{1,3}}\d[\d ]{{3,}}\s?(?:₽|"
    rf"руб)"
)
_COURSE = re.compile(r"\b(?:курс|вебинар|интенсив|обучени|подписк|урок)|\b(?:course|lesson|webinar)")
_SIGN_UP = re.compile(
    r"оставляйте заявку|оставить заявку|начать (?:курс|обучение)|"
    r"регистрация (?:тут|здесь|открыта|обязательна|по)|регистрируйся|регистрируемся|регистрируйтесь|"
    r"зарегистрироваться "
    r"(?:можно|нужно)|register (?:here|now|at)|registration is required"
)
_EVENT = re.compile(r"\b(?:жд[её]м вас|приглашаем|приходите|присоединяйтесь|join us|we invite you)\b")
_CONTEST = re.compile(r"\bрозыгрыш|\bразыгрыва|\bразыграем|\bконкурс|\bgiveaway|\braffle")
_OWN_CONTEST = re.compile(
    r"напоминаем (?:вам )?(?:про|о)\b|\bнапомню\b|\bдо итогов\b|участвуйте в (?:розыгрыше|конкурсе)|"
    r"мы дарим|"
    r"^\W*дарим\b|\n\W*дарим\b|(?:провести|проводим|запускаем|устраиваем) (?:\w+ ){0,2}(?:розыгрыш|"
    r"конкурс)|"
    r"наш\w* (?:\w+ )?(?:розыгрыш|конкурс)|у нас (?:\w+ )?(?:розыгрыш|конкурс)|our giveaway|a reminder of"
)
_PRIZE = re.compile(
    r"подпис(?:аться на (?:этот|наш|канал)|ывайтесь|ок)\b|\bподар(?:ить|им|ок)|\bприз|\bвыигра|"
    r"\bподробност|\bпобедител|"
    r"\bитог|\bдля участия|\biphone\b|\bнаушник|\bсмартфон|\bprize|\bwin\b|\bsubscribe\b"
)
_BOOST = re.compile(r"проголосуйте за (?:наш )?канал|голосуйте за наш канал|boost (?:our|this) channel")
_SISTER = re.compile(
    r"подпишитесь на (?:наши|наш|другие|эти|\w+) (?:\w+ ){0,2}каналы|follow our other channels"
)
_BET = re.compile(r"фрибет|freebet|free bet")
_BET_CALL = re.compile(r"\b(?:забирай|забрать|получи|бонус\w* для новых|промокод|ставь|claim|promo code)")
_SHOP_VOICE = re.compile(
    r"подробност\w+ (?:на сайте|по ссылке|в приложении)|подробнее на сайте|заказ на сайте|узнать подробнее|"
    r"билеты на сайте|выгодные цены|по (?:самой )?(?:выгодной|специальной) цене|по доступной цене|"
    r"спешите|успейте|торопитесь|details on (?:the|our) (?:web)?site|at a special price|shop now"
)
_PRAISE = re.compile(
    r"надёжн\w+ помощник|надежн\w+ помощник|создан\w* для тех|идеальн\w+ (?:подарок|выбор)|"
    r"яркий экран|большой экран|ярким экраном|быстрая зарядка|комфортн\w+ (?:просмотр|шопинг)|порадуйте|"
    r"оцените\b|ваш \w+ помощник|отличн\w+ подарок|made for those|your reliable"
)
_OFFER = re.compile(
    r"можно купить (?:за|всего)|купить за \d|за \d[\d ]* ?₽|скидк\w+ до \d|действуют (?:скидки|выгодные)|"
    r"\d+ за \d+ (?:₽|руб)|по промокоду|в продаже|for only \$"
)
_CLIENT = re.compile(
    r"уважаемые (?:клиенты|покупатели|гости)|наши(?:х|м)? клиент|для новых клиентов|повышаем ставк|"
    r"снижаем ставк|"
    r"с нами вы|dear (?:customers|clients)|our customers"
)
_BANK_OFFER = re.compile(
    r"\d\s?% годовых|открыть (?:\w+ )?(?:можно|вклад|счёт|карту)|оформить (?:\w+ )?(?:можно|карту|"
    r"вклад)|максимальн\w+ "
    r"(?:доход|выгод)|получайте|рекомендуем обновить|программ\w+ лояльности|% (?:a|per) year"
)
_APP = re.compile(r"\bскачай(?:те)?\b|download the app")
_STORES = re.compile(
    r"для ios\b[\s\S]{0,200}для android|app store[\s\S]{0,60}google play|for ios\b[\s\S]{0,80}for android"
)
_SISTER_HANDLES = re.compile(r"@\w{4,}.*@\w{4,}", re.DOTALL)
MAX_CHARACTERS = 2_000
"""Sellers are brief; a longer text is read to here."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Signs that are advertising together."""

    hints: tuple[str, ...]
    """A text without any of these cannot have the signs; checked first because it is faster."""
    signs: tuple[re.Pattern[str], ...]


_COURSES = ("курс", "вебинар", "интенсив", "подписк", "course", "lesson")
_PRICES = ("снизили цены", "скидк", "% на ", " off ", "discount on")
_CONTESTS = ("розыгр", "разыгр", "конкурс", "giveaway", "raffle")
_SHOPS = (
    "подробн", "на сайте", "выгодн", "специальной цене", "доступной цене", "спешите", "успейте", "торопитесь",
    "site", "special price", "shop now",
)  # fmt: skip
_PRAISES = (
    "помощник",
    "создан",
    "экран",
    "зарядка",
    "подар",
    "выбор",
    "порадуйте",
    "оцените",
    "made for",
    "reliable",
)
_CLIENTS = ("клиент", "уважаемые", "ставк", "с нами вы", "customers", "dear clients")
_RULES = (
    _Rule(("ищем", "команд", "приглашаем в", "hiring", "our team"), (_HIRING, _JOB)),
    _Rule(("рекламу", "advertise with us", "buy a", "buy ads"), (_OWN_ADS,)),
    _Rule(_PRICES, (_OWN_PRICES, _COURSE)),
    _Rule(_PRICES, (_OWN_PRICES, _SIGN_UP)),
    _Rule(_COURSES, (_TWO_PRICES, _COURSE)),
    _Rule(
        ("ждём", "ждем", "приглаш", "приходите", "присоединяйтесь", "join us", "invite you"),
        (_EVENT, _SIGN_UP),
    ),
    _Rule(_CONTESTS, (_CONTEST, _OWN_CONTEST, _PRIZE)),
    _Rule(("голосуйте за", "boost"), (_BOOST,)),
    _Rule(("фрибет", "freebet", "free bet"), (_BET, _BET_CALL)),
    _Rule(_SHOPS, (_SHOP_VOICE, _PRAISE)),
    _Rule(_SHOPS, (_SHOP_VOICE, _OFFER)),
    _Rule(_PRAISES, (_PRAISE, _OFFER)),
    _Rule(_CLIENTS, (_CLIENT, _BANK_OFFER)),
    _Rule(_CLIENTS, (_CLIENT, _OFFER)),
    _Rule(("скача", "download the app"), (_APP, _STORES)),
    _Rule(("подпишитесь на", "follow our other"), (_SISTER, _SISTER_HANDLES)),
)


def is_selling(text: str) -> bool:
    """Whether a text in lower case sells something in the voice of its seller, and not as news about him."""
    beginning = text[:MAX_CHARACTERS]
    return any(
        any(hint in beginning for hint in rule.hints) and all(sign.search(beginning) for sign in rule.signs)
        for rule in _RULES
    )
