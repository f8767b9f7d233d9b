"""Views of values for the wire, of HTTP and of MCP: what both need, and nothing heavy."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

Rounded = Annotated[float, AfterValidator(lambda value: round(value, 4))]
"""A score to four decimals."""


class Reply(BaseModel):
    """A view of a value: its fields are read off the attributes of the same name."""

    model_config = ConfigDict(
        from_attributes=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )

    def response(self, status: int = 200) -> Response:
        """The answer that says it."""
        return JSONResponse(self.model_dump(mode="json"), status)


class HitScores(Reply):
    """What each search gave, 0 to 1; null: it has nothing to say."""

    dense: Rounded | None
    lexical: Rounded
    code: Rounded
