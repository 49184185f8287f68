"""The process that forks Spark's Python workers. It loads their modules once, so that no worker has to.

Loading them takes a worker three seconds; a small corpus takes less. `session` names this module to Spark.
"""

import os

# Threads of libraries would be lost in the forked workers, but not their locks: NumPy's, and that of Arrow's memory.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import contexture.corpus.cleaning
import contexture.corpus.pages  # noqa: F401

if __name__ == "__main__":
    manager()
