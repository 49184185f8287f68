"""The stage `report`."""
