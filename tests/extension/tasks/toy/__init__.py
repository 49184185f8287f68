"""A toy task: is a sentence nearer to itself than to another?"""
