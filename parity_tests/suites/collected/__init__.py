"""Collecting: what a test-suite compiled, as programs of a campaign.

`hooks` tells the `collector`, which watches the engine, which test runs. For each program that is
new, it makes a `Candidate`: a stand-alone file, or why there cannot be one. The `folder` keeps one
candidate of each program, whichever process made it, and an index of them.
"""
