"""One module per command: parse, call the job, render, exit code."""
