"""Find and check models by name without loading torch."""

from functools import cache
from pathlib import Path

from huggingface_hub import HfApi, try_to_load_from_cache
from huggingface_hub.constants import HF_HUB_ETAG_TIMEOUT
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from contexture.encoders.saved import is_encoder
from contexture.folders import find_upwards
from contexture.packages import encoder_path
from contexture.vocabulary.words import VECTORS_FILE

#: One of these files is in each model on the hub and in each folder that sentence-transformers can load.
PUBLISHED_FILES = ("modules.json", "config.json")


def find_models(name: str) -> list[str]:
    """Return the folders or hub names of the models that `name` joins by `+`; parent folders are searched, too.

    Raises ValueError if a folder is missing or has no model, or if the hub cannot be reached for a new model.
    """
    name = encoder_path(name)
    folder = find_upwards(Path(name)) if name.count("/") > 1 and name[0] not in ".~" else Path(name)
    if not folder.exists() and "+" in name:
        return [model for part in name.split("+") for model in find_models(part)]
    if folder.exists():
        if not is_encoder(folder) and not any((folder / file).exists() for file in (VECTORS_FILE, *PUBLISHED_FILES)):
            raise ValueError(f"{name}: this folder holds no model")
        return [str(folder)]
    if is_model_path(name):
        raise ValueError(f"{name}: there is no such folder, and no model is named so")
    is_hub_reachable(name)
    return [name]


@cache
def is_hub_reachable(name: str) -> bool:
    """Return whether the Hugging Face hub can be asked for a model; raise ValueError if not and it is not in the cache.

    The request is not repeated: the hub's client would repeat it for half a minute, for every file.
    """
    try:
        HfApi().model_info(name, timeout=HF_HUB_ETAG_TIMEOUT)
    except HfHubHTTPError:
        return True  # loading reports errors; the hub does not know all short names
    except HFValidationError:
        raise ValueError(f"{name}: there is no such folder, and no model is named so") from None
    except Exception as error:  # any error of a network library
        names = (name, f"sentence-transformers/{name}") if "/" not in name else (name,)
        if not any(isinstance(try_to_load_from_cache(repo, file), str) for repo in names for file in PUBLISHED_FILES):
            raise ValueError(
                f"{name}: there is no such folder, and the Hugging Face hub cannot be reached "
                f"({first_error_line(error)}); connect to it or name a model that was downloaded before"
            ) from None
        return False
    return True


def first_error_line(error: Exception) -> str:
    """Return the first line of an error's message, or the error's type if it has no message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def is_model_path(name: str) -> bool:
    """Return whether `name` can only be a path, because it is no name on the hub: `owner/name` or `name`."""
    return not name or name.startswith(("/", ".", "~")) or name.endswith("/") or name.count("/") > 1
