"""Readers of published data formats, one module per family."""

from contexture.benchmarks.missing import BenchmarkMissing

__all__ = ["BenchmarkMissing"]
