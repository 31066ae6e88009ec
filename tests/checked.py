"""`check` on the interpreter alone, for tests that ask for hundreds of programs: kernels have tests of
their own, and each program's would have to be compiled first."""

from __future__ import annotations

from functools import partial

import logosnb

check = partial(logosnb.check, backends=("interpreter",))
