"""Tests of pair classification."""
