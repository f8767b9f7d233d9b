"""`kds memory profile|consent`: what the user wants remembered about themselves, if anything."""

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import click

from kds.api.embeddings import load_embedder
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.session_values import Consent, ConsentEvent, Profile
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, group
from kds.cli.guard import Refusal, complain
from kds.cli.options import common_options
from kds.cli.output import fields, print_json, print_line, print_table, say
from kds.cli.palette import shown
from kds.cli.stores import changing, looking

PURPOSE: Final = "answers that suit me"
SHOWING: Final = "shown to its owner: kds memory profile show"
EDITING: Final = "edited by its owner: kds memory profile set"

NO_CONSENT: Final = "there is no consent: nothing is kept about you"
GRANT_HINT: Final = "give it first: kds memory consent grant"

SHOWN_EVENTS: Final = 20

_LABELS: Final = {"preferences": "prefers"}


@group(
    "kds memory profile show",
    "kds memory profile set --role 'backend developer' --language python --language go",
)
def profile() -> None:
    """Show, set or clear what KDS remembers about you; it needs your consent."""


@command("kds memory profile show --json", of=profile)
@common_options
def show(*, workspace: Workspace) -> None:
    """Print the profile. Every use of it, this one too, goes into the audit log."""
    with looking(MemoryPlace.of(workspace)) as store:
        found = store.profile.use(SHOWING) if store else None
    _show_profile(found)


@command(
    "kds memory profile set --name Ada --role 'backend developer'",
    "kds memory profile set --language python --prefer tests=pytest --prefer answers=short",
    "kds memory profile set --prefer answers= --about 'I maintain the billing service.'",
    of=profile,
)
@click.option("--name", metavar="TEXT", help="What to call you.")
@click.option("--role", metavar="TEXT", help="What you do.")
@click.option("--language", "languages", metavar="TEXT", multiple=True,
              help="Languages you work in; those given replace those before.")  # fmt: skip
@click.option("--framework", "frameworks", metavar="TEXT", multiple=True,
              help="Frameworks you work with; those given replace those before.")  # fmt: skip
@click.option("--style", metavar="TEXT", help="How answers are to be written.")
@click.option("--goals", metavar="TEXT", help="What you are working towards.")
@click.option("--domain", metavar="TEXT", help="What your software is about.")
@click.option("--constraints", metavar="TEXT", help="What always holds, such as 'Python 3.11'.")
@click.option("--prefer", "preferences", metavar="KEY=VALUE", multiple=True,
              help="A preference; `KEY=` takes it out.")  # fmt: skip
