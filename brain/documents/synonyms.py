"""Words that say the same in documents: who asks for a weekend is answered by "Saturday".

General English of contracts, handbooks and manuals, written down from a dictionary's point of
view and not from any set of questions. A synonym counts less than the word itself, so that it
only helps where the word itself is not to be found.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kds.brain.words.stem import stem

WORTH: Final = 0.5
"""What a synonym counts of the word that was asked for."""

_GROUPS: Final = """
weekend saturday sunday business|holiday business|late overdue delinquent delay delayed past
begin start commence commencement starting beginning|end expire expiry expiration terminate close
stop cease halt suspend discontinue|cancel revoke terminate withdraw rescind|fire dismiss terminate
quit resign leave|vacation leave holiday annual|sick illness ill medical|boss manager supervisor
pay payment paid compensate remit|salary wage pay compensation|money funds cash amount sum
fee charge cost price|cost price expense fee|fine penalty|owe due payable|refund reimburse return
reimburse expenses repay|buy purchase acquire repurchase|sell sale transfer assign convey|lend loan
rent lease|borrower mortgagor debtor|lender mortgagee creditor|owner holder|holder owner registered
allow permit may authorize|forbid prohibit ban disallow|must shall required obligation mandatory
need require required must|limit cap maximum quota threshold restrict
maximum most cap limit highest|minimum least lowest|change amend modify update alter
amend change modify supplement|delete remove erase destroy|remove delete take
create make add new generate|add include append|get retrieve fetch obtain receive
send deliver submit transmit notify|tell notify inform report|notify notice inform report
notice notification written|email mail electronic|phone telephone call|find locate search
replace substitute exchange|fix cure repair correct remedy|break breach violate
breach default violation|default breach event failure|fail failure failed error|error failure fault
wrong incorrect invalid error|broken defective damaged|defect flaw error|bug defect issue error
mistake error|duplicate repeat twice same|retry repeat again attempt|again repeat retry
fast quick speed rate|slow delay latency|often frequency every times|frequency often every
how-often frequency|many number count|number count amount|size length large|long duration period
duration period length time|deadline due date days|deadline period within later
soon promptly immediately within|when date time day|where location place office address
place location|address location|who person party|worker employee staff
staff employee personnel team|employee staff worker|hire recruit appoint engage
appoint name designate|choose select elect designate|pick select choose
company employer organization corporation|firm company|customer client user|client customer
login sign authenticate authentication|log login authenticate authentication
password credential secret|credential key token secret|token key credential
permission access scope authorization|access permission|secure security safe|encrypt encryption
private confidential|secret confidential|share disclose|disclose reveal share
keep retain maintain hold store|keep store retain|store save keep retain|save store keep
check verify review inspect|verify check confirm|review examine check inspect|inspect examine
test try|try attempt|use apply|work function operate|build construct make|help support assist
problem issue error trouble|issue problem|question query ask|answer response reply|ask request
request ask apply|response reply answer|approve approval consent authorize|approval consent
agree consent accept|agreement contract|contract agreement|law legal statute|court judge
liable liability responsible|responsible liable duty|duty obligation responsibility
indemnify indemnity liability|insurance coverage insured|cover coverage include|benefit entitlement
entitled eligible right|eligible qualify entitled|qualify eligible|right entitled
child parental children|pregnant maternity parental|maternity parental|paternity parental
baby birth child|funeral bereavement|death bereavement deceased|die death|travel trip journey
trip travel|flight travel air|hotel lodging accommodation|meal food dining|car vehicle
drive vehicle|train rail|home remote|remote home|office workplace|computer laptop device equipment
laptop device equipment computer|phone mobile device|lost loss stolen missing|steal theft stolen
injury accident hurt|hurt injury|accident injury incident|emergency urgent|danger hazard safety
harass harassment bully|bully harassment|complain complaint grievance|complaint grievance
discipline disciplinary warning|punish disciplinary sanction|raise increase|increase raise rise
decrease reduce reduction lower|reduce decrease lower|bonus incentive|overtime extra hours
extra additional|additional extra further|train training course|course training
evaluate review appraisal performance|promotion advance|old former previous|previous prior earlier
before prior preceding|after following subsequent|next following subsequent|last final previous
first initial|final last|yearly annual|annual yearly year|monthly month|weekly week|daily day
webhook callback event|callback webhook|endpoint url resource|url endpoint address
page pagination cursor|paginate page cursor|list enumerate|filter query search|sort order
rate-limit throttle|throttle limit|timeout expire|expire timeout expiry lapse|version release
deprecate retire sunset|retire deprecate|environment sandbox production|sandbox test|upload attach
download export|export download|import load|attach attachment file|file document|document file
status state|state status|field parameter attribute property|parameter field argument|header field
body payload|payload body|signature sign hash|hash digest signature|bankrupt insolvency insolvent
insolvent bankruptcy|foreclose foreclosure|dispute disagreement|vote voting rights|majority percent
percent percentage rate|share portion percentage|split divide allocate
distribute distribution allocate|allocate apportion distribute|priority order first
order priority sequence|calculate compute computed|compute calculate|occur happen|explain describe
mean means definition|different difference|same identical equal
"""


def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _GROUPS.replace("\n", "|").strip("|").split("|"):
        head, *others = group.split()
        known = found.get(stem(head), ())
        found[stem(head)] = tuple(dict.fromkeys((*known, *others)))
    return MappingProxyType(found)


SYNONYMS: Final = _by_stem()
"""Stem -> words that may stand for it."""


def synonyms_of(word: str) -> tuple[str, ...]:
    """Return the words that may stand in a document for ``word``.

    >>> synonyms_of("weekends"), synonyms_of("purple")
    (('saturday', 'sunday', 'business'), ())
    """
    return SYNONYMS.get(stem(word.casefold()), ())
