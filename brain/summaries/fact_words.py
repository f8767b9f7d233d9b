"""The words by which facts are recognised: months, units, cues of a decision, ordinary words."""

import re
from typing import Final

from kds.brain.words.period import MONTHS as NAMES_OF_MONTHS

_SHORT_MONTHS: Final = "Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec".split()

MONTHS: Final = (*(name.capitalize() for name in NAMES_OF_MONTHS), *_SHORT_MONTHS)

MONTHS_BY_START: Final = {name[:3]: number for number, name in enumerate(NAMES_OF_MONTHS, start=1)}
"""Three letters tell a month."""

UNITS: Final = (
    r"ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?"
    r"|quarters?|years?|B|[kKMGT]i?B|bytes?|bits?|Mbps|Gbps|px|pt|rem|em|mm|cm|m|km|kg|g|GHz|MHz|Hz"
    r"|percent|degrees?|tokens?|words?|characters?|chars?|lines?|rows?|columns?|files?|pages?"
    r"|users?|people|persons?|customers?|seats?|requests?|retries|times|items?|tests?|tickets?"
    r"|points?|k|million|billion|thousand|hundred|dozen|dollars?|euros?|pounds?|cents?|USD|EUR|GBP"
)

NUMBER_WORDS: Final = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundreds?|thousands?|millions?|a\ dozen|dozens|half"
)

FILE_ENDINGS: Final = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|css|scss|html?|vue|svelte|json|jsonl|ya?ml|toml|ini|cfg|conf|env"
    "|md|rst|txt|csv|tsv|xlsx?|docx?|pptx?|pdf|sql|db|sqlite3?|sh|bash|zsh|ps1|bat|rb|go|rs|java|kt"
    "|swift|c|h|cc|cpp|hpp|cs|php|pl|lua|r|ipynb|xml|svg|png|jpe?g|gif|webp|mp[34]|log|lock|zip"
    "|gz|tar|whl|proto|graphql|tf"
)

DECISION: Final = re.compile(
    r"""\b(?:decid(?:e|ed|es|ing)|decisions?|agreed?|settled?\son|concluded?|conclusion
      | let[’']?s\s(?:go\swith|use|keep|drop|not|stay|stick|switch|skip|leave|postpone|do|call)
      | (?:go|going|went|stick|sticking|stay|staying)\swith
      | ch(?:oose|ose|osen|oosing)|pick(?:ed)?\b(?=.*\b(?:over|instead|for)\b)|opt(?:ed)?\sfor
      | instead\sof|rather\sthan|no\slonger|from\snow\son|in\sfavou?r\sof
      | (?:we|i)(?:[’']ll|\swill|\sshall|\smust|\smust\snot|\swon[’']t)
      | must(?:\snot|n[’']t)?|never|always|mandatory|required?
      | approved?|rejected?|cancell?ed|postponed?|confirmed?|deadline|finali[sz]ed?
      | switch(?:ed|ing)?\s(?:to|from)|migrat(?:e|ed|ing)\s(?:to|from)
      | replac(?:e|ed|ing)\b.*\b(?:with|by)
      | use\s.{1,60}\bnot\b|prefer(?:red|s)?|plan(?:ned)?\sis\sto
      )\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""What says that something was settled. Rather too many than too few: a sentence that is kept
without need costs words, one that is lost costs the decision."""

OPENER: Final = re.compile(
    r"(?:(?:ok(?:ay)?|alright|so|well|and|but|yes|yeah|yep|sure|great|perfect|thanks|thank you"
    r"|please|hmm?|hi|hello|hey|oh|cool|nice|sorry|actually|basically|then|note that|also|good)"
    r"\b[,.!]*\s+)+",
    re.IGNORECASE,
)
"""What a sentence may begin with, and says nothing."""

NAME_VERBS: Final = frozenset(
    """is was are were has had have will would can could should said says say asked asks wants
    wanted needs needed thinks suggested suggests proposed reported reports owns takes took
    handles approved approves rejected agreed decided and or from at who called wrote sent joins
    joined leads works likes prefers prefers moved gave runs did does""".split()
)
"""What follows a name at the start of a sentence, and hardly ever an ordinary word."""

COMMON_WORDS: Final = frozenset(
    """a about above actually add after again all also although am an and another any anyway are
    as ask at be because been before being below besides both build but by call can change check
    clear could create currently decide decided decision delete deploy did do does doing don done
    down during each either else error even every everything exactly few fine first fix follow
    following for from further generally get give given go going good got great had has have
    having he hello help hence her here hers hi him his how however i if ignore in include install
    instead into is it its itself just keep last later least let lets like list ll look looks
    made maybe me meanwhile might mine more most move much must my need never next no nobody none
    nor not note nothing now of off ok okay on once one only open or other otherwise our ours out
    over overall own pay perhaps please possibly put quick re read really remember remove rename
    replace run s same second see send set shall she should show similarly simply since so some
    somebody someone something sorry start still stop such sure switch t take tell test than
    thank thanks that the their theirs them then there therefore these they thing things third
    this those though thus till to today together too try turn two under unless until up update
    upon us use user users using ve very wait was way we well were what whatever when whenever
    where whether which while who whoever whole whom whose why will with within without won work
    works would write wrong yeah yep yes yet you your yours assistant system tool code
    monday tuesday wednesday thursday friday saturday sunday tomorrow yesterday tonight
    alright apparently assuming based basically certainly consider considering correct correctly
    definitely depending each easy either everyone finally firstly secondly lastly got
    hey hm hmm hopefully huh important indeed interesting interestingly it's i'm i'll i've i'd
    likewise makes many mostly nice nope obviously oh perfect plus previously probably quickly
    quite rather regarding right section several short should small sometimes soon step summary
    super supposedly technically typically unfortunately usually warning we're we'll we've
    yesterday that's there's here's what's let's don't doesn't can't isn't won't you're you'll
    they're he's she's""".split()
).union(name.lower() for name in MONTHS)
"""Words that begin sentences, or say little: no names, and no part of what a decision says."""
