"""Encoders with the settings of another one: the key `like`."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from contexture.encoders.config import AnyEncoderConfig
from contexture.run_parameters import merged
from contexture.strict import check_names, key_error, validate

#: The name of another encoder of the system.
LIKE = "like"


def complete_alike(encoders: Any) -> Any:
    """Return name → encoder, with the settings of the encoder that the key `like` names; own settings come first.

    It is done after environments and `--params` have changed single settings, which a YAML anchor would not follow.
    Raises ValidationError for invalid settings, an unknown name or a circle. Errors of other encoders are raised first,
    so that those of inherited settings are not repeated.
    """
    if not isinstance(encoders, Mapping):
        return encoders
    likeness = {name: _get_other(encoders, name) for name in encoders}
    independent = [name for name, other in likeness.items() if other is None]
    typed = {name: validate(AnyEncoderConfig, _drop_like(encoders[name]), name) for name in independent}
    alike = {name: _validate_alike(encoders, name, other) for name, other in likeness.items() if other is not None}
    return {name: (typed | alike)[name] for name in encoders}


def _get_other(encoders: Mapping[str, Any], name: str) -> str | None:
    """Return the encoder that an encoder is like; None for none, also if `like` is null."""
    settings = encoders[name]
    other = settings.get(LIKE) if isinstance(settings, Mapping) else None
    if other is not None and not isinstance(other, str):
        raise key_error(f"{other!r} is not the name of an encoder", name, LIKE)
    check_names("encoder", [other] if other else [], encoders, name, LIKE)
    return other


def _drop_like(settings: Any) -> Any:
    return {key: value for key, value in settings.items() if key != LIKE} if isinstance(settings, Mapping) else settings


def _complete(encoders: Mapping[str, Any], name: str, path: tuple[str, ...] = ()) -> Any:
    """Return the settings of an encoder, merged with those of the encoders that it is like."""
    other = _get_other(encoders, name)
    if other is None:
        return _drop_like(encoders[name])
    if other in (name, *path):
        raise key_error(f"{other} is like itself; name an encoder with settings of its own", name, LIKE)
    return merged(_complete(encoders, other, (*path, name)), _drop_like(encoders[name]))


def _validate_alike(encoders: Mapping[str, Any], name: str, other: str) -> Any:
    """Return an encoder like another one; messages about settings that do not fit together name both."""
    try:
        return validate(AnyEncoderConfig, _complete(encoders, name), name)
    except ValidationError as error:
        details = [
            InitErrorDetails(type=fault["type"], loc=fault["loc"], input=fault["input"], ctx=_explain(fault, other))
            for fault in error.errors(include_url=False)
        ]
        raise ValidationError.from_exception_data(error.title, details) from None


def _explain(fault: Mapping[str, Any], other: str) -> dict[str, Any]:
    """Return the context of an error; a message that is ours says whose settings the encoder has."""
    context: dict[str, Any] = fault.get("ctx", {})
    if fault["type"] != "value_error":
        return context
    return {"error": ValueError(f"{context['error']} (it is like {other}, except for settings of its own)")}
