"""Scripts that run in the environment of a peer: numpy, the standard library and the peer, nothing else."""
