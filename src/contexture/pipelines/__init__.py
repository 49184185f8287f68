"""One modular Kedro pipeline per stage: wiring only."""
