"""Words: tokens, parts of speech, noun phrases, clauses and word forms of a text."""
