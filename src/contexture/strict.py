"""How every configuration dataclass of the project is checked."""

from pydantic import ConfigDict

#: Unknown keys are refused, and a value is never silently turned into another type than its own.
STRICT = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)
