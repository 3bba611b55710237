"""The tester's own reading of jaxprs: it imports no engine, which it is to judge."""
