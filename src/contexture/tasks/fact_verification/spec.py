"""The description of fact verification."""

from contexture.tasks.fact_verification.config import FactVerificationSettings, VerificationConfig
from contexture.tasks.spec import TaskSpec

SPEC = TaskSpec(
    name="fact_verification",
    title="Fact verification",
    settings=FactVerificationSettings,
    source=VerificationConfig,
    implementation="contexture.tasks.fact_verification.task:FactVerificationTask",
    has_documents=True,
    former_key="verification",
    data={"fever": "FEVER"},
    protocols={
        "claim_only": "frozen, claim only",
        "frozen": "frozen",
        "max_pool": "pairs, max-pooling",
        "weighted_sum": "pairs, weighted sum",
        "ie_1": "joint, IE_1",
        "ae_1": "joint, AE_1",
    },
)
