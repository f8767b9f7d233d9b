"""What the steps of a plan share: what is wished for, and the files as they become."""

from dataclasses import dataclass, field

from kds.clients.generated.mark import FileState, state_of
from kds.clients.programs import Programs
from kds.clients.project import Project
from kds.clients.record import FileKind, InitRecord
from kds.clients.settings.jsontext import KeyPath
from kds.clients.settings.projectfile import read_project_text
from kds.clients.settings.settingsfile import EMPTY, SettingsFile
from kds.clients.table import Client
from kds.router.prompts.library import PromptLibrary


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked `kds init` for: ``hook`` is for which of the clients.

    ``start``: the hook may start the service.
    """

    clients: tuple[Client, ...]
    hook: frozenset[Client] = frozenset()
    mcp: bool = False
    skills: bool = False
    start: bool = True


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file of the project before and after; None where there is none."""

    name: str
    kind: FileKind
    before: str | None
    after: str | None
    made: tuple[KeyPath, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything is to be written or removed."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Planning:
    """A plan in the making: what its steps share, and what has come of them."""

    project: Project
    wish: Wish
    programs: Programs
    library: PromptLibrary
    record: InitRecord
    files: list[PlannedFile] = field(default_factory=list)
    """In the order in which they are written."""
    notes: list[str] = field(default_factory=list)
    """What the user should know."""
    _planned: dict[str, SettingsFile] = field(default_factory=dict)

    def settings(self, name: str) -> SettingsFile:
        """A settings file as an earlier step leaves it, as it stands, or an empty one."""
        if name in self._planned:
            return self._planned[name]
        path = self.project.path(name)
        known = self.record.files.get(name)
        text = read_project_text(path)
        made = list(known.made) if known and text is not None else []
        return SettingsFile(str(path), text or EMPTY, made)

    def page(self, name: str) -> str | None:
        """The text of another file of the project, None where there is none."""
        return read_project_text(self.project.path(name))

    def add(self, name: str, settings: SettingsFile) -> None:
        """Plan a settings file as it has become; one that was made for us goes when bare."""
        before = read_project_text(self.project.path(name))
        known = self.record.files.get(name)
        ours = known is not None and known.before is None
        after: str | None = settings.text
        if (before is None or ours) and settings.is_bare():
            after = None
        made = tuple(settings.made)
        self._planned[name] = settings
        self.put(PlannedFile(name, "settings", before, after, made))

    def put(self, file: PlannedFile) -> None:
        """Plan a file; it takes the place of what an earlier step planned for it."""
        self.files[:] = [one for one in self.files if one.name != file.name]
        self.files.append(file)

    def put_generated(self, name: str, text: str) -> None:
        """Plan a file that is KDS's own, unless somebody else's stands there, or an edited one."""
        before = self.page(name)
        state = state_of(before, text)
        if state in ("edited", "foreign"):
            self.note_kept(name, state)
        after = before if state in ("edited", "foreign") else text
        self.put(PlannedFile(name, "generated", before, after))

    def note_kept(self, name: str, state: FileState) -> None:
        """Say why a file stays as it is."""
        why = "changed by hand" if state == "edited" else "not written by KDS"
        self.notes.append(f"{name} stays as it is: {why}")
