"""Documents that questions are asked about: sections, passages, recall (docs/documents.md)."""
