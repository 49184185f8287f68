"""How every configuration dataclass of the project is checked."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

#: Unknown keys are refused, defaults are checked like values that are given, and numbers are finite.
STRICT = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)

Positive = Annotated[int, Field(gt=0)]


def drop_null(values: Any) -> Any:
    """A mapping without its entries that are null; for null itself an empty one."""
    if isinstance(values, Mapping):
        return {key: value for key, value in values.items() if value is not None}
    return {} if values is None else values


#: For mappings: as an environment adds to the mapping of conf/base, null is how it removes an entry, or all of them.
DropNull = BeforeValidator(drop_null)


def validate(kind: Any, values: Any, *key: str) -> Any:
    """The values as their kind; ValidationError with every fault, each by its key below `key`.

    Raised while something larger is checked, the faults join those of the whole.
    """
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise move_errors(error, *key) from None


def move_errors(error: ValidationError, *key: str) -> ValidationError:
    """The same faults, by their keys below `key`."""
    details = [
        InitErrorDetails(type=fault["type"], loc=(*key, *fault["loc"]), input=fault["input"], ctx=fault.get("ctx", {}))
        for fault in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, details)


def key_error(message: str, *key: str) -> ValidationError:
    """An error about one key; raised while something larger is checked, it joins the faults of the whole."""
    error = InitErrorDetails(type="value_error", loc=key, input=None, ctx={"error": ValueError(message)})
    return ValidationError.from_exception_data("", [error])
