"""The made-up world that the default run learns from."""

from contexture.demo.config import DemoConfig
from contexture.demo.write import write_demo_world

__all__ = ["DemoConfig", "write_demo_world"]
