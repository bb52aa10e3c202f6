"""What the tests of properties and of cuts share: numbers small, large and tied."""

from __future__ import annotations

from hypothesis import strategies as st

numbers = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-1e6, 1e6),
    st.floats(allow_nan=False, allow_infinity=False),
)
