"""What a licence is good for: DRS, vMotion, vGPU, by its feature list and, failing that, its edition.

The feature list (LicenseInfo.properties, key "feature") names DRS as "drs" and vMotion as "vmotion"
(vSphere API: LicenseManagerLicenseKey; public listings of real licences). It has no known key for vGPU,
so that follows from the edition: docs/assumptions.md A-31. Edition keys seen in public scripts and
reports: esx.enterprisePlus.*, esx.standard.*, esx.essentials*, esx.hypervisor.free, eval,
vc.standard.instance (centreon-plugins #5628).
"""

from __future__ import annotations

from enum import StrEnum

from vplacer.doctor.observed import Licence, Sample, Untold

DRS = "DRS"
VMOTION = "vMotion"
VGPU = "vGPU"

_FEATURE_KEYS = {DRS: "drs", VMOTION: "vmotion"}
_EVERYTHING = ("eval", "esx.enterpriseplus", "esx.vcf", "esx.vvf", "vcf", "vvf")
_FREE = ("esx.hypervisor", "esxbasic", "esx.basic", "esx.free")
_WITHOUT_DRS = ("esx.standard", "esx.essentials", *_FREE)
_WITHOUT_VMOTION = ("esx.essentials.", *_FREE)


class Has(StrEnum):
    """Whether a licence has a feature, and how that is known."""

    YES = "yes"
    NO = "no"
    LIKELY = "likely, by the edition"
    UNLIKELY = "unlikely, by the edition"
    UNKNOWN = "not known"


def is_host_licence(licence: Licence) -> bool:
    """Whether a licence is one for hosts (not for a vCenter, vSAN or another product)."""
    edition = licence.edition.casefold()
    return _is_evaluation(licence) or edition.startswith(("esx", "vcf", "vvf"))


def in_use(licence: Licence, assigned: Sample | Untold) -> bool | None:
    """Say whether a licence is used by a host; None = not known.

    A vCenter lists its evaluation among the licences for good, mostly without a number of uses, and with
    an end that is long past.

    Args:
        licence: the licence.
        assigned: whose assignments were read.
    """
    if licence.hosts:
        return True
    if licence.used is not None:
        return licence.used > 0
    whole = isinstance(assigned, Sample) and assigned.looked_at == assigned.of
    return False if whole or _is_evaluation(licence) else None


def _is_evaluation(licence: Licence) -> bool:
    return licence.edition.casefold() == "eval"


def has_feature(licence: Licence, feature: str) -> Has:
    """Say whether a host licence has a feature."""
    edition = licence.edition.casefold()
    key = _FEATURE_KEYS.get(feature)
    # An evaluation has everything, and public simulators list only some of it.
    if key is not None and licence.features and not _is_evaluation(licence):
        named = {text.partition(":")[0].casefold() for text in licence.features}
        return Has.YES if key in named else Has.NO
    without = {DRS: _WITHOUT_DRS, VMOTION: _WITHOUT_VMOTION, VGPU: _WITHOUT_DRS}[feature]
    if edition.startswith(without):
        return Has.UNLIKELY
    return Has.LIKELY if edition.startswith(_EVERYTHING) else Has.UNKNOWN
