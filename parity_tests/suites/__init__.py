"""The plugin for pytest: test-suites that nobody wrote for this project, on both pipelines."""
