"""Which models a name stands for, checked before torch is loaded."""

from functools import cache
from pathlib import Path

from huggingface_hub import HfApi, try_to_load_from_cache
from huggingface_hub.constants import HF_HUB_ETAG_TIMEOUT
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from contexture.encoders.saved import is_encoder
from contexture.folders import above
from contexture.packages import packaged
from contexture.vocabulary.words import VECTORS_FILE

#: A folder that sentence-transformers loads, or a model on the hub, has one of these files.
PUBLISHED_FILES = ("modules.json", "config.json")


def find_models(name: str) -> list[str]:
    """The models that a name stands for, several joined by `+`: folders, from here or a folder above, or hub names.

    Raises ValueError for a folder that does not exist or holds no model, and for a model that nothing can load.
    """
    name = packaged(name)
    folder = above(Path(name)) if name.count("/") > 1 and name[0] not in ".~" else Path(name)
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
    """Whether the Hugging Face hub answers; otherwise the model was downloaded before, or ValueError.

    One request, because the hub's own client repeats it for half a minute, for every file.
    """
    try:
        HfApi().model_info(name, timeout=HF_HUB_ETAG_TIMEOUT)
    except HfHubHTTPError:
        return True  # loading the model says what is wrong; the hub does not know the short names of all models
    except HFValidationError:
        raise ValueError(f"{name}: there is no such folder, and no model is named so") from None
    except Exception as error:  # of whatever the network is reached by
        names = (name, f"sentence-transformers/{name}") if "/" not in name else (name,)
        if not any(isinstance(try_to_load_from_cache(repo, file), str) for repo in names for file in PUBLISHED_FILES):
            raise ValueError(
                f"{name}: there is no such folder, and the Hugging Face hub cannot be asked for such a model "
                f"({first_error_line(error)}); without it only models that were downloaded before can be loaded"
            ) from None
        return False
    return True


def first_error_line(error: Exception) -> str:
    """The first line of a library's error, or its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def is_model_path(name: str) -> bool:
    """Whether this is no name of a model on the hub: an owner and a name, or a name."""
    return not name or name.startswith(("/", ".", "~")) or name.endswith("/") or name.count("/") > 1
