"""Rules, cards and explanations on tables that had no part in tuning, beside peers of the same size."""
