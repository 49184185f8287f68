"""Validation of all configuration dataclasses."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

#: Unknown keys are errors, defaults are validated, and numbers are finite.
STRICT = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)

Positive = Annotated[int, Field(gt=0)]


def drop_null(values: Any) -> Any:
    """Return a mapping without null entries; {} for null."""
    if isinstance(values, Mapping):
        return {key: value for key, value in values.items() if value is not None}
    return {} if values is None else values


#: For mappings: with null, an environment removes an entry of conf/base, or all entries.
DropNull = BeforeValidator(drop_null)


def validate(kind: Any, values: Any, *key: str) -> Any:
    """Return the values as `kind`; ValidationError with all errors, whose keys begin with `key`.

    An enclosing validation adds these errors to its own.
    """
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise move_errors(error, *key) from None


def move_errors(error: ValidationError, *key: str) -> ValidationError:
    """Return the same errors with `key` before their keys."""
    details = [
        InitErrorDetails(type=fault["type"], loc=(*key, *fault["loc"]), input=fault["input"], ctx=fault.get("ctx", {}))
        for fault in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, details)


def key_error(message: str, *key: str) -> ValidationError:
    """Return an error about one key, which an enclosing validation adds to its own."""
    error = InitErrorDetails(type="value_error", loc=key, input=None, ctx={"error": ValueError(message)})
    return ValidationError.from_exception_data("", [error])
