"""From a solution to reviewed steps: differences, impact, order, the plan file."""
