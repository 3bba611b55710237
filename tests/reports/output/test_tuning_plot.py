"""The curve of a tuned policy is well-formed SVG whatever a program is called."""

from xml.etree import ElementTree

import pytest

from reports.output import tuning_plot
from reports.rows import Environment
from reports.rows.experiments import TunePoint, TuneQuestion, Tuning

SVG = "{http://www.w3.org/2000/svg}"


def point(kind, array_bytes, call, inlined=()):
    return TunePoint(
        kind=kind, inlined=inlined, array_bytes=array_bytes, call_seconds=call, first_seconds=0.5,
        const_args=1, text_bytes=1, inlined_bytes=0, optimised_constant_bytes=0,
        argument_bytes=None, temporary_bytes=None,
    )  # fmt: skip


def tuning(*points, program="model.py:step", noise=0.1):
    environment = dict.fromkeys(Environment.model_fields, "x") | {"device_count": 1, "cpu_count": 1}
    return Tuning(
        created="", environment=Environment(**environment), program=program, source="model.py:3",
        question=TuneQuestion(), arrays=(), points=points, call_noise=noise, first_noise=0.0,
        proposal={}, reason="why",
    )  # fmt: skip


CURVE = (
    point("all hoisted", 0, 0.4),
    point("alone", 1024, 0.3, ("float32[256]",)),
    point("path", 1024, 0.3, ("float32[256]",)),
    point("path", 3072, 0.1, ("float32[256]", "float32[512]")),
    point("all inlined", 4096, 0.2),
)


def drawn(found):
    return ElementTree.fromstring(tuning_plot.render(found))


def test_the_points_of_the_curve_are_where_they_were_measured():
    svg = drawn(tuning(*CURVE))
    marks = [
        (mark.get("class"), float(mark.get("cx")), float(mark.get("cy")))
        for mark in svg.iter(f"{SVG}circle")
    ]
    # 0 to 4 KiB from 90 to 730, and 0 to 0.4 s from 380 to 70.
    assert marks == [
        ("hoisted", 90.0, 70.0),
        ("alone", 250.0, 147.5),
        ("path", 250.0, 147.5),
        ("path", 570.0, 302.5),
        ("inlined", 730.0, 225.0),
    ]
    [curve] = svg.iter(f"{SVG}polyline")
    assert curve.get("points") == "90.0,70.0 250.0,147.5 570.0,302.5"
    texts = [text.text for text in svg.iter(f"{SVG}text")]
    assert {"0 B", "1.0 KiB", "4.0 KiB", "100 ms", "400 ms"} <= set(texts)


def test_the_noise_is_a_band_around_all_hoisted():
    svg = drawn(tuning(*CURVE, point("path", 0, 0.8), noise=0.25))
    [band] = svg.iter(f"{SVG}rect")
    y, height = float(band.get("y")), float(band.get("height"))
    assert (y, y + height) == pytest.approx(
        (380 - 310 * 0.5 / 0.8, 380 - 310 * 0.32 / 0.8), abs=0.1
    )


@pytest.mark.parametrize("points", [CURVE[:1], (point("all hoisted", 0, 1e-6), CURVE[1])])
def test_a_curve_of_few_points(points):
    assert len(list(drawn(tuning(*points)).iter(f"{SVG}circle"))) == len(points)


def test_names_are_escaped():
    name = "<script>alert('&\"')</script>\x00\x1b[31m.py:f"
    svg = drawn(tuning(*CURVE, point("alone", 1, 0.1, ('"/><x a="',)), program=name))
    assert svg.find(f"{SVG}title").text.startswith("<script>alert('&\"')</script>\\x00")
    assert {element.tag.removeprefix(SVG) for element in svg.iter()} <= {
        "svg", "title", "desc", "style", "text", "tspan", "rect", "line", "polyline", "circle"
    }  # fmt: skip
