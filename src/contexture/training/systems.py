"""Every system's configuration, told apart by its `system`."""

from typing import Annotated

from pydantic import Field

from contexture.systems.quick_thoughts.config import QuickThoughtsSystem
from contexture.systems.two_tower.config import TwoTowerSystem
from contexture.training.config import MsppSystem

System = MsppSystem | TwoTowerSystem | QuickThoughtsSystem
#: For reading one of them from a file.
AnySystem = Annotated[System, Field(discriminator="system")]
