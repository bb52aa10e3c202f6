"""Stories in a real browser. This file makes the folder a package, whose fixtures end with it and not with the run."""
