"""The generator of the references: the standard's known output, and draws of the right size."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from reference import generator  # noqa: E402


def test_the_ten_thousandth_output_is_the_one_of_the_standard():
    draw = generator.Generator()
    for _ in range(9999):
        draw()
    assert draw() == 9981545732273789042


def test_a_uniform_draw_lies_in_the_unit_interval_and_takes_one_output():
    draw, outputs = generator.of_run(7), generator.of_run(7)
    uniforms = [draw.uniform() for _ in range(1000)]
    assert uniforms == [(outputs() >> 11) / 2 ** 53 for _ in range(1000)]
    assert 0 <= min(uniforms) < 0.01 and 0.99 < max(uniforms) < 1
    assert sum(uniforms) / 1000 == pytest.approx(0.5, abs=0.03)


def test_a_number_below_n_rejects_what_would_bias_it():
    draw = generator.Generator()
    scripted = iter([5, 6, 2 ** 64 - 1])
    draw.__class__ = type("Scripted", (generator.Generator,), {"__call__": lambda self: next(scripted)})
    n = (1 << 63) + 3  # 2^64 mod n = 2^63 - 3: 5 and 6 are refused
    assert draw.below(n) == 2 ** 64 - 1 - n
    draw = generator.Generator()
    counts = [0] * 7
    for _ in range(7000):
        counts[draw.below(7)] += 1
    assert all(850 < count < 1150 for count in counts)


def test_streams_and_seeds_have_generators_of_their_own():
    firsts = {generator.of_run(seed, stream)() for seed in range(5) for stream in range(3)}
    assert len(firsts) == 15
