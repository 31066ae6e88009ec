"""`diagnose`: what is wrong with a gradient.

In: a program with its values, and its gradient if there is one. Out: a `Diagnosis`. May not know:
notebooks.
"""

from __future__ import annotations

from logosnb.diagnosis.finding import Diagnosis, Observed
from logosnb.diagnosis.infinite import first_not_finite
from logosnb.diagnosis.norms import changing_norms
from logosnb.diagnosis.units import masked_rows, silent_units, ties
from logosnb.diagnosis.zeros import zero_gradients

DETECTIVES = (first_not_finite, zero_gradients, changing_norms, silent_units, masked_rows, ties)


def diagnose(observed: Observed) -> Diagnosis:
    """Every finding, in the order of DETECTIVES."""
    return Diagnosis(tuple(found for detective in DETECTIVES for found in detective(observed)))
