#!/usr/bin/env python3
"""How often are `gputally sweep decide` and the gate of `sweep compare` wrong? Simulated sweeps whose truth is known.

    python3 -m tests.sweep.simulate_sweeps build/tests --sweeps 1000    # the tables of docs/sweep.md (five minutes of one core)

A sweep is a list of runs per setting. Times are lognormal: each setting has its own noise, and some runs are disturbed: they take 5 to
50 % longer. The statistics are those of the program: test_decide and test_gate (C) read the sweeps from standard input."""
import argparse
import concurrent.futures
import functools
import itertools
import math
import os
import random
import statistics
import subprocess

from tests.sweep import most_found

SETTINGS, REPEATS, OUTLIERS, DIFFERENCES = (2, 4, 8, 16), (3, 5, 10), (0, 0.05, 0.15), (0, 0.01, 0.03, 0.10)
NOISE = 0.01
# The noise of setting i of n: all alike; every second one three times as noisy; anything between 0.3 % and 3 %.
NOISES = {"equal": lambda i, n, dice: NOISE, "unequal": lambda i, n, dice: NOISE * (3 if i % 2 else 1),
          "mixed": lambda i, n, dice: NOISE * 10 ** dice.uniform(-0.5, 0.5)}


def runs_of(time, count, noise, outliers, dice, known=False):
    """With `known`, disturbed runs are removed, as if somebody had told which they are; one run stays in any case."""
    runs = [(time * math.exp(noise * dice.gauss(0, 1)), dice.random() < outliers, dice.uniform(1.05, 1.5)) for _ in range(count)]
    fine = [run for run, is_disturbed, _ in runs if not is_disturbed]
    return fine or [runs[0][0] * runs[0][2]] if known else [run * factor if is_disturbed else run for run, is_disturbed, factor in runs]


def sweep(settings, repeats, noise, outliers, difference, dice, others=0.0, known=False):
    """Setting 0 is faster than the others by `difference`; with `others`, all but the first two are slower by that."""
    times = [250 * (1 - difference)] + [250 * (1 + (others if i > 1 else 0)) for i in range(1, settings)]
    return [runs_of(time, repeats, NOISES[noise](i, settings, dice), outliers, dice, known) for i, time in enumerate(times)]


def words(runs):
    return " ".join(repr(run) for run in runs)


def ask(program, arguments, lines):
    done = subprocess.run([program, *arguments], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr
    return answers


def best(programs, sweeps):
    """(fastest, is it called the best) of each sweep."""
    answers = ask(os.path.join(programs, "test_decide"), ["best"], [";".join(map(words, runs)) for runs in sweeps])
    return [tuple(map(int, answer.split())) for answer in answers]


def decide(programs, sweeps):
    """(fastest, is it called the best, [(runs that agree, typical time, p)]) of each sweep."""
    answers = ask(os.path.join(programs, "test_decide"), ["sweeps"], [";".join(map(words, runs)) for runs in sweeps])
    decisions = []
    for answer in answers:
        head, *settings = answer.split(";")
        fastest, supported = map(int, head.split())
        decisions.append((fastest, bool(supported), [(int(s.split()[0]), float(s.split()[1]), float(s.split()[2])) for s in settings]))
    return decisions


def rates(programs, count, seed, difference=0.0, **more):
    """The shares of sweeps in which a wrong setting is called the best, and the right one."""
    dice = random.Random(repr((seed, difference, sorted(more.items()))))
    named = [fastest for fastest, supported in best(programs, [sweep(difference=difference, dice=dice, **more) for _ in range(count)])
             if supported]
    right = sum(fastest == 0 for fastest in named) if difference else 0
    return (len(named) - right) / count, right / count


def gate_rates(programs, count, seed, settings, repeats, noise, outliers, slower, condition="step_ms > 1% significant"):
    """The share of gates that fail if setting 0 of the new sweep is slower by `slower`."""
    dice, lines = random.Random(repr((seed, settings, repeats, noise, outliers, slower))), []
    for _ in range(count):
        pairs = []
        for i in range(settings):
            spread, time = NOISES[noise](i, settings, dice), 250 * (1 + 0.1 * i)
            new = time * (1 + (slower if i == 0 else 0))
            pairs.append(f"{words(runs_of(time, repeats, spread, outliers, dice))}|{words(runs_of(new, repeats, spread, outliers, dice))}")
        lines.append(";".join(pairs))
    return ask(os.path.join(programs, "test_gate"), ["gates", condition], lines).count("failed") / count


def student_p(t, freedom, pieces=400):
    """P(|T| >= |t|): with t = sqrt(freedom) tan(a), the density is that of cos(a)^(freedom - 1)."""
    begin, end = math.atan(abs(t) / math.sqrt(freedom)), math.pi / 2
    step = (end - begin) / pieces
    value = [max(math.cos(begin + i * step), 0.0) ** (freedom - 1) for i in range(pieces + 1)]
    area = step / 3 * (value[0] + value[-1] + 4 * sum(value[1:-1:2]) + 2 * sum(value[2:-1:2]))
    return 2 * area * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)


@functools.lru_cache(None)
def student_limit(alpha, freedom):
    low, high = 0.0, 1000.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > alpha else (low, middle)
    return low


