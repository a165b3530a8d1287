"""The colours of figures and pages differ for all common kinds of colour vision.

The simulation of dichromats is that of Machado, Oliveira and Fernandes (2009), at severity 1.0; distances are CIE 1976
in Lab. Colours of small areas are confused below a distance of about 10.
"""

import numpy as np
import pytest

from experiments.drawing import OTHERS, OUTSIDE, PALETTE
from simmodels.ground.numbers import Floats

VISION = {
    "usual": np.eye(3),
    "protanopia": np.array([
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998],
    ]),
    "deuteranopia": np.array([
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881],
    ]),
    "tritanopia": np.array([
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900],
    ]),
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def lab(colour: str, vision: str) -> Floats:
    """Return a colour of sRGB as seen, in CIE Lab."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = TO_XYZ @ np.clip(VISION[vision] @ linear, 0, 1) / WHITE
    x, y, z = np.where(seen > 0.008856, np.cbrt(seen), 7.787 * seen + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISION)
def test_colours_can_be_distinguished(vision: str) -> None:
    seen = {colour: lab(colour, vision) for colour in (*PALETTE, OTHERS, OUTSIDE)}
    for one, first in seen.items():
        for other, second in seen.items():
            assert one == other or np.linalg.norm(first - second) >= 10, (one, other)
