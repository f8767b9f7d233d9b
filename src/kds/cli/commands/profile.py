"""`kds memory profile|consent`: what users want remembered about themselves, if anything."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import click

from kds.api.embeddings import load_embedder, model_name
from kds.brain.memory.memory_store import MemoryPlace, MemoryStore
from kds.brain.memory.records import Consent, ConsentEvent, Profile
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import command, option
from kds.cli.guard import Refusal, complain
from kds.cli.options import COUNT, changing, common_options, looking
from kds.cli.output import fields, print_lines, print_table, say
from kds.cli.terminal import shown

PURPOSE: Final = "answers that suit me"
SHOWING: Final = "shown to its owner: kds memory profile show"
EDITING: Final = "edited by its owner: kds memory profile set"
"""Uses of the profile, in the audit log."""

NO_CONSENT: Final = "there is no consent: nothing is kept about you"
GRANT_HINT: Final = "give it first: kds memory consent grant"


@command(
    "kds memory consent show",
    "kds memory consent grant --for 'knowing my stack'",
    "kds memory consent revoke",
)
@click.argument("action", type=click.Choice(["show", "grant", "revoke"]), default="show")
@option("--for PURPOSE", "With grant: what you consent to.", to="purpose", default=PURPOSE)
@option("--limit N", "With show: latest lines of the audit log.", default=20, type=COUNT)
@common_options
def consent(*, action: str, purpose: str, limit: int, workspace: Workspace) -> None:
    """Show, grant or revoke your consent to a profile; it is off until you grant it.

    `show` prints the audit log, too: every grant, change and use, never what the profile says.
    `revoke` wipes the profile and its vectors, down to their bytes on disk.
    """
    events: Sequence[ConsentEvent] = ()
    if action == "grant":
        with changing(MemoryPlace.of(workspace)) as kept:
            found = kept.profile.grant(purpose)
    else:
        with looking(MemoryPlace.of(workspace)) as store:
            if store is None:
                found = Consent(given=False)
            elif action == "revoke":
                found = store.profile.revoke()
            else:
                found, events = store.profile.consent(), store.profile.events()[-limit:]
    log = [fields(event, "at action purpose") for event in events]
    say(fields(found, "given since purpose") | {"events": log}, lambda: _print(found, events))


def _print(found: Consent, events: Sequence[ConsentEvent]) -> None:
    since = shown(found.since) if found.since else None
    if found.given:
        click.echo(f"consent stands since {since}, for: {found.purpose}")
    else:
        click.echo(NO_CONSENT + (f"; revoked {since}" if since else ""))
    if events:
        click.echo()
        rows = [(shown(event.at), event.action, event.purpose) for event in events]
        print_table(("at", "what", "for"), rows)


@command(
    "kds memory profile show",
    "kds memory profile set --name Ada --role 'backend developer'",
    "kds memory profile set --language python --prefer tests=pytest --prefer answers=short",
    "kds memory profile set --prefer answers= --about 'I maintain the billing service.'",
    "kds memory profile clear",
)
@click.argument("action", type=click.Choice(["show", "set", "clear"]), default="show")
@option("--name TEXT", "What to call you.")
@option("--role TEXT", "What you do.")
@option("--language TEXT", "Languages you work in; those given replace those before.",
        to="languages", multiple=True)  # fmt: skip
@option("--framework TEXT", "Frameworks you work with; those given replace those before.",
        to="frameworks", multiple=True)  # fmt: skip
@option("--style TEXT", "How answers are to be written.")
@option("--goals TEXT", "What you are working towards.")
@option("--domain TEXT", "What your software is about.")
@option("--constraints TEXT", "What always holds, such as 'Python 3.11'.")
@option("--prefer KEY=VALUE", "A preference; `KEY=` takes it out.", to="preferences", multiple=True)
@option("--about TEXT", "Anything else, in your words.")
@common_options
def profile(
    *, action: Literal["show", "set", "clear"], preferences: tuple[str, ...], workspace: Workspace,
    **given: Any,
) -> None:  # fmt: skip
    """Show, set or clear what KDS remembers about you; it needs your consent.

    `set` changes what is given and keeps the rest; an empty text takes a field out. Every use,
    `show` too, goes into the audit log. `clear` keeps the consent; to wipe the bytes of the
    profile, revoke it.
    """
    change = {name: value for name, value in given.items() if value not in (None, ())}
    pairs = dict(map(_preference, preferences))
    if (change or pairs) and action != "set":
        raise Refusal(f"options are for set, not {action}", "kds memory profile set ...")
    if action == "set" and not change and not pairs:
        raise Refusal("nothing to set", "such as --role 'backend developer'; see --help")
    with looking(MemoryPlace.of(workspace)) as store:
        if action == "clear":
            granted = store is not None and store.profile.consent().given
            if store is not None and granted:
                store.profile.save(Profile())
            say({"cleared": granted}, "the profile is empty" if granted else NO_CONSENT)
            return
        found = store.profile.use(SHOWING if action == "show" else EDITING) if store else None
        if action == "set":
            if store is None or found is None:
                raise Refusal(NO_CONSENT, GRANT_HINT)
            found = _saved(store, found, change, pairs, workspace)
    kept = None if found is None else fields(found, " ".join(_FIELDS))
    say({"consent": found is not None, "profile": kept}, lambda: _print_profile(kept))


_FIELDS: Final = [one.name for one in dataclasses.fields(Profile)]


def _saved(
    store: MemoryStore, before: Profile, change: Mapping[str, Any], pairs: Mapping[str, str],
    workspace: Workspace,
) -> Profile:  # fmt: skip
    """Change the profile, and embed it where there is an embedding model."""
    merged = {key: value for key, value in {**before.preferences, **pairs}.items() if value}
    lists = {
        name: tuple(filter(str.strip, one))
        for name, one in change.items()
        if isinstance(one, tuple)
    }
    saved = store.profile.save(replace(before, **{**change, **lists, "preferences": merged}))
    if model := model_name(load_settings(workspace).recall.embeddings):
        try:
            store.profile.embed(load_embedder(model))
        except Exception as error:  # noqa: BLE001  # the user's model may raise anything
            complain(f"the profile is saved and found by its words only: {error}")
    return saved


def _preference(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise Refusal(f"'{text}' is not a preference", "write KEY=VALUE, such as tests=pytest")
    return key.strip(), value.strip()


def _print_profile(kept: Mapping[str, Any] | None) -> None:
    if kept is None:
        click.echo(f"{NO_CONSENT}\n{GRANT_HINT}")
    elif not any(kept.values()):
        click.echo("the profile is empty")
    else:
        print_lines(
            ("prefers" if key == "preferences" else key, _text(value))
            for key, value in kept.items()
            if value
        )


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)
