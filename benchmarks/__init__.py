"""What clearmargin costs, beside what people would use instead, in the same run."""
