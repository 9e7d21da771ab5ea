"""The decision about a sweep in plain Python, from its description in docs/sweep.md: disturbed runs, noise, the best setting.

The order of sums is another one than in the program: for each common noise, two settings are compared by themselves."""
import math
import statistics

NOISES, LEAST, STEP = range(58), 1e-4, 0.16
SPREADS = ((0, 0.5), (0.35, 0.05), (0.7, 0.3), (1.1, 0.15))  # standard deviation of the logarithm of the noise, share
DISTURBED, LONGEST, TOO_FAST, ALPHA, FIRM_RUNS = 0.16, 0.5, 0.01, 0.0155, 3


class Setting:
    def __init__(self, runs):
        self.logs = sorted(map(math.log, runs))
        n = len(runs)
        self.likelihoods = {(g, first, kept): self.likelihood(g, first, kept) for g in NOISES for first in range(min((n - 1) // 4, 2) + 1)
                            for kept in range(n - first + 1) if kept or (not first and n > 2)}
        self.top = max(self.likelihoods.values())
        self.by_noise = [[(math.exp(value - self.top), *self.normal(*key)) for key, value in self.likelihoods.items()
                          if key[0] == g and value > self.top - 30] for g in NOISES]
        self.totals = [sum(weight for weight, _, _ in terms) for terms in self.by_noise]

    def agreeing(self, first, kept):
        return self.logs[first:first + kept]

    def likelihood(self, g, first, kept):
        if not kept:  # the usual time is anywhere below
            return len(self.logs) * math.log(DISTURBED) + math.log(LONGEST)
        noise, runs = LEAST * math.exp(STEP * g), self.agreeing(first, kept)
        density = statistics.NormalDist(statistics.fmean(runs), noise)
        fine = sum(-math.log(noise) - math.log(2 * math.pi) / 2 - ((x - density.mean) / noise) ** 2 / 2 for x in runs)
        one_mean = math.log(noise * math.sqrt(2 * math.pi / kept))  # the integral over all means
        return fine + one_mean + first * math.log(TOO_FAST) + (len(self.logs) - first - kept) * math.log(DISTURBED)

    def normal(self, g, first, kept):
        if not kept:
            return self.logs[0] - LONGEST / 2, LONGEST ** 2 / 12
        return statistics.fmean(self.agreeing(first, kept)), (LEAST * math.exp(STEP * g)) ** 2 / kept

    def terms(self, shares):
        found = [(share * weight, mean, variance) for share, terms in zip(shares, self.by_noise) for weight, mean, variance in terms]
        least = 1e-5 * max(weight for weight, _, _ in found)
        return [term for term in found if term[0] > least]


def commons(settings):
    """(weight, shares of the noises) of each common noise that matters."""
    found = []
    for spread, share in SPREADS:
        for center in NOISES:
            shares = [STEP / spread * statistics.NormalDist().pdf(STEP * (g - center) / spread) if spread else float(g == center)
                      for g in NOISES]
            sums = [sum(a * b for a, b in zip(shares, s.totals)) for s in settings]
            found.append((math.log(share) + sum(math.log(x) if x else -math.inf for x in sums), shares))
    top = max(weight for weight, _ in found)
    return [(math.exp(weight - top), shares) for weight, shares in found if weight > top - 8]


def share_below(a, b):
    """How likely it is that a is less than b."""
    pairs = [(u * v, (y - x) / math.sqrt(s + t)) for u, x, s in a for v, y, t in b]
    return sum(w * math.erfc(-z / math.sqrt(2)) / 2 for w, z in pairs) / sum(w for w, _ in pairs)


def decide(sweep):
    """(fastest, is it the best, the largest p of a comparison with it or None, settings); `kept` and `typical` are set."""
    settings = [Setting(runs) for runs in sweep]
    hypotheses = commons(settings)
    for s in settings:
        likely = {}
        for weight, shares in hypotheses:
            total = sum(share * value for share, value in zip(shares, s.totals))
            for (g, first, kept), value in s.likelihoods.items():
                likely[first, kept] = likely.get((first, kept), 0) + weight * shares[g] * math.exp(value - s.top) / total
        first, s.kept = max((key for key in likely if key[1]), key=likely.get)
        s.clear = 2 * s.kept > len(s.logs)
        s.typical = statistics.fmean(s.agreeing(first, s.kept) if s.clear else s.logs)
    fastest = min(range(len(settings)), key=lambda i: settings[i].typical)
    best, largest = settings[fastest], 0.0
    for s in settings:
        if s is best or largest is None:
            continue
        if len(s.logs) < 2 or len(best.logs) < 2:  # a single run may be disturbed
            largest = None
            continue
        shares_below = [(weight, share_below(s.terms(shares), best.terms(shares))) for weight, shares in hypotheses]
        p = sum(weight * share for weight, share in shares_below) / sum(weight for weight, _ in shares_below)
        largest = max(largest, min(2 * p, 1.0))
    return fastest, largest is not None and largest < ALPHA and best.clear and best.kept >= FIRM_RUNS, largest, settings
