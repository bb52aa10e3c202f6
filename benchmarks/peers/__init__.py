"""Rule learners that people would use instead, each in an environment of its own and never in our process.

`environment` makes the environments, `run` asks their rule learners, `anchors` asks for explanations of single cases.
The scripts in `work` run in the environments: they, and this file, import nothing but numpy, the standard library and
the peer.
"""
