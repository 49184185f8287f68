"""The stage `claims`."""

#: Namespace of the stage.
CLAIMS = "claims"
