"""The request file: YAML, its JSON Schema and validation with file:line errors."""
