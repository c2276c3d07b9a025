"""The program's draws: std::mt19937_64, seeded and cut to size as src/quorate/base/rng.h says.

Source: Nishimura, Tables of 64-bit Mersenne Twisters (2000); the C++ standard names its parameters and fixes that the
10,000th output of the generator with the default seed, 5489, is 9981545732273789042.

Settled by the program, not by the standard
  - Generator number s of a run with seed n starts from splitmix64's finaliser of a mix of n and s.  A simulated run
    learns with generator 1 of its seed.
  - A uniform draw is the upper 53 bits; a whole number below n is the remainder of an output that is at least
    2^64 mod n.
"""
WORD = (1 << 64) - 1
SIZE, MIDDLE = 312, 156
LOWER = (1 << 31) - 1


class Generator:
    def __init__(self, seed=5489):
        self.state = [seed & WORD]
        for i in range(1, SIZE):
            last = self.state[-1]
            self.state.append((6364136223846793005 * (last ^ (last >> 62)) + i) & WORD)
        self.next = SIZE

    def __call__(self):
        if self.next == SIZE:
            for i in range(SIZE):
                y = (self.state[i] & ~LOWER) | (self.state[(i + 1) % SIZE] & LOWER)
                self.state[i] = self.state[(i + MIDDLE) % SIZE] ^ (y >> 1) ^ (0xB5026F5AA96619E9 if y & 1 else 0)
            self.next = 0
        x = self.state[self.next]
        self.next += 1
        x ^= (x >> 29) & 0x5555555555555555
        x ^= (x << 17) & 0x71D67FFFEDA60000
        x ^= (x << 37) & 0xFFF7EEE000000000
        return x ^ (x >> 43)

    def uniform(self):
        return (self() >> 11) * 2.0 ** -53

    def below(self, n):
        while True:
            u = self()
            if u >= (1 << 64) % n:
                return u % n


def of_run(seed, stream=1):
    z = (seed * 0x9E3779B97F4A7C15 + (stream + 1) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return Generator(z ^ (z >> 31))
