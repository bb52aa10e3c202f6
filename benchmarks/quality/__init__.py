"""How good the rules of clearmargin are beside those of other packages, on the same trained machines."""
