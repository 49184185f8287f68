"""Registration of data sets in BEIR's layout."""

from contexture.tasks.beir.config import BeirConfig, BeirSettings
from contexture.tasks.spec import TaskSpec

SPEC = TaskSpec(
    name="beir",
    title="BEIR",
    settings=BeirSettings,
    source=BeirConfig,
    implementation="contexture.tasks.beir.task:BeirTask",
    data={
        "arguana": "ArguAna",
        "fiqa": "FiQA-2018",
        "nfcorpus": "NFCorpus",
        "scidocs": "SCIDOCS",
        "scifact": "SciFact",
        "trec-covid": "TREC-COVID",
        "webis-touche2020": "Touché-2020",
    },
    protocols={"frozen": "frozen"},
)
