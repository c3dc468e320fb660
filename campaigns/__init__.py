"""Campaigns: long hunts for what the tests do not think of. docs/testing.md says what each of them is and found."""
