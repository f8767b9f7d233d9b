"""Two documents to search in, a lease in plain text and a guide in Markdown; and made-up ones."""

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from kds.brain.documents.content import Block, Content, Heading, Part, Source
from kds.brain.documents.document_values import Document
from kds.brain.documents.documents import Documents
from kds.brain.documents.heading import read_heading

Put = Callable[..., Document]

LEASE = """\
COMMERCIAL LEASE

This Commercial Lease is made on 3 March 2024 between Oakfield Properties Ltd (the "Landlord") and
Brightwater Bakery LLP (the "Tenant"; together with the Landlord, the "Parties").

ARTICLE I

DEFINITIONS

Section 1.01 Terms. In this Lease the following terms are used.

"Base Rent" means 4,200 pounds a month, adjusted under Section 3.02.

"Business Day" means a day other than a Saturday, a Sunday or a public holiday in Leeds.

"Commencement Date" shall mean 1 April 2024.

"Deposit": the sum of 12,600 pounds paid by the Tenant on signing.

"Expiry Date" means the day five years after the Commencement Date.

"Payment Date" means the first day of each month; if that is not a Business Day, the next Business
Day.

"Premises" has the meaning given in Schedule 1.

"Service Charge" means the Tenant's share, 18 %, of the cost of keeping the building in repair.

ARTICLE II

TERM

Section 2.01 Beginning and end. The lease begins on the Commencement Date and ends on the Expiry
Date, unless it is ended before under Section 6.01.

Section 2.02 Renewal. The Tenant may renew the lease once, for three years, by notice given at least
six months before the Expiry Date. The rent of the renewed term is the market rent.

ARTICLE III

RENT

Section 3.01 Payment. The Tenant pays the Base Rent on each Payment Date by standing order. The
Landlord need not send an invoice.

Section 3.02 Review. On each second anniversary of the Commencement Date the Base Rent rises with
the index of consumer prices, but by no more than 5 %.

Section 3.03 Late payment. On sums paid more than seven days after the Payment Date the Tenant pays
interest of 4 % over the base rate of the Bank of England.

Section 3.04 Service Charge. The Tenant pays the Service Charge each quarter. The Landlord sends
an account of it within 90 days of the end of each year.

ARTICLE IV

THE PREMISES

Section 4.01 Use. The Premises are used as a bakery with a shop. Any other use needs the
Landlord's written consent.

Section 4.02 Repairs. The Tenant keeps the inside in good repair. The Landlord repairs the roof, the
outer walls and the pipes.

Section 4.03 Alterations. The Tenant may not alter the structure. Shelves, ovens and partitions may
be put in and must be taken out at the end of the lease.

ARTICLE V

THE DEPOSIT

Section 5.01 Holding. The Landlord keeps the Deposit in a separate account. Interest on it belongs
to the Tenant.

Section 5.02 Return. The Landlord returns the Deposit within 30 days of the Expiry Date, less what
is needed to make good damage. Before anything is kept back, the Landlord sends a list.

ARTICLE VI

ENDING EARLY

Section 6.01 Default. The Landlord may end the lease when Base Rent is unpaid for 21 days after
written notice, or when the Tenant becomes insolvent.

Section 6.02 Break right. The Tenant may end the lease on the third anniversary of the Commencement
Date by six months' notice.

SCHEDULE 1

The ground floor and cellar of 14 Mill Lane, Leeds.
"""

GUIDE = """\
# Parcel API

The Parcel API books shipments and follows them. It speaks JSON over HTTPS.

## Authentication

Send your **API key** in the header `X-Parcel-Key`. A key belongs to one account; create and revoke
keys in the console. Requests without a key are answered with `401`.

## Glossary

| Term | Meaning |
|---|---|
| Shipment | One or more parcels that travel together under one label. |
| Consignee | The person or company that receives a shipment. |
| Manifest | The list of all shipments that a driver collects on one day. |
| Label | The sheet with the bar code that is stuck on a parcel. |

## Shipments

### Creating a shipment

`POST /shipments` takes these fields:

| Field | Type | Required | Description |
|---|---|---|---|
| `reference` | string | no | Your own number, at most 40 characters. |
| `service_level` | string | yes | `economy`, `standard` or `express`. |
| `weight_grams` | integer | yes | At most 31,500. |
| `ship_after` | date | no | The earliest day of collection; today when left out. |

### Cancelling a shipment

A shipment can be cancelled until its manifest is closed. After that, ask the carrier; the price is
not returned.

## Limits

Each account may send 300 requests a minute. Above that the answer is `429`, with the seconds to
wait in `Retry-After`. Searching counts as five requests.

### Retries

Repeat requests that were answered with `500` or `503`, waiting twice as long
each time. Never repeat
a `POST` without an idempotency key.

### Idempotency keys

An idempotency key is a text of your own in the header `Idempotency-Key`. A second request with the
same key within 24 hours returns the first answer.

## Webhooks

We call your address when a shipment changes. Answer within 10 seconds with `200`.

- **Signature**: each call carries an HMAC in `X-Parcel-Signature`; compare it with your secret.
- **Order**: calls may arrive in another order than things happened; look at `occurred_at`.
- **Attempts**: we try eight times in two days, then the event is dropped.

## Frequently asked questions

### Can I ship abroad?

Yes, to 34 countries. Customs papers are made from the fields `contents` and `value`.

### What happens to undeliverable parcels?

After three attempts a parcel waits for seven days at the depot, then it comes back to you. The way
back costs as much as the way there.
"""

WRITTEN = datetime(2026, 1, 2, tzinfo=UTC)


def source_of(text: str, path: str) -> Source:
    return Source(path, len(text), WRITTEN, sha256(text.encode()).hexdigest())


def content_of(title: str, *sections: tuple[str, list[str]]) -> Content:
    """A document of sections with paragraphs."""
    parts = (
        Part(_heading(heading), tuple(map(Block, paragraphs))) for heading, paragraphs in sections
    )
    return Content(title, "text", tuple(parts))


def _heading(text: str) -> Heading | None:
    return read_heading(text, 1) if text else None


def putting(store: Documents) -> Put:
    """What stores sections: ``put("/x/a.txt", ("1 Heading", ["Paragraph."]))``."""

    def put_it(path: str, *sections: tuple[str, list[str]], title: str = "") -> Document:
        content = content_of(title or Path(path).stem, *sections)
        return store.put(content, source_of(repr(sections), path))

    return put_it
