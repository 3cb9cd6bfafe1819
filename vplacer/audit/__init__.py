"""Rules over a snapshot and the violations of the judge."""
