"""Every system's configuration, told apart by its `system`."""

from typing import Annotated

from pydantic import Field

from contexture.training.config import MsppSystem
from contexture.training.quick_thoughts_config import QuickThoughtsSystem
from contexture.training.two_tower_config import TwoTowerSystem

System = MsppSystem | TwoTowerSystem | QuickThoughtsSystem
#: For reading one of them from a file.
AnySystem = Annotated[System, Field(discriminator="system")]
