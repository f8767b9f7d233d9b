"""The words by which facts are recognised: months, units, cues of a decision, ordinary words."""

import re
from pathlib import Path
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
    Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").split()
).union(name.lower() for name in MONTHS)
"""Words that begin sentences, or say little: no names, and no part of what a decision says."""
