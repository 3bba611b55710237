"""Questions about one program: culprit, sweep, tune."""
