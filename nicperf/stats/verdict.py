"""The four verdicts, and the rule that chooses one of them.

The words are fixed, so that a reader may compare ledgers: *reproduced* (inside the tolerance), *direction
only* (outside it, but the change against the reference has the published sign and exceeds the noise), *not
reproduced*, and *cannot tell* (nothing predicted, or a source printed too coarsely to judge).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

REPRODUCED = "reproduced"
DIRECTION_ONLY = "direction only"
NOT_REPRODUCED = "not reproduced"
CANNOT_TELL = "cannot tell"
VERDICTS = (REPRODUCED, DIRECTION_ONLY, NOT_REPRODUCED, CANNOT_TELL)

_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?(\d*)|\.(\d+))")


@dataclass(frozen=True)
class Judgement:
    """One verdict with the reason for it.

    Attributes
    ----------
    verdict : str
        One of `VERDICTS`.
    why : str
        The reason in one sentence, made from the numbers.
    error_percent : float
        100 * (predicted - published) / published; NaN where nothing can be compared.
    """

    verdict: str
    why: str
    error_percent: float


def judge(
    published: float,
    predicted: float | None,
    tolerance: float | None,
    *,
    noise: float = 0.0,
    resolution: float = 0.0,
    reference: tuple[float, float] | None = None,
    reference_name: str = "the reference",
) -> Judgement:
    """Say whether a prediction reproduces a published figure.

    Parameters
    ----------
    published, predicted : float
        In the same unit; `predicted` None or NaN when the model says nothing about this figure.
    tolerance : float or None
        Largest relative error that still counts as reproduced (0.02 is 2 %); None for a figure nobody judges.
    noise : float
        Relative run-to-run spread of this quantity; a smaller change has no direction.
    resolution : float
        Half of the last printed digit, relative to the figure (see `printed_resolution`).
    reference : (float, float), optional
        The published and the predicted figure that the change is measured against.
    reference_name : str
        What that reference is called in the sentence.

    Returns
    -------
    Judgement

    Examples
    --------
    >>> judge(100.0, 101.0, 0.02).verdict
    'reproduced'
    >>> judge(120.0, 110.0, 0.02, reference=(100.0, 100.0)).verdict
    'direction only'
    """
    if predicted is None or math.isnan(predicted):
        return Judgement(CANNOT_TELL, "The model makes no statement about this figure.", math.nan)
    if tolerance is None:
        return Judgement(CANNOT_TELL, "No tolerance is set for this quantity.", _error(published, predicted))
    if published == 0 or resolution > tolerance:
        coarse = (
            "a relative error needs a figure other than 0"
            if published == 0
            else (f"it is printed to +-{resolution:.1%}, the tolerance is {tolerance:.0%}")
        )
        return Judgement(CANNOT_TELL, f"The source is too coarse: {coarse}.", _error(published, predicted))
    error = predicted / published - 1
    size = f"{abs(error):.1%} {'above' if error > 0 else 'below'} the published figure"
    if abs(error) <= tolerance:
        return Judgement(REPRODUCED, f"{size}, inside {tolerance:.0%}.", 100 * error)
    missed = f"{size}, outside {tolerance:.0%}"
    if reference is None:
        return Judgement(NOT_REPRODUCED, f"{missed}.", 100 * error)
    then, now = published / reference[0] - 1, predicted / reference[1] - 1
    moved = f"the change against {reference_name} is {now:+.1%}, published {then:+.1%}"
    if then * now > 0 and min(abs(then), abs(now)) > noise:
        return Judgement(DIRECTION_ONLY, f"{missed}; {moved}.", 100 * error)
    inside = f" (noise {noise:.1%})" if min(abs(then), abs(now)) <= noise else ""
    return Judgement(NOT_REPRODUCED, f"{missed}; {moved}{inside}.", 100 * error)


def printed_resolution(value_text: str) -> float:
    """Half a unit of the last printed digit, relative to the printed number.

    Parameters
    ----------
    value_text : str
        The figure as the source prints it; the first number in it counts.

    Returns
    -------
    float
        0 for a zero and for text without a number.

    Examples
    --------
    >>> printed_resolution("100.0")
    0.0005
    >>> printed_resolution("4 %")
    0.125
    """
    match = _NUMBER.search(value_text)
    number = abs(float(match[0].replace(",", ""))) if match else 0.0
    if not match or not number:
        return 0.0
    return 0.5 * 10.0 ** -len(match[1] or match[2] or "") / number


def _error(published: float, predicted: float) -> float:
    return 100 * (predicted / published - 1) if published else math.nan
