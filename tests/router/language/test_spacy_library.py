"""spaCy without its command line, which is there all the same for whoever wants it."""

import subprocess
import sys


def _printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_only_the_command_line_of_spacy_needs_is_not_loaded() -> None:
    code = (
        "import sys; from kds.router.language.spacy_library import import_spacy; import_spacy();"
        "print({'spacy.cli', 'typer', 'weasel', 'requests'} & {*sys.modules})"
    )
    assert _printed(code) == "set()"


def test_the_command_line_of_spacy_can_be_imported_afterwards() -> None:
    code = (
        "from kds.router.language.spacy_library import import_spacy; import_spacy(); import spacy;"
        "print('spacy_version' in spacy.info(silent=True));"
        "import spacy.cli; print(callable(spacy.cli.app))"
    )
    assert _printed(code).splitlines()[-2:] == ["True", "True"]


def test_a_spacy_that_is_loaded_already_is_taken_as_it_is() -> None:
    code = (
        "import spacy; from kds.router.language.spacy_library import import_spacy;"
        "import_spacy(); print('spacy.cli' in __import__('sys').modules)"
    )
    assert _printed(code) == "True"
