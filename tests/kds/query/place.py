"""A workspace with two documents, for the tests of the query service."""

from pathlib import Path

from kds.brain.documents.store import DocumentPlace
from kds.brain.workspace import Workspace
from kds.readers.reading import read_document, read_source

AGREEMENT = """\
# Harbor Loan Agreement

## 1 Definitions

"Business Day" means a day on which banks in Lisbon are open.

"Determination Date" means the 12th day of each month. If the Determination Date is not a
Business Day, it is the next Business Day.

"Closing Date" means March 14, 2031. The Closing Date is never moved.

## 2 Fees

### 2.1 Servicing fee

The Servicer is paid 0.25 percent of the outstanding balance a year, on each Determination Date.

### 2.2 Late fee

A payment that is late by more than five days costs 2 percent of the amount.

## 3 Reports

The Servicer sends the monthly report to the Lender two days after the Determination Date.
"""

HANDBOOK = """\
# Bakery Handbook

## Opening hours

The bakery opens at 6 in the morning, except on Mondays.

## Fees

A late delivery costs the supplier a fee of 20 euros. Reports of late deliveries go to the owner.
"""


def add_documents(workspace: Workspace) -> tuple[Path, Path]:
    """Write two documents into a workspace and index them."""
    workspace.ensure()
    paths = []
    with DocumentPlace(workspace).open() as store:
        for name, text in (("agreement.md", AGREEMENT), ("handbook.md", HANDBOOK)):
            path = workspace.root / name
            path.write_text(text, encoding="utf-8")
            data, source = read_source(path.resolve())
            store.put(read_document(path, data), source)
            paths.append(path)
    return paths[0], paths[1]
