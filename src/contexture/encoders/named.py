"""Which models a name stands for, told and checked before what loads models is loaded itself."""

from functools import cache
from pathlib import Path

from huggingface_hub import HfApi, try_to_load_from_cache
from huggingface_hub.constants import HF_HUB_ETAG_TIMEOUT
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from contexture.encoders.saved import is_encoder
from contexture.folders import find_upwards
from contexture.packages import encoder_path
from contexture.vocabulary.words import VECTORS_FILE

#: Files of which a folder that sentence-transformers loads, or a model on the hub, has one.
PUBLISHED = ("modules.json", "config.json")


def model_places(name: str) -> list[str]:
    """The models that a name stands for, several joined by `+`: folders, from here or a folder above, or hub names.

    Raises ValueError, naming it, for a folder that is not there or holds no model, and for what neither the hub nor
    its cache has.
    """
    name = encoder_path(name)
    folder = find_upwards(Path(name)) if name.count("/") > 1 and name[0] not in ".~" else Path(name)
    if not folder.exists() and "+" in name:
        return [place for part in name.split("+") for place in model_places(part)]
    if folder.exists():
        if not is_encoder(folder) and not any((folder / file).exists() for file in (VECTORS_FILE, *PUBLISHED)):
            raise ValueError(f"{name}: this folder holds no model")
        return [str(folder)]
    if is_path(name):
        raise ValueError(f"{name}: there is no such folder, and no model is named so")
    hub_answers(name)
    return [name]


@cache
def hub_answers(name: str) -> bool:
    """Whether the Hugging Face hub can be asked for a model; where it cannot, what was downloaded before is there.

    It is asked once, as its own client tries again for half a minute, and that for every file. Raises ValueError where
    nothing was downloaded.
    """
    try:
        HfApi().model_info(name, timeout=HF_HUB_ETAG_TIMEOUT)
    except HfHubHTTPError:
        return True  # it says what is wrong when the model is loaded; the short names of some are not known to it
    except HFValidationError:
        raise ValueError(f"{name}: there is no such folder, and no model is named so") from None
    except Exception as error:  # of whatever the network is reached by
        known = (name, f"sentence-transformers/{name}") if "/" not in name else (name,)
        if not any(isinstance(try_to_load_from_cache(one, file), str) for one in known for file in PUBLISHED):
            raise ValueError(
                f"{name}: there is no such folder, and the Hugging Face hub cannot be asked for such a model "
                f"({first_line(error)}); without it only models that were downloaded before can be loaded"
            ) from None
        return False
    return True


def first_line(error: Exception) -> str:
    """What a library's error says first, or what it is."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def is_path(name: str) -> bool:
    """Whether this cannot be a model's name on the hub: an owner and a name, or a name."""
    return not name or name.startswith(("/", ".", "~")) or name.endswith("/") or name.count("/") > 1
