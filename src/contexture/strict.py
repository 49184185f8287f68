"""Validation of all configuration dataclasses."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

from contexture.messages import explain_unknown

#: Unknown keys are errors, defaults are validated, and numbers are finite.
STRICT = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)

Positive = Annotated[int, Field(gt=0)]


def drop_null(values: Any) -> Any:
    """Return a mapping without null entries; {} for null."""
    if isinstance(values, Mapping):
        return {key: value for key, value in values.items() if value is not None}
    return {} if values is None else values


def refuse_repeated(entries: Any) -> Any:
    """Return a list, or None; raises ValueError if an entry is listed twice."""
    if entries is not None and len(set(entries)) < len(entries):
        raise ValueError(f"remove the entry that is listed twice: {entries}")
    return entries


#: For lists: their entries differ.
Unique = AfterValidator(refuse_repeated)

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
    """Return the errors of `error` with `key` put before the key of each."""
    details = [
        InitErrorDetails(type=fault["type"], loc=(*key, *fault["loc"]), input=fault["input"], ctx=fault.get("ctx", {}))
        for fault in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, details)


def key_error(message: str, *key: str) -> ValidationError:
    """Return a ValidationError with a message about one key; an enclosing validation adds it to its own."""
    error = InitErrorDetails(type="value_error", loc=key, input=None, ctx={"error": ValueError(message)})
    return ValidationError.from_exception_data("", [error])


def check_names(noun: str, names: Iterable[str], known: Collection[str], *key: str) -> None:
    """Raise a ValidationError at `key` if some of `names` are not in `known`."""
    if unknown := [name for name in dict.fromkeys(names) if name not in known]:
        raise key_error(explain_unknown(noun, unknown, known), *key)


class TypedValues:
    """Validator of a mapping whose values have a type for each key."""

    def __init__(self, kinds: Mapping[str, Any], noun: str) -> None:
        """`kinds`: key → type; `noun` names a key in errors."""
        self.kinds, self.noun = kinds, noun

    def __call__(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return typed values; ValidationError with the keys of all errors."""
        for name in values:
            if name not in self.kinds:
                raise key_error(explain_unknown(self.noun, [name], self.kinds), name)
        return {name: validate(self.kinds[name], value, name) for name, value in values.items()}


def list_kinds(option: Any) -> tuple[str, ...]:
    """Return the possible values of the field `kind` of a dataclass, by which members of a union differ."""
    return get_args(get_type_hints(option).get("kind"))


def list_fields(kind: Any, key: Sequence[str]) -> list[str]:
    """Return the names of the settings at `key` of a type of settings; [] if there are no settings.

    `key` has the names of fields, keys of mappings, positions in lists, and kinds of unions, as in a ValidationError.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        validators = [data.func for data in arguments[1:] if isinstance(data, AfterValidator)]
        typed = [validator.kinds for validator in validators if isinstance(validator, TypedValues)]
        if typed and key:
            return list_fields(typed[0].get(key[0]), key[1:])
        return list_fields(arguments[0], key)
    if origin in (Union, UnionType):
        named = [option for option in arguments if is_dataclass(option) and key and key[0] in list_kinds(option)]
        candidates = [list_fields(option, key[1:]) for option in named] or [
            list_fields(option, key) for option in arguments
        ]
        return next(filter(None, candidates), [])
    if origin in (dict, list):
        return list_fields(arguments[-1], key[1:]) if key else []
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    if not is_model and not is_dataclass(kind):
        return []
    names = list(kind.model_fields) if is_model else [field.name for field in fields(kind)]
    if not key:
        return names
    return list_fields(get_type_hints(kind, include_extras=True)[key[0]], key[1:]) if key[0] in names else []
