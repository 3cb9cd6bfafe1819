"""The account that example sessions are recorded with.

No other file in the repository may contain either value, in any spelling: a recording that still
holds one was not scrubbed. `tests/packaging/test_no_credentials.py` looks for them.
"""

RECORD_USER = "recorder@vplacer.example"
RECORD_PASSWORD = "Zk7-recorded-Secret"