def informed(sweep, alpha=0.02):
    """(fastest, is it the best) by Student's test if the disturbed runs were removed and all settings are known to have the same noise; it is
    wrong in 2 % of cases."""
    logs = [list(map(math.log, runs)) for runs in sweep]
    means, freedom = list(map(statistics.fmean, logs)), sum(len(runs) - 1 for runs in logs)
    deviation = math.sqrt(sum((x - mean) ** 2 for runs, mean in zip(logs, means) for x in runs) / freedom) if freedom else math.inf
    fastest = min(range(len(means)), key=means.__getitem__)
    limit = student_limit(alpha, freedom) * deviation if freedom else math.inf
    return fastest, all(means[i] - means[fastest] > limit * math.sqrt(1 / len(logs[i]) + 1 / len(logs[fastest]))
                        for i in range(len(means)) if i != fastest)


def medians(sweep):
    """The same by a plain test: medians, the median deviation from them in all settings, and the normal distribution (2 %)."""
    logs = [list(map(math.log, runs)) for runs in sweep]
    middles = list(map(statistics.median, logs))
    deviation = 1.4826 * statistics.median(abs(x - middle) for runs, middle in zip(logs, middles) for x in runs)
    fastest = min(range(len(middles)), key=middles.__getitem__)
    limit = 2.326 * 1.2533 * deviation * math.sqrt(2 / len(logs[0]))
    return fastest, all(middles[i] - middles[fastest] > limit for i in range(len(middles)) if i != fastest)


def plain_rates(test, count, settings, repeats, outliers, difference, noise="equal", known=False):
    """Like `rates`, of another test."""
    dice = random.Random(repr((4, settings, repeats, noise, outliers, difference, known)))
    named = [fastest for fastest, supported in (test(sweep(settings, repeats, noise, outliers, difference, dice, known=known)) for _ in range(count))
             if supported]
    right = sum(fastest == 0 for fastest in named) if difference else 0
    return (len(named) - right) / count, right / count


def percents(shares):
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def decision_row(case, programs, count):
    noise, repeats, outliers = case
    more = {"repeats": repeats, "noise": noise, "outliers": outliers}
    all_rates = {(d, s): rates(programs, count, 1, settings=s, difference=d, **more) for d in DIFFERENCES for s in SETTINGS}
    known = [rates(programs, count, 1, settings=s, difference=0.03, known=True, **more)[1] for s in SETTINGS]
    cells = [percents(max(all_rates[d, s][0] for d in DIFFERENCES) for s in SETTINGS)]
    cells += [percents(all_rates[d, s][1] for s in SETTINGS) for d in DIFFERENCES[1:]] + [percents(known)]
    return [noise, str(repeats), f"{100 * outliers:.0f} %", *cells]


def tie_row(case, programs, count):
    noise, repeats = case
    return [noise, str(repeats), percents(max(rates(programs, count, 2, settings=s, repeats=repeats, noise=noise, outliers=o, others=0.10)[0]
                                              for o in OUTLIERS) for s in SETTINGS[1:])]


def gate_row(case, programs, count):
    noise, repeats, outliers = case
    cells = [percents((failed if slower == 0 else 1 - failed) for failed in
                      (gate_rates(programs, count, 3, s, repeats, noise, outliers, slower) for s in (1, 4, 16))) for slower in (0, 0.05)]
    return [noise, str(repeats), f"{100 * outliers:.0f} %", *cells]


def plain_row(case, _, count):
    repeats, outliers = case
    cells = [percents(plain_rates(informed, count, s, repeats, outliers, 0.03, known=True)[1] for s in SETTINGS),
             percents(plain_rates(medians, count, s, repeats, outliers, 0.03)[1] for s in SETTINGS)]
    cells += [percents(plain_rates(medians, count, s, repeats, outliers, 0, noise)[0] for s in SETTINGS) for noise in ("equal", "unequal")]
    cells.append(percents([most_found.most_found(2 * count, repeats, outliers, -math.log(1 - 0.03) / NOISE)]))
    return [str(repeats), f"{100 * outliers:.0f} %", *cells]


TABLES = {
    "decisions": (["noise", "repeats", "outlier runs", "false best", "found, 1 %", "found, 3 %", "found, 10 %", "found, 3 %, outliers known"],
                  decision_row, list(itertools.product(NOISES, REPEATS, OUTLIERS))),
    "plain tests": (["repeats", "outlier runs", "informed: found, 3 %", "medians: found, 3 %", "medians: false best, equal noise",
                     "medians: false best, unequal noise", "any test of two settings: found, 3 %"],
                    plain_row, list(itertools.product((5, 10), OUTLIERS))),
    "ties": (["noise", "repeats", "false best"], tie_row, list(itertools.product(NOISES, REPEATS))),
    "gates": (["noise", "repeats", "outlier runs", "false failures", "missed"], gate_row, list(itertools.product(NOISES, REPEATS, OUTLIERS))),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="the folder of test_decide and test_gate")
    parser.add_argument("--sweeps", type=int, default=2000, help="sweeps per number")
    parser.add_argument("--table", choices=TABLES, help="only this one")
    arguments = parser.parse_args()
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for name, (heads, row, cases) in TABLES.items():
            if arguments.table not in (None, name):
                continue
            print("| " + " | ".join(heads) + " |\n|---|" + "---:|" * (len(heads) - 1))
            for cells in pool.map(row, cases, itertools.repeat(arguments.programs), itertools.repeat(arguments.sweeps)):
                print("| " + " | ".join(cells) + " |", flush=True)
            print()


if __name__ == "__main__":
    main()
