"""Rules with stable ids over a snapshot, its topologies and the violations of the judge."""
