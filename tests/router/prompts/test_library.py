"""All prompt files of a workspace together, and the files that are never read."""

import shutil
from pathlib import Path

import pytest

from kds.brain.errors import DispatchError, PromptFileError
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary, packaged_root, stray_files


def write(root: Path, place: str, text: str) -> Path:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def agent(root: Path, name: str, intent: str, *, extra: str = "", body: str = "") -> Path:
    text = (
        f"---\nname: {name}\ndescription: Does {intent}.\nintent: {intent}\n"
        f"inputs: [message]\n{extra}---\n{body or '{{ message }}'}\n"
    )
    return write(root, f"internal/{name}.md", text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "packaged"
    agent(root, "work-planner", "PLAN", extra="priority: 50\nhandoffs: [EXECUTE]\n")
    agent(root, "code-executor", "EXECUTE", extra="priority: 60\n")
    agent(root, "error-corrector", "CORRECT", extra="priority: 10\n")
    write(root, "user/kds.md", "---\nname: kds\ndescription: Entry.\n---\nHello\n")
    return root


def problems(root: Path, overlay: Path | None = None) -> list[str]:
    with pytest.raises(PromptFileError) as caught:
        PromptLibrary.load(overlay, packaged=root)
    return [f"{Path(problem.where).name} {problem.message}" for problem in caught.value.problems]


def test_a_prompt_is_found_by_name_by_place_and_by_intent(root: Path) -> None:
    library = PromptLibrary.load(packaged=root)
    planner = library.get("work-planner")
    assert library.get("prompts/internal/work-planner.md") is planner
    assert library.for_intent("PLAN") is planner
    assert library.for_intent("DANCE") is None
    with pytest.raises(DispatchError, match="did you mean 'work-planner'"):
        library.get("work-planer")


def test_rendering_fills_in_the_inputs_alone(root: Path) -> None:
    library = PromptLibrary.load(packaged=root)
    prompt = library.get("work-planner")
    assert library.render(prompt, {"message": "{{ 7*7 }}", "other": 1}) == "{{ 7*7 }}"
    with pytest.raises(DispatchError, match="no value for: message") as caught:
        library.render(prompt, {"mesage": "x"})
    assert caught.value.hint == "did you mean 'mesage'?"


def test_a_file_of_the_workspace_replaces_the_packaged_one(root: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "workspace"
    agent(overlay, "work-planner", "PLAN", body="Mine: {{ message }}")
    agent(overlay, "deployer", "DEPLOY", body='{% include "shared/_rules.md" %}{{ message }}')
    write(root, "shared/_rules.md", "packaged\n")
    write(overlay, "shared/_rules.md", "mine\n")
    write(overlay, "notes/other.md", "not one of ours")
    library = PromptLibrary.load(overlay, packaged=root)
    assert library.render(library.get("deployer"), {"message": "x"}) == "minex"
    assert library.render(library.get("work-planner"), {"message": "x"}) == "Mine: x"
    assert library.for_intent("DEPLOY") is not None
    assert library.for_intent("EXECUTE") is not None


def test_a_copy_of_all_packaged_prompts_loads(tmp_path: Path) -> None:
    shutil.copytree(packaged_root(), tmp_path / "prompts")
    assert len(PromptLibrary.load(tmp_path / "prompts").agents()) > 10


def test_notes_of_the_project_in_our_folders_are_passed_over_and_named(
    root: Path, tmp_path: Path
) -> None:
    overlay = tmp_path / "workspace"
    write(overlay, "user/onboarding.md", "# Welcome\n\n{{ not jinja\n")
    write(overlay, "shared/notes.md", "")
    agent(overlay, "deployer", "DEPLOY")
    library = PromptLibrary.load(overlay, packaged=root)
    assert [Path(note.where).name for note in library.passed_over] == [
        "onboarding.md:1",
        "notes.md:1",
    ]
    assert "is passed over" in library.passed_over[0].message
    assert "if it is to be one, begin it with a line '---'" in str(library.passed_over[0].hint)
    assert library.for_intent("DEPLOY") is not None
    assert "onboarding" not in [prompt.name for prompt in library.prompts()]
    assert PromptLibrary.load(packaged=root).passed_over == ()


@pytest.mark.parametrize("place", ["internal/work-planner.md", "user/work-planner.md"])
def test_a_file_with_the_name_of_a_packaged_prompt_needs_its_front_matter(
    root: Path, tmp_path: Path, place: str
) -> None:
    write(tmp_path / "w", place, "# Mine\n")
    assert problems(root, tmp_path / "w") == [
        "work-planner.md:1 has no front matter, and the name of a prompt that comes with KDS"
    ]


def test_two_files_cannot_have_one_intent_or_name(root: Path, tmp_path: Path) -> None:
    path = agent(tmp_path / "w", "my-planner", "PLAN")
    assert problems(root, tmp_path / "w") == [
        f"my-planner.md:4 intent PLAN is already that of {root / 'internal/work-planner.md'}"
    ]
    path.unlink()
    write(root, "user/work-planner.md", "---\nname: work-planner\ndescription: d\n---\nx\n")
    assert len(problems(root)) == 1


def test_a_file_that_is_not_utf8_is_a_problem(root: Path) -> None:
    write(root, "shared/_e.md", "x").write_bytes(b"\xff")
    assert problems(root) == ["_e.md:1 is not UTF-8 text"]


@pytest.mark.parametrize(
    ("link", "target", "name"),
    [
        ("shared/_leak.md", "_leak.md", "_leak.md"),
        ("shared", "", "_leak.md"),
        ("internal/work-planner.examples.yaml", "_leak.md", "work-planner.examples.yaml"),
    ],
)
def test_a_file_or_folder_that_links_elsewhere_is_refused(
    root: Path, tmp_path: Path, link: str, target: str, name: str
) -> None:
    write(tmp_path, "elsewhere/_leak.md", "the secret")
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(tmp_path / "elsewhere" / target)
    assert problems(root) == [f"{name}:1 is a link that leaves the prompts folder"]


PROMPT = "---\nname: x\ndescription: d\n---\nHello\n"
RULES = "rules:\n  - id: pron.own\n    signal: {kind: pronoun}\n"


def strays(root: Path, place: str, text: str) -> list[tuple[str, str, str]]:
    write(root, place, text)
    (root / "kds-brain").mkdir(exist_ok=True)
    found = stray_files(Workspace.find(environ={"KDS_HOME": str(root)}))
    return [(one.where.removeprefix(f"{root}/"), one.message, one.hint) for one in found]


MOVE = ["prompts/user or ", "prompts/internal or ", "prompts/shared"]
BESIDE = ["examples are read from x.examples.yaml beside x.md", "kds-brain/rules"]


@pytest.mark.parametrize(
    ("place", "text", "hints"),
    [
        ("prompts/x.md", PROMPT, MOVE),
        ("prompts/internal/old/x.md", PROMPT, MOVE),
        ("prompts/x.examples.yaml", "examples: [a]\n", BESIDE),
        ("prompts/internal/x.examples.yaml", "examples: [a]\n", BESIDE),
        ("prompts/internal/x.examples.yml", "examples: [a]\n", BESIDE),
        ("kds-brain/rules/x.yml", RULES, ["kds-brain/rules/x.yaml"]),
        ("rules/x.yaml", RULES, ["kds-brain/rules/x.yaml"]),
        ("rules/x.yml", RULES, ["kds-brain/rules/x.yaml"]),
        ("prompts/README.md", "# Our prompts\n", []),
        ("prompts/marketing/launch.md", PROMPT, []),
        ("prompts/internal/x.md", PROMPT, []),
        ("rules/eslint.yaml", "extends: recommended\n", []),
        ("kds-brain/rules/x.yaml", RULES, []),
    ],
)
def test_a_stray_file_is_named_with_its_place_and_what_a_project_keeps_for_itself_is_not(
    tmp_path: Path, place: str, text: str, hints: list[str]
) -> None:
    found = strays(tmp_path, place, text)
    assert [where for where, _, _ in found] == [f"{place}:1"] * bool(hints)
    assert all(hint in found[0][2] for hint in hints)
