"""The generated demo world, the corpus and tasks of the default run."""

from contexture.demo.config import DemoConfig
from contexture.demo.write import write_demo_world

__all__ = ["DemoConfig", "write_demo_world"]
