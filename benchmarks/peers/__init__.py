"""Rule learners that people would use instead, each in an environment of its own and never in our process.

`environment` makes the environments and `run` asks the peers. The other files run in the environments: they, and this
file, import nothing but numpy, the standard library and the peer.
"""
