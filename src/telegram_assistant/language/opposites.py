"""Words that must not be taken for each other: opposites, and degrees such as injured and killed.

And words that negate.
"""

from functools import cache

from telegram_assistant.language.parsed_text import readings_of

_PAIRS = """
открыть открытый открываться открыться открытие /
 закрыть закрытый закрываться закрыться закрытие перекрыть перекрытый
вырасти расти рост увеличить увеличиться увеличение повысить повыситься повышение подняться поднять прибавить
 подорожать /
 упасть падение снизить снизиться снижение уменьшить уменьшиться сократить сократиться сокращение опуститься
 потерять подешеветь
начать начаться начало старт запустить запуск /
 закончить закончиться завершить завершиться остановить остановиться прекратить прекратиться отменить
победить победа выиграть обыграть / проиграть поражение уступить
погибнуть погибший умереть смерть жертва убить убитый /
 пострадать пострадавший ранить раненый ранение травма выжить живой уцелеть спасти
арестовать задержать задержание арест посадить / отпустить освободить оправдать
согласиться согласие поддержать одобрить одобрение утвердить разрешить разрешение /
 отказать отказаться отказ отклонить запретить запрет отвергнуть
подтвердить подтверждение / опровергнуть опровержение отрицать
найти нашлись обнаружить / потерять исчезнуть пропасть
купить покупка приобрести / продать продажа
построить строительство восстановить / снести разрушить разрушение демонтировать
бесплатный бесплатно / платный
больше более свыше / меньше менее
первый / последний
раньше досрочно / позже опоздание
быстрый быстро / медленный медленно
дорогой дорого / дешевый дешево
прибыль доход / убыток потеря
холодный похолодание мороз / теплый потепление жара
новый / старый
принять прием / уволить увольнение
включить / отключить выключить
легкий / тяжелый
успех успешный успешно / провал неудача неудачный
мужчина / женщина
утро утром / вечер вечером
север северный / юг южный
запад западный / восток восточный
вход войти / выход выйти
добавить прибавить / убрать удалить
ускорить ускориться / замедлить замедлиться затянуться затягиваться
вернуть вернуться / забрать уехать
хороший хорошо / плохой плохо
высокий / низкий
безопасный / опасный
частный / государственный
известный известно / неизвестный неизвестно
отец / мать
безработица / занятость
полный / пустой
open reopen opened opening / close shut closed closing closure
rise grow increase gain climb up higher growth more above /
 fall drop decline decrease shrink down lower cut less below
begin start launch / end finish stop halt cancel complete
win beat victory defeat / lose loss
die dead kill killed death fatal / injure injured hurt wound survive alive unhurt
arrest detain jail / release free acquit
agree approve accept allow permit support back / refuse reject decline forbid ban oppose deny
confirm / deny refute
find found / lose lost miss missing disappear
buy purchase acquire / sell sold sale
build construct restore repair / demolish destroy
free / paid
first / last
early earlier ahead / late later delayed behind
fast faster quickly quick / slow slower slowly
expensive / cheap cheaper
profit / loss
cold colder frost / warm warmer heat hot
new / old
hire / fire dismiss
many / few
success successful succeed / failure fail failed
man men / woman women
morning / evening night
north northern / south southern
west western / east eastern
arrive enter / leave depart exit
add / remove
light mild / heavy severe
good well / bad poorly
high / low
safe / dangerous unsafe
private / public
known / unknown
always / never
before / after
full / empty
открывать открытие приоткрыть распахнуть возобновить возобновлять разблокировать /
 закрывать перекрывать запереть заблокировать блокировать
дорожать дороже подняться подниматься поднимать повышать увеличивать увеличиваться возрастать возрасти
 подскочить взлететь прирасти укрепиться плюс /
 дешеветь дешевле падать снижать снижаться понизить понижать уменьшать уменьшаться сокращать сокращаться
 опускаться рухнуть обвалиться просесть минус
начинать начинаться стартовать запускать назначить провести состояться /
 заканчивать заканчиваться завершать останавливать прекращать отменять сорвать
побеждать выигрывать обыгрывать победитель / проигрывать уступать проигравший
погибать умирать гибель скончаться мертвый / страдать травмировать невредимый здоровый живой выживать
арестовывать задерживать осудить / отпускать освобождать оправдывать
соглашаться поддерживать одобрять утверждать разрешать принять /
 отказывать отказываться отклонять запрещать отвергать
подтверждать / опровергать отрицать
находить находиться обнаруживать отыскать найтись / терять потеряться исчезать пропадать пропажа
покупать приобретать / продавать распродать
строить строиться возводить возвести восстанавливать / сносить разрушать демонтировать
заработать зарабатывать получить получать привлечь / потерять терять лишиться утратить
посадить высадить сажать / вырубить срубить выкорчевать
нанять нанимать / уволить увольнять сократить
включать подключить подключать / отключать выключать
ускорять / замедлять затягивать
большой больший крупный / маленький малый меньший мелкий
сильный сильно / слабый слабо
длинный долгий / короткий недолгий
богатый / бедный
друг союзник / враг противник
атаковать нападать нападение / защищать оборона обороняться
впервые / снова повторно
разрешенный легальный законный / запрещенный нелегальный незаконный
виновный / невиновный
добровольно / принудительно
внутри / снаружи
приехать приехать прибыть прийти / уехать уйти покинуть
вернуть возвращать / отнять отбирать
объединить объединиться / разделить разделиться
вступить / выйти
поддержка / критика
похвалить хвалить / ругать критиковать раскритиковать
рекорд рекордный / минимум минимальный
максимум максимальный / минимум минимальный
прибыльный / убыточный
дефицит / избыток профицит
доверять / подозревать
reopened resume resumed unblock / blocked block barred
dear dearer costlier surge soar jump jumped rally plus rose risen raise raised increase gained
 / cheap cheaper plunge slump tumble slip minus fell fallen
 reduce reduced lowered cut
started launched hold held scheduled / ended finished stopped halted cancelled scrapped postponed
beaten defeated winner won / lost loser
dead died killed deadly / injured wounded survived unharmed alive
arrested detained convicted / released freed acquitted
agreed approved accepted allowed backed / refused rejected banned opposed blocked
discovered recovered / lost vanished missing
bought acquired / sold
built rebuilt restored / demolished destroyed
earned received won raised / lost forfeited
plant planted / felled cut
hired / fired dismissed sacked
large larger big bigger / small smaller little
strong stronger / weak weaker
long longer / short shorter
rich / poor
ally friend / enemy rival
attack attacked / defend defended
legal lawful / illegal unlawful
guilty / innocent
inside / outside
join joined / quit left
praise praised / criticise criticised
maximum / minimum
most / least
profit profitable / loss unprofitable
shortage deficit / surplus
voluntary / compulsory
win wins / lose loses
"""
_NEGATIONS = """
не ни нет без никто ничто ничего никакой никогда нельзя
not no never none nobody nothing without neither nor cannot
"""
NEGATIONS = frozenset(_NEGATIONS.split())
NEGATED_ENDING = "n't"


@cache
def _sides() -> dict[str, frozenset[str]]:
    opposite: dict[str, set[str]] = {}
    for line in _PAIRS.replace("\n ", " ").strip().splitlines():
        left_forms, right = (
            {form for word in side.split() for form in readings_of(word)} for side in line.split("/")
        )
        for words, other in ((left_forms, right), (right, left_forms)):
            for word in words:
                opposite.setdefault(word, set()).update(other)
    return {word: frozenset(others) for word, others in opposite.items()}


def opposites_of(readings: frozenset[str]) -> frozenset[str]:
    """The dictionary forms that mean the contrary, or another degree, of a word with these readings."""
    sides = _sides()
    return frozenset(other for reading in readings for other in sides.get(reading, ()))