@click.option("--about", metavar="TEXT", help="Anything else, in your words.")
@common_options
def set_(
    *, name: str | None, role: str | None, languages: tuple[str, ...],
    frameworks: tuple[str, ...], style: str | None, goals: str | None, domain: str | None,
    constraints: str | None, preferences: tuple[str, ...], about: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Change what is given and keep the rest; an empty text takes a field out."""
    given = _given({
        "name": name, "role": role, "style": style, "goals": goals, "domain": domain,
        "constraints": constraints, "about": about, "languages": languages or None,
        "frameworks": frameworks or None,
    })  # fmt: skip
    pairs = dict(map(_preference, preferences))
    if not given and not pairs:
        raise Refusal("nothing to set", "such as --role 'backend developer'; see --help")
    with looking(MemoryPlace.of(workspace)) as store:
        before = store.profile.use(EDITING) if store else None
        if store is None or before is None:
            raise Refusal(NO_CONSENT, GRANT_HINT)
        merged = {**before.preferences, **pairs}
        given["preferences"] = {key: value for key, value in merged.items() if value}
        saved = store.profile.save(replace(before, **given))
        _embed(store, workspace)
    _show_profile(saved)


profile.add_command(set_, "set")


@command("kds memory profile clear", of=profile)
@common_options
def clear(*, workspace: Workspace) -> None:
    """Empty the profile and keep the consent; to wipe its bytes too, revoke the consent."""
    with looking(MemoryPlace.of(workspace)) as store:
        given = store is not None and store.profile.consent().given
        if store is not None and given:
            store.profile.save(Profile())
    say({"cleared": given}, "the profile is empty" if given else NO_CONSENT)


@group("kds memory consent show", "kds memory consent grant --for 'answers that suit me'")
def consent() -> None:
    """Show, grant or revoke your consent to a profile; it is off until you grant it."""


@command("kds memory consent show --json", of=consent, name="show")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=SHOWN_EVENTS,
              help=f"Latest lines of the audit log.  [default: {SHOWN_EVENTS}]")  # fmt: skip
@common_options
def show_consent(*, limit: int, workspace: Workspace) -> None:
    """Say whether consent stands, and print the audit log: every grant, change and use."""
    with looking(MemoryPlace.of(workspace)) as store:
        found = store.profile.consent() if store else Consent(given=False)
        events = store.profile.events()[-limit:] if store else ()
    _show_consent(found, events)


@command(
    "kds memory consent grant", "kds memory consent grant --for 'knowing my stack'", of=consent
)
@click.option("--for", "purpose", metavar="PURPOSE", default=PURPOSE,
              help=f"What you consent to.  [default: {PURPOSE}]")  # fmt: skip
@common_options
def grant(*, purpose: str, workspace: Workspace) -> None:
    """Consent to a profile being kept in this workspace, and used for PURPOSE."""
    with changing(MemoryPlace.of(workspace)) as store:
        found = store.profile.grant(purpose)
    _show_consent(found, ())


@command("kds memory consent revoke", of=consent)
@common_options
def revoke(*, workspace: Workspace) -> None:
    """Withdraw consent: the profile and its vectors go, down to their bytes on disk.

    The audit log stays; it never holds what the profile said.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        found = store.profile.revoke() if store else Consent(given=False)
    _show_consent(found, ())


def _embed(store: MemoryStore, workspace: Workspace) -> None:
    """Have the profile found by meaning, too; without a model, or if it fails, by its words."""
    name = load_settings(workspace).recall.embeddings
    if name is None:
        return
    try:
        store.profile.embed(load_embedder(name))
    except Exception as error:  # noqa: BLE001  # the user's model may raise anything
        complain(f"the profile is saved and found by its words only: {error}")


def _given(fields: Mapping[str, str | tuple[str, ...] | None]) -> dict[str, Any]:
    """The fields that were given; of lists without what is empty."""
    return {
        name: tuple(filter(str.strip, one)) if isinstance(one, tuple) else one
        for name, one in fields.items()
        if one is not None
    }


def _preference(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise Refusal(f"'{text}' is no preference", "write KEY=VALUE, such as tests=pytest")
    return key.strip(), value.strip()


def _show_profile(found: Profile | None) -> None:
    names = " ".join(one.name for one in dataclasses.fields(Profile))
    kept = None if found is None else fields(found, names)
    if asked_json():
        print_json({"consent": found is not None, "profile": kept})
    elif kept is None:
        click.echo(f"{NO_CONSENT}\n{GRANT_HINT}")
    elif not any(kept.values()):
        click.echo("the profile is empty")
    else:
        for key, value in kept.items():
            if value:
                print_line(_LABELS.get(key, key), _text(value))


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _show_consent(found: Consent, events: tuple[ConsentEvent, ...]) -> None:
    if asked_json():
        log = [fields(event, "at action purpose") for event in events]
        print_json(fields(found, "given since purpose") | {"events": log})
        return
    since = shown(found.since) if found.since else None
    if found.given:
        click.echo(f"consent stands since {since}, for: {found.purpose}")
    else:
        click.echo(NO_CONSENT + (f"; revoked {since}" if since else ""))
    if events:
        click.echo()
        rows = [(shown(event.at), event.action, event.purpose) for event in events]
        print_table(("at", "what", "for"), rows)
