"""Which captured arrays are hoisted: live ones, by the embed threshold or a policy, each once."""
