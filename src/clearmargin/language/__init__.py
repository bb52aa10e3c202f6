"""The rule language: text to rules, rules to text, sentences for people.

Read `parser.py` (text to a syntax tree), `resolve.py` (tree to rules) and `printer.py` (rules to text).
`parse_rules(format_rules(R)) == R` for every rule set R, bit for bit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
