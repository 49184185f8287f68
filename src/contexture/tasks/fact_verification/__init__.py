"""Fact verification: does evidence support or refute a claim, or is it insufficient (FEVER)?"""
