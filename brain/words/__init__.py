"""General English and texts: words, stems, names, tokens, times. Knows no store."""
