"""The time of a run: when it was started, should end, and what a budget in minutes leaves for a training."""

import os
import time
from dataclasses import dataclass

#: Unix time at which the command was started, for a run that another process starts.
STARTED_VARIABLE = "CONTEXTURE_STARTED"
#: Unix time at which the run should end by the estimate of the process that starts it.
EXPECTED_END_VARIABLE = "CONTEXTURE_EXPECTED_END"
RUN_STARTED = float(os.environ.get(STARTED_VARIABLE, time.time()))
#: Seconds after all trainings besides embedding, for any text, and as a share of those before them: indexes of BM25,
#: metrics, report.
REST_SECONDS, REST_SHARE = 15.0, 0.2


@dataclass(frozen=True)
class RestOfRun:
    """What a run with a budget in minutes does besides this training."""

    #: Unix time at which the run was started.
    started: float
    #: Trainings with such a budget that are not finished, this one included; they divide the time.
    trainings: int
    #: Tokens to embed after all trainings.
    tokens: int
    #: Seconds from the start of the run to its trainings.
    seconds_before: float

    def seconds_left(self, minutes: float, seconds_per_token: float, now: float) -> float:
        """Return the seconds for this training, at least 1; `seconds_per_token` is the time to embed a token."""
        rest = self.tokens * seconds_per_token + REST_SECONDS + REST_SHARE * self.seconds_before
        return max(1.0, (self.started + 60 * minutes - now - rest) / self.trainings)
