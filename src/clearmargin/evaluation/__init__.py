"""A table read as a task, the forms that a model of it can have, and the one cross-validation of them all."""
