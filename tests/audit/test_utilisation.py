"""Reading what GPUs did: the JSON of Prometheus, tables, and what is neither."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vplacer.audit.utilisation import parse_utilisation
from vplacer.errors import FileFormatError

DCGM = {
    "__name__": "DCGM_FI_DEV_GPU_UTIL",
    "Hostname": "train-1",
    "UUID": "GPU-1",
    "gpu": "0",
    "instance": "10.0.0.7:9400",
    "pci_bus_id": "00000000:03:00.0",
}


def _answer(*series: tuple[dict[str, str], list[list[Any]]]) -> bytes:
    result = [{"metric": labels, "values": values} for labels, values in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def test_prometheus() -> None:
    found = parse_utilisation(_answer((DCGM, [[1735000000, "0"], [1735003600.5, "97"]])), "dir/use.json")
    assert found.source == "use.json"
    (series,) = found.series
    assert series.samples == ((1735000000.0, 0.0), (1735003600.5, 97.0))
    assert series.vm == ("train-1", "10.0.0.7:9400")
    assert (str(series.address), series.gpu, series.host) == ("0000:03:00.0", "GPU-1", None)


@pytest.mark.parametrize("blank", ["NaN", "+Inf", "9223372036854775794", "-1"])
def test_blank_values_are_left_out(blank: str) -> None:
    found = parse_utilisation(_answer((DCGM, [[1, blank], [2, "5"]])), "use.json")
    assert found.series[0].samples == ((2.0, 5.0),)


def test_a_ratio_becomes_per_cent() -> None:
    labels = {**DCGM, "__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE"}
    found = parse_utilisation(_answer((labels, [[1, "0.5"]])), "use.json")
    assert found.series[0].samples == ((1.0, 50.0),)


def test_small_numbers_of_no_metric_are_not_taken_for_idle() -> None:
    labels = {"vm": "train-1"}
    found = parse_utilisation(_answer((labels, [[1, "0.9"], [2, "1"]]), (DCGM, [[1, "0"]])), "use.json")
    assert found.series[0].samples == ()


def test_other_metrics_are_left_out_or_refused() -> None:
    heat = {**DCGM, "__name__": "DCGM_FI_DEV_GPU_TEMP"}
    found = parse_utilisation(_answer((heat, [[1, "41"]]), (DCGM, [[1, "0"]])), "use.json")
    assert [series.samples for series in found.series] == [((1.0, 0.0),)]
    with pytest.raises(FileFormatError, match="DCGM_FI_DEV_GPU_TEMP"):
        parse_utilisation(_answer((heat, [[1, "41"]])), "use.json")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xfe", "no UTF-8"),
        (b"{", "no JSON"),
        (b'{"status": "error", "error": "bad query"}', "error of Prometheus"),
        (b'{"status": "success", "data": {"resultType": "vector", "result": []}}', "query_range"),
        (b'{"status": "success", "data": []}', "query_range"),
        (b'{"status": "success", "data": {"resultType": "matrix", "result": []}}', "no sample"),
        (b'{"status": "success", "data": {"resultType": "matrix", "result": [{"values": []}]}}', "no labels"),
        (b"", "neither"),
        (b"time,util\n1,2\n", "neither"),
        (b"time,vm,util\nyesterday,a,2\n", "ISO 8601"),
        (b"time,vm,util\n1,a,\n", "per cent"),
        (b"time,vm,util\n", "no sample"),
    ],
)
def test_what_is_neither_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(FileFormatError, match=says) as caught:
        parse_utilisation(content, "use.json")
    assert caught.value.path == "use.json"
