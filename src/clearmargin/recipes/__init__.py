"""What commands and the workbench do with a table: train, explain, compare, predict, with values as plain data."""
