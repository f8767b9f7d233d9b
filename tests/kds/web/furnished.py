"""A site with something on every page, and where its pages are."""

import json
from typing import Final

from ..readers.document_files import pdf_bytes
from .conftest import Visitor

TALK: Final = ("I want to add a FAB button", "Make it purple", "now write tests for it")
GUIDE: Final = b"""\
# Deploy Guide

## 1 Staging

Staging listens on port 8443. The retry policy has three attempts.

## 2 Rollback

Roll back within ten minutes; tell the people on call.
"""
MARKDOWN: Final = (
    """\
| left | right |
|:-----|------:|
| a    | 1     |

- [x] done
- [ ] to do

\u05e9\u05dc\u05d5\u05dd to all

- \u05e9\u05dc\u05d5\u05dd

```python
def here():
    return 11  # """
    + "x" * 300
    + """
```

```html
<b class="second">
```

"""
    + "| column " * 20
    + "|\n"
    + "|---" * 20
    + "|\n"
)
PURPOSE: Final = "knowing my stack"


def furnish(visitor: Visitor) -> dict[str, str]:
    """Talk, add documents and consent to a profile; returns the pages, by what they show."""
    address = visitor.send_form("/chat/send", message=TALK[0]).url
    session = address.params["session"]
    for message in TALK[1:]:
        visitor.send_form("/chat/send", message=message, session=session)
    visitor.send_form("/chat/learn", message="give the header some love", intent="PLAN")
    visitor.send_form("/chat/rename", session=session, title="A button")
    kept = archive(("rich", "Markdown", ["What can you show?", MARKDOWN]))
    visitor.send_form("/chat/import", files={"file": ("rich.json", kept)})
    sheet = pdf_bytes([["# Fees", "The fee is low."], ["# Costs", "Costs are high."]], title="Fees")
    visitor.add_files(file=("guide.md", GUIDE))
    visitor.add_files(file=("sheet.pdf", sheet))
    visitor.send_form("/memory/consent", purpose=PURPOSE)
    visitor.send_form("/memory/profile", name="Ada", preferences="tests=pytest\n")
    listed = visitor.get("/documents").text.partition('">Deploy Guide</a>')[0]
    document = listed.rpartition("document=")[2]
    return {
        "a new chat": "/chat",
        "a chat": f"/chat?session={session}",
        "code, tables and tasks": "/chat?session=rich",
        "sessions searched": "/chat?search=purple",
        "what was meant": f"/chat/mend?session={session}&seq=3",
        "memory": "/memory",
        "memory searched": "/memory?q=which+port+does+staging+use",
        "a session": f"/memory/session?session={session}",
        "upkeep": "/memory/cleanup?days=1",
        "documents": "/documents",
        "documents asked": "/documents?q=which+port+does+staging+use",
        "a document": f"/documents/open?document={document}",
        "a cited page": "/documents/open?path=sheet.pdf&page=2&quote=Costs+are+high.",
        "a passage that is gone": "/documents/open?path=sheet.pdf&page=2&quote=Costs+are+low.",
        "analytics": "/analytics?days=7",
        "settings": "/settings",
        "an error": "/memory/session?session=nothing",
        "no page": "/nothing",
        "login refused": "/login?token=wrong",
        "logged out": "/login",
    }


def archive(*sessions: tuple[str, str, list[str]]) -> bytes:
    """A file of exported sessions: each an id, a title and what was said."""
    at = "2025-11-03T09:00:00Z"
    return json.dumps({"kds_memory": 1, "sessions": [
        {"id": name, "title": title, "created_at": at, "updated_at": at, "messages": [
            {"role": "assistant" if number % 2 else "user", "content": text, "at": at,
             "speaker": text[:40]}
            for number, text in enumerate(messages)
        ]}
        for name, title, messages in sessions
    ]}).encode()  # fmt: skip
