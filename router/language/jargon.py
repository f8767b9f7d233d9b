"""Developer vocabulary that a general English lexicon lacks: readings by regular inflection.

The base forms are common terms of software work; their inflected forms follow the regular
spelling rules of English, so only base forms are listed.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

NOUNS: Final = """
    gzip log commit blog deploy hover debug logout signup dropdown checkbox tooltip backend
    frontend endpoint api url json yaml config repo webhook callback middleware namespace
    refactor restore merge rebase hotfix standup spec lexer linter formatter profiler cron
    timeout retry fallback debounce footer navbar popup validator textbox textarea tab widget
    template padding keyframe breakpoint viewport resize zoom edit select dataset dataframe
    enum struct dependency plugin segfault traceback stacktrace docstring readme changelog
    todo typo rename undo obligor login backup rollback upload download sidebar app admin auth
    async sync regex cli sdk ide gui cdn vpn dns tls csv pdf sql css html http orm cors jwt
    oauth sso mfa etl ci cd pr mr qa ui ux db env dev prod preprod uat whitelist allowlist
    blocklist placeholder screenshot mockup wireframe toggler switcher autocomplete prefetch
    subnet daemon hash lockfile dockerfile makefile microservice monorepo changelist pipeline
    leaderboard chatbot gradient indexer importer exporter uploader downloader resizer loader
    bundler lifecycle payload codebase metadata stylesheet subdomain timestamp username
    whitespace workflow hostname filename filesystem
    """.split()

VERBS: Final = """
    refactor resize rebase rollback backup minify transpile debounce enqueue dequeue upsert
    deserialize decrypt unescape unset dockerize containerize autoscale memoize vectorize
    tokenize hardcode parametrize parameterize instantiate unmount gzip untar ssh whitelist
    blocklist allowlist autocomplete prefill preload prefetch redeploy reinstall rerun rebuild
    revert deploy debug hover paginate scaffold refetch unpin unlink unzip autoformat autosave
    sync dedupe dedup lint namespace onboard offload retry rename undo redo reopen rework
    reword
    """.split()

ADJECTIVES: Final = """
    nullable sortable draggable async sync idempotent required deprecated responsible navy
    cyan magenta lime turquoise scrollable searchable resizable readonly multiline responsive
    clickable collapsible reusable configurable pluggable hoverable focusable closable
    dismissible printable sticky serverless headless stateless stateful backwards-compatible
    case-insensitive full-width
    """.split()


@cache
def forms() -> dict[str, dict[str, str]]:
    """Every form of the listed words: form -> {part of speech -> base form}."""
    table: dict[str, dict[str, str]] = {}
    for pos, bases, inflect in (
        ("NOUN", NOUNS, _noun_forms),
        ("VERB", VERBS, _verb_forms),
        ("ADJ", ADJECTIVES, _same),
    ):
        for base in bases:
            for form in inflect(base):
                table.setdefault(form, {}).setdefault(pos, base)
    return table


def _same(base: str) -> Iterator[str]:
    yield base


def _noun_forms(base: str) -> Iterator[str]:
    yield base
    yield _with_s(base)


def _verb_forms(base: str) -> Iterator[str]:
    stem = base[:-1] if base.endswith("e") else base + base[-1] if base in _DOUBLING else base
    yield from (base, _with_s(base), stem + "ing")
    yield base[:-1] + "ied" if base.endswith("y") and base[-2] not in "aeiou" else stem + "ed"


_DOUBLING: Final = frozenset("debug unzip untar unpin dedup".split())


def _with_s(base: str) -> str:
    """Regular -s.

    >>> [_with_s(word) for word in ("log", "query", "patch", "regex", "delay")]
    ['logs', 'queries', 'patches', 'regexes', 'delays']
    """
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "z", "ch", "sh")) else "s")
