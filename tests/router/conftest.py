"""What the tests of the router share: the packaged prompts and rules, each read once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.brain.workspace import Workspace
from kds.router.intents.fitted import open_model
from kds.router.intents.model import IntentModel
from kds.router.language.analysis import Language
from kds.router.prompts.library import PromptLibrary
from kds.router.references.resolver import Resolution, Resolver, apply_edits
from kds.router.references.ruleset import RuleSet, load_rules

Rewrite = Callable[..., str]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A workspace's files of rules or words, by name without ``.yaml``."""

    def write(**files: str) -> Path:
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return Parts.load(Workspace.at(tmp_path_factory.mktemp("packaged")))


@pytest.fixture(scope="session")
def library() -> PromptLibrary:
    return PromptLibrary.load()


@pytest.fixture(scope="session")
def packaged_model(library: PromptLibrary) -> IntentModel:
    return open_model(library.prompts())


@pytest.fixture(scope="session")
def packaged_rules() -> RuleSet:
    return load_rules()


@pytest.fixture(scope="session")
def language(packaged_rules: RuleSet) -> Language:
    return Language(packaged_rules.entities)


@pytest.fixture(scope="session")
def resolver(language: Language, packaged_rules: RuleSet) -> Resolver:
    return Resolver(language, packaged_rules.rules, packaged_rules.knowledge)


@pytest.fixture(scope="session")
def resolve(resolver: Resolver) -> Callable[..., Resolution]:
    """What the packaged rules make of the last of some messages, in the light of the others."""

    def resolve(*messages: str) -> Resolution:
        *context, message = messages
        return resolver.resolve(message, resolver.replay(tuple(context)))

    return resolve


@pytest.fixture(scope="session")
def rewrite(resolve: Callable[..., Resolution]) -> Rewrite:
    """The last of some messages, written so that it stands without the others."""
    return lambda *messages: apply_edits(messages[-1], resolve(*messages).edits)


@pytest.fixture
def rewrite_by(
    language: Language, packaged_rules: RuleSet, tmp_path: Path
) -> Callable[[str], Rewrite]:
    """The same by one rule of one's own, given as YAML; it needs no tests of its own here."""

    def by(rule: str) -> Rewrite:
        folder = tmp_path / "rules"
        folder.mkdir(exist_ok=True)
        tests = "tests: [{context: [a], in: b, out: c}, {in: b}]"
        (folder / "mine.yaml").write_text(f"rules:\n  - {{id: mine, {rule}, {tests}}}\n")
        own = Resolver(language, load_rules(packaged=folder).rules, packaged_rules.knowledge)

        def rewrite(*messages: str) -> str:
            *context, message = messages
            return apply_edits(message, own.resolve(message, own.replay(tuple(context))).edits)

        return rewrite

    return by
