"""How every configuration dataclass of the project is checked."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

#: Unknown keys are refused, defaults are checked like values that are given, and numbers are finite.
STRICT = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)

Positive = Annotated[int, Field(gt=0)]


def checked(kind: Any, values: Any, *place: str) -> Any:
    """The values as their kind; ValidationError with every fault, each by its key below `place`.

    Raised while something larger is checked, the faults join those of the whole.
    """
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise placed(error, *place) from None


def placed(error: ValidationError, *place: str) -> ValidationError:
    """The same faults, by their keys below `place`."""
    faults = [
        InitErrorDetails(
            type=fault["type"], loc=(*place, *fault["loc"]), input=fault["input"], ctx=fault.get("ctx", {})
        )
        for fault in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, faults)
