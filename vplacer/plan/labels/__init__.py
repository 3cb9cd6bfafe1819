"""Hardware labels that let Dynamic DirectPath and DRS land where they should, on any host of a cluster."""
