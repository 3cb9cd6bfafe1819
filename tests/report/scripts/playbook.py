"""Reads playbooks as Ansible does: what is marked !unsafe is data."""

from __future__ import annotations

import yaml


class Unsafe(str):
    """A text that Ansible takes for data, whatever it holds."""


class PlaybookLoader(yaml.SafeLoader):
    """Knows Ansible's tag for data."""


PlaybookLoader.add_constructor("!unsafe", lambda loader, node: Unsafe(loader.construct_scalar(node)))
