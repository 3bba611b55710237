"""The formats of a report: each file writes one."""
