"""Words that carry grammar rather than meaning, by language: left out of questions and of lengths.

Short lists on purpose: articles, pronouns, prepositions, conjunctions, auxiliary and question words. A language
without a list is served by rarity alone (BM25 weighs its frequent words down anyway).
"""

from __future__ import annotations

_LISTS = {
    "en": """a about above after again against all also am an and any are as at be because been before being below
        between both but by can could did do does doing down during each few for from further had has have having he
        her here hers him his how i if in into is it its itself just me more most my no nor not of off on once only or
        other our out over own same she should so some such than that the their them then there these they this those
        through to too under until up very was we were what when where which while who whom why will with would you
        your""",
    "de": """aber als am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den denn der des dessen
        deren die dies diese dieser dieses diesem diesen dir doch dort du durch ein eine einem einen einer eines er es
        euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem
        ihren ihrer ihres im in indem ins ist ja jede jedem jeden jeder jedes jene jenem jenen jener jenes kann kein
        keine keinem keinen keiner können könnte man mein meine mich mir mit muss nach nicht noch nun nur ob oder ohne
        sehr sein seine seinem seinen seiner seines selbst sich sie sind so solche soll sollte sondern sonst über um
        und uns unser unter viel viele vom von vor wann war waren warum was weil welche welchem welchen welcher welches
        wem wen wenn wer werde werden wessen wie wieder will wir wird wirst wo wurde wurden wäre würde würden zu zum
        zur zwar zwischen""",
    "fr": """à au aux avec ce ces cet cette dans de des du elle elles en est et été étaient était eu il ils je la le les
        leur leurs lui ma mais me mes mon ne nos notre nous on ont ou où par pas pour qu quand que quel quelle quelles
        quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tu un une vos votre vous y""",
    "es": """a al ante como con contra cual cuales cuando cuándo de del desde donde dónde el él ella ellas ellos en
        entre era eran es esa esas ese eso esos esta está están estas este esto estos fue fueron ha han hasta hay la
        las le les lo los más me mi mis muy no nos o para pero por porque qué que quien quién quienes se ser si sin
        sobre son su sus también tu tus un una uno unos y ya yo""",
    "it": """a ad agli ai al alla alle allo anche c che chi ci come con cosa cui da dagli dai dal dalla dalle dei del
        della delle dello di dove e è ed era erano essere fu gli ha hanno i il in io l la le lei lo loro lui ma mi ne
        nei nel nella nelle nello noi non o per perché più quale quali quando quanto quello questa questi questo se si
        sono su sua sue sui sul sulla suo suoi un una uno voi""",
    "pt": """a à ao aos as às com como da das de do dos e é ela elas ele eles em entre era eram essa esse esta está
        este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas no nos nós o os ou para
        pela pelo por porque qual quais quando que quem são se seu seus sua suas também te tem um uma você""",
    "nl": """aan al als bij dan dat de den der deze die dit door een en er ge had heb hebben heeft hem het hij hoe hun
        ik in is ja je kan maar me meer men met mijn na naar niet nog nu of om omdat onder ons ook op over te tot uit
        van veel voor waar wanneer want waren was wat we welke werd wie wij worden wordt zal ze zich zij zijn zo""",
    "sv": """alla att av då de den denna det detta dig din du där efter ej eller en ett från för ha hade han har hon hur
        här i icke inte ja jag kan man med men mig min mot när och om oss på sig sin ska som till under upp ut vad var
        vi vid vilka vilken vilket är över""",
    "da": """af alle at da de dem den denne der det dette dig din du efter eller en er et for fra før ha han har havde
        hun hvad hvem hvilken hvis hvor hvordan hvornår i ikke ind ja jeg kan man med men mig min når og også om op os
        på sig sin skal som til ud under var ved vi vil være""",
    "ru": """а без бы был была были было в вам вас во вот все всё вы где да для до его ее её если есть еще ещё же за и
        из или им их к как какая какие какой когда кто ли мне мы на над не него нет ни но ну о об он она они оно от по
        под при с со так такой там то того тоже только тот ты у уже чем что чтобы эта эти это этот я""",
}

STOP_WORDS: dict[str, frozenset[str]] = {lang: frozenset(words.split()) for lang, words in _LISTS.items()}
