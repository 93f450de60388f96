"""Words that say nothing about what a text is about."""

_RUSSIAN = """
без более больше будет будто буду будем был была были было быть вам вас вдруг ведь весь вместо вот впрочем все всё всегда всего всей
всех всю вся где год года году годы да даже для до другой его ее её ей ему если есть еще ещё же за зачем здесь из или им иногда их
каждый как какая какой когда конечно кто куда лишь лучше между меня мне много может можно мой моя мы на над надо наконец нас наш не него
нее ней нельзя нет ни нибудь никогда ним них ничего но ну об один он она они оно опять от очень перед по под после потом потому почти при
про раз разве сам самый свой своя себе себя сейчас со совсем так такая такой там тебя тем теперь то тогда того тоже только том тот три
тут ты тысяча уж уже хоть хотя чего чей чем через что чтоб чтобы чуть эта эти это этого этой этом этот эту который которая
которые также время день человек сегодня вчера завтра подписаться канал новость пост читать
"""
_ENGLISH = """
about above after again against all also although always among and another any are around because been before being below between both
but can cannot could did does doing down during each either else ever every few for from further get got had has have having her here hers
herself him himself his how however into its itself just least less like made make many may might more most much must myself near never
new news nor not now off often once one only onto other our ours out over own people per post rather read really said same say says she
should since some still such than that the their theirs them then there these they thing this those though through thus time today
together too toward two under until upon use used very via was way week well were what when where whether which while who whom whose why
will with within without would year yes yet yesterday you your yours subscribe channel
"""
STOP_WORDS = frozenset((_RUSSIAN + _ENGLISH).split())
