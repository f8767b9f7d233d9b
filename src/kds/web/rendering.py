"""Templates: everything escaped, and a name that is not there is an error, not an empty place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kds.brain.clock import minute
from kds.brain.installation import kds_version
from kds.web.assets import Assets

FOLDER: Final = Path(__file__).parent / "templates"

HTMX_CONFIG: Final = (
    '{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true,'
    '"historyCacheSize":0,"historyRestoreAsHxRequest":false,'
    '"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}'
)
"""No style and no code of htmx's own making, which the policy would refuse; errors are shown;
nothing of a page is kept in the browser."""


class Renderer:
    """Renders the templates of the package."""

    def __init__(self, assets: Assets, navigation: Sequence[object]) -> None:
        """What stands in the ``navigation`` has a ``label`` and a ``path``."""
        self._environment = Environment(
            loader=FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            asset=assets.address,
            navigation=tuple(navigation),
            version=kds_version(),
            htmx_config=HTMX_CONFIG,
        )
        self._environment.filters["moment"] = minute

    def render(self, template: str, values: dict[str, object]) -> str:
        """Fill a template in. Raises jinja2's errors, which are faults of ours."""
        return self._environment.get_template(template).render(values)
