"""`kds help`, `status`, `config` and `logs`: what KDS is, here and now."""
