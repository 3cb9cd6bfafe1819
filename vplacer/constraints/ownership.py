"""VMs that are not vplacer's to change. The rule needs nothing but the VM, so it lives with the model."""

from vplacer.inventory.ownership import IGNORE_TAG, reason_left_alone

__all__ = ["IGNORE_TAG", "reason_left_alone"]
