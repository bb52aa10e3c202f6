"""One file, one published program or algorithm, on arrays: no estimator, no data frame."""
