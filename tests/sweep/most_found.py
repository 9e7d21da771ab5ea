"""How often can any test find the faster of two settings, if it names one in at most 2 % of the sweeps of equally fast ones?

The test with the largest share is the likelihood ratio (Neyman and Pearson). Equally fast settings may have equal noise or one may be three times
as noisy as the other, and a test must be right in all of these cases, so it is right in any mixture of them: the likelihood ratio against a
mixture finds at least as much as any such test. The test does not know how large times and noise are: densities are integrated over both.
It is told which runs are disturbed: a sweep is (runs, sum of squares) of each setting and the difference of their means."""
import itertools
import math
import random

CASES, WEIGHTS = ((1, 1), (1, 3), (3, 1)), (0.1, 0.45, 0.45)  # nearly the mixture with which the limit is the sharpest


def sweep(noises, true, repeats, outliers, dice):
    fine = [max(sum(dice.random() >= outliers for _ in range(repeats)), 1) for _ in noises]
    settings = [(n, noise ** 2 * dice.gammavariate((n - 1) / 2, 2) if n > 1 else 0.0) for n, noise in zip(fine, noises)]
    return settings, true + dice.gauss(0, math.sqrt(sum(noise ** 2 / n for n, noise in zip(fine, noises))))


def density_of_equally_fast(settings, difference, noises):
    """The logarithm, for noise in these proportions."""
    freedom = sum(n - 1 for n, _ in settings)
    variance = sum(noise ** 2 / n for (n, _), noise in zip(settings, noises))
    squares = difference ** 2 / variance + sum(own / noise ** 2 for (_, own), noise in zip(settings, noises))
    scale = sum((n - 1) * math.log(noise) for (n, _), noise in zip(settings, noises)) + math.log(variance) / 2
    return math.lgamma((freedom + 1) / 2) - math.log(2) - (freedom + 1) / 2 * math.log(squares / 2) - scale


def density_of_difference(settings, difference, true, pieces=32):
    """The logarithm, for equal noise and a true difference of so many standard deviations: the integral over u = 1 / the size of the noise."""
    freedom, variance = sum(n - 1 for n, _ in settings), sum(1 / n for n, _ in settings)
    a, b = sum(own for _, own in settings) + difference ** 2 / variance, difference * true / variance

    def density(u):
        return freedom * math.log(u) - a * u * u / 2 + b * u - true ** 2 / variance / 2 - math.log(variance) / 2
    top = (b + math.sqrt(b * b + 4 * a * freedom)) / (2 * a)
    step = 16 / math.sqrt(a + freedom / top ** 2) / pieces
    places = (top + (i - pieces / 2) * step for i in range(pieces + 1))
    return density(top) + math.log(step * sum(math.exp(density(u) - density(top)) for u in places if u > 0))


def likelihood_ratio(settings, difference, true, weights):
    equal = [density_of_equally_fast(settings, difference, case) for case in CASES]
    mixture = max(equal) + math.log(sum(weight * math.exp(value - max(equal)) for weight, value in zip(weights, equal)))
    return density_of_difference(settings, abs(difference), true) - mixture


def most_found(count, repeats, outliers, true, alpha=0.02, weights=WEIGHTS):
    """The share, in `count` simulated sweeps, if the settings differ by `true` standard deviations of a run."""
    dice = random.Random(6)

    def answers(noises, difference):
        for _ in range(count):
            settings, found = sweep(noises, difference, repeats, outliers, dice)
            yield likelihood_ratio(settings, found, true, weights), found > 0
    ratios = sorted(((ratio, weight / count) for case, weight in zip(CASES, weights) for ratio, _ in answers(case, 0)), reverse=True)
    wrong = itertools.accumulate(weight for _, weight in ratios)
    limit = next(ratio for (ratio, _), share in zip(ratios, wrong) if share > alpha)
    return sum(is_right and ratio > limit for ratio, is_right in answers((1, 1), true)) / count
