"""One module a rule: see `vplacer.audit.registry`."""
