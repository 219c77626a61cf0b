"""How bad a line says things are: a native scan of bytes for the words of trouble, with their negatives understood.

Guarantees a level for every line that holds such a word, from the bytes alone and in linear time.
Leaves to others what a level is worth: that is for the scoring, which also knows how common it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from overspill.core.strategies.salience.scanner import compiled

NONE, STATE, WEAK, NOTE, WARN, MENTION, ERROR, FATAL = range(8)
"""Levels: nothing; a change of state; a word of failure; a note; a warning; an error spoken of; an error; the end."""

NAMES = ("", "", "", "note", "warning", "error", "error", "fatal")

_FATAL = "fatal|critical|crit|panic|panicked|emerg|emergency|segfault|sigsegv|sigabrt|sigbus|crash|crashed|severe|alert"
_ERROR = "error|errors|err|failure|failures|fail|failed|fails|exception|exceptions|traceback|errored|crashloopbackoff"
_WARN = "warn|warning|warnings|deprecated|deprecation|deprecationwarning"
_WEAK = (
    "refused|denied|timeout|timeouts|unable|cannot|missing|invalid|undefined|unexpected|corrupt|corrupted|"
    "corruption|abort|"
    "aborted|aborting|killed|unreachable|lost|broken|expired|defunct|rejected|forbidden|mismatch|unsupported|unknown|"
    "unresolved|conflict|exceeded|exceeds|exhausted|illegal|leak|leaked|leaks|insufficient|unhealthy|evicted|"
    "stuck|blocked|"
    "yanked|vulnerable|vulnerability|unmet|incompatible|uninitialized|uninitialised|redefinition|overflow|deadlock|oom|"
    "dropped|dangerous|malformed|unavailable|degraded|violation|violations|disconnect|disconnected|notfound|bad|"
    "unauthorized|unauthorised|unhandled|uncaught|unrecognized|unrecognised|unsatisfied|wrong|anomaly|outage|pending|"
    "suspended|terminated|halt|halted|unclean|stale|retry|retrying|slow|incomplete|interrupted|redundant|obsolete"
)
_STATE = (
    "starting|started|start|stopping|stopped|restart|restarted|restarting|reboot|rebooted|connected|listening|shutdown|"
    "shutting|initialized|initialised|registered|login|logged|opened|accepted|exited|completed|complete|"
    "finished|success|"
    "successful|successfully|saved|installed|created|ready|passed|succeeded|done|total|summary|result|results|"
    "anonymous|"
    "root|elected|election|leader|configuration|version|running|loaded|booting|linux"
)
_NOTE = "note|hint|help|notice|caution|important"

_WORDS: dict[str, int] = {}
for _words, _level in ((_STATE, STATE), (_WEAK, WEAK), (_NOTE, NOTE), (_WARN, WARN), (_ERROR, ERROR), (_FATAL, FATAL)):
    for _word in _words.split("|"):
        _WORDS[_word] = _level

_STEMS = (
    "err|fail|fatal|crit|panic|emerg|seg|sig|crash|sever|alert|exception|traceback|warn|deprec|refus|denied|"
    "timeout|unab|cannot|"
    "missing|invalid|undefin|unexpect|corrupt|abort|killed|unreach|lost|broken|expired|defunct|reject|forbid|mismatch|"
    "unsup|unknown|unresol|conflict|exceed|exhaust|illegal|leak|insuffic|unhealth|evict|stuck|block|yank|vulner|unmet|"
    "incompat|uninit|redefin|overflow|deadlock|oom|dropp|danger|malform|unavail|degrad|violat|disconn|notfound|"
    "bad|unauth|"
    "unhand|uncaught|unrec|unsat|wrong|anomal|outage|pending|suspend|terminat|halt|unclean|stale|retry|slow|incompl|"
    "interrupt|redund|obsol|start|stop|restart|reboot|connect|listen|shut|initiali|regist|login|logged|opened|accept|"
    "exited|complet|finish|success|saved|installed|created|ready|passed|succeed|done|total|summary|result|anonym|root|"
    "elect|leader|config|version|running|loaded|boot|linux|note|hint|help|notice|caution|important"
)
_PHRASES = (
    r"timed[ -]out|not[ -]found|no[ -]such|can't|couldn't|could[ -]not|unable to|out of memory|core dumped|not ready|"
    r"does(?:n't| not)|did(?:n't| not)|is not|isn't|won't|not (?:a|an|the|in|be|to|permitted|allowed|accessible)|"
    r"not (?:remade|reachable|responding|running|working|supported|valid)|(?:is|are|went|link) down|"
    r"no (?:free|answer|response|reply|route)|segmentation fault|assertion|no space left|has no|no longer|too many|"
    r"(?:exited?|return(?:ed)?)[ a-z]{0,16}(?: code| status)?[ :=]{1,3}[1-9]|error [1-9]|rc=[1-9]|"
    r"status(?:code)?[\"' :=]{1,4}[45][0-9][0-9]|http/[0-9.]+\"? [45][0-9][0-9]"
)
_NAMELESS = r"undefined (?:name|variable|symbol|reference|identifier|function|method|label)\b"
"""A name that nothing defines fails when it is reached, whatever the tool that says so calls it."""
_PHRASE_LEVELS = {
    "out of memory": FATAL,
    "core dumped": FATAL,
    "segmentation fault": FATAL,
}

_NEGATED = re.compile(
    rb"(?i)(?:\b(?:0|no|not?|without|zero|any|non|ignore|if|on|handle|expected)[ \t\"'-]{1,2}|[A-Za-z0-9]-)\Z"
)
_NOTHING = re.compile(
    rb"(?i)^[\"']?s?[ \t]{0,2}(?:[=:][ \t]{0,2}[\"']?(?:0\b(?!x|[.]\d*[1-9])|none|null|false|"
    rb"no(?=[ \t]{0,2}(?:$|[,;)\]}\r\n]))|\"\"|''|\[\]|\{\})|-?free|_[a-z]|\.[a-z]{1,4}\b|/|\()"
)
_COUNTED = re.compile(rb"(?:^|[\s(,])[1-9][0-9,]* \Z")
_PATHS = re.compile(rb"[/_.\w-]\Z")
_QUOTED = re.compile(rb"(?:`|\xe2\x80\x98)[\w.:]*\Z")
"""Inside the quotation marks that stand around code: what is there is a name."""


_GOOD = (
    r"(?:\.\.\. ?(?:ok|done|skipped.*|yes)|\bPASSED(?: *\[ *[0-9]+%\])?|\bSKIPPED.*|: OK|\[ *OK *\]|succeeded|"
    r"successfully) *\r?$|"
    r"^ *(?:--- (?:PASS|SKIP)|=== (?:RUN|PAUSE|CONT)|PASS\b|ok [0-9]+|\xe2\x9c\x93|\xe2\x9c\x94)"
)
_BAD = (
    r"(?:\.\.\. ?(?:FAIL|ERROR|FAILED|failed|no)|\b(?:FAILED|ERROR)(?: *\[ *[0-9]+%\])?|\[ *(?:FAIL|FAILED|"
    r"ERROR) *\]) *\r?$|"
    r"^ *(?:--- FAIL|FAIL\b|FAILED\b|not ok [0-9]+|\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9c\x96|\xe2\x9c\x95|\xe2\x97\x8f )"
)
GOOD, BAD = 1, 2
_FAILED = re.compile(f"(?m){_BAD}".encode())
_VERDICT = f"(?m)(?:{_GOOD}|{_BAD})".encode()
_TROUBLE = f"(?:{_NAMELESS}|[a-z_]*(?:{_STEMS})[a-z_]*|{_PHRASES})".encode()
_CODE_LINE = re.compile(
    rb"(?:[ \t]{4,}|[+-] {2,}|\d+ +\|? {2,})(?:(?:def|class|if|elif|else|for|while|with|return|raise|throw|"
    rb"except|catch|try|import|from|"
    rb"assert|case|switch|yield|async|await|const|let|var|static|public|private|void)\b|[@#*}]|//|/\*|\"\"\"|"
    rb"'{3}|[\w.\[\]]+ ?[-+*|]?= |"
    rb"[\w.]+\([^)]*\)?[;,:]?$)"
)


class Hit(NamedTuple):
    """A word of trouble at a place in the bytes scanned."""

    at: int
    level: int


@lru_cache(maxsize=4096)
def _classify(word: bytes) -> int:
    """The level of a word by its own form: the level fields of logs shout, prose does not."""
    text = word.decode("latin-1")
    lower = text.lower()
    known = _WORDS.get(lower.strip("_"))
    if known is not None:
        if known == ERROR and text[0].islower() and lower not in ("error", "failed", "fail"):
            return MENTION
        return known
    phrase = _PHRASE_LEVELS.get(lower)
    if phrase is not None:
        return phrase
    if lower.startswith("undefined "):
        return ERROR
    if " " in lower or "'" in lower or "=" in lower or '"' in lower:
        return MENTION if lower.startswith("error ") else WEAK
    if text.endswith(("Error", "Exception", "Failure", "Errno", "Failed", "Fault", "_FAILED", "_ERROR")):
        return ERROR
    if text.endswith(("Warning", "WARN")):
        return WARN
    if "_" in text:
        return NONE
    humps = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    levels = [_WORDS.get(hump.lower(), NONE) for hump in humps] if len(humps) > 1 else []
    best = max(levels, default=NONE)
    return MENTION if best >= ERROR else min(best, WEAK)


def scan(data: bytes) -> Iterator[Hit]:
    """Every word of trouble in the bytes, from the first to the last, negatives left out."""
    for match in compiled(_TROUBLE, case="any").finditer(data):
        at, end = match.span()
        level = _classify(data[at:end])
        if not level:
            continue
        if level >= WARN:
            level = _weighed(data, at, end, level)
            if not level:
                continue
        yield Hit(at, level)


def verdicts(data: bytes) -> Iterator[tuple[int, int]]:
    """(offset, ``GOOD`` or ``BAD``) for the lines that say how one thing ended, whatever else they mention.

    A line can say both: then it is bad.
    """
    for match in compiled(_VERDICT).finditer(data):
        yield match.end() - 1, BAD if _FAILED.search(match.group()) else GOOD


def is_code(text: bytes) -> bool:
    """Whether an indented line is a statement or a comment: it only speaks of errors."""
    return _CODE_LINE.match(text) is not None


def _weighed(data: bytes, at: int, end: int, level: int) -> int:
    """The level once the words around are read: "0 errors", "error-free", ``error_handler.py`` are no errors."""
    before = data[max(0, at - 12) : at]
    after = data[end : end + 12]
    if _NEGATED.search(before) or _NOTHING.match(after):
        return NONE
    if _QUOTED.search(before):
        return NONE
    if level == MENTION and _COUNTED.search(before):
        return ERROR
    if before.endswith(b".") and data[at : at + 1].isupper():
        return level
    if before and _PATHS.search(before):
        glued = before[-1:]
        if glued in b"/" or (glued.isalnum() and not data[at : at + 1].isupper()):
            return NONE
        return min(level, MENTION)
    return level
