"""The optimiser, its verdicts and its explanations."""
