"""How every configuration dataclass of the project is checked."""

from pydantic import ConfigDict

#: Unknown keys are refused, defaults are checked like values that are given, and numbers are finite.
STRICT = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)
