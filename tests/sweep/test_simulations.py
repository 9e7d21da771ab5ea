#!/usr/bin/env python3
"""Simulated sweeps whose truth is known (simulate_sweeps.py), decided by the program's own statistics.

The tables of docs/sweep.md have all cases, LONG=1 has more sweeps. Here, limits are those that the documentation claims, plus what chance adds in
one of a thousand tests (binomial distribution)."""
import math
import os
import random
import sys

from tests.common.harness import LONG, Case, run_cases
from tests.sweep import most_found, reference_decide, simulate_sweeps

SWEEPS = 2000 if LONG else 150
GATES = SWEEPS // 4


def programs_of(binary):
    return os.path.join(os.path.dirname(binary), "tests")


def at_most(share, count=SWEEPS):
    """The share that is exceeded by chance in one of a thousand tests if the true one is `share`."""
    return share + 3.1 * math.sqrt(share * (1 - share) / count)


def check_false_best(programs):
    problems = []
    for noise, settings, repeats, outliers in (("equal", 2, 10, 0), ("equal", 4, 3, 0.05), ("equal", 8, 5, 0.15), ("unequal", 4, 5, 0),
                                               ("unequal", 8, 3, 0.05), ("mixed", 4, 5, 0.15), ("equal", 2, 5, 0.15), ("unequal", 2, 5, 0.05)):
        wrong, _ = simulate_sweeps.rates(programs, SWEEPS, 7, settings=settings, repeats=repeats, noise=noise, outliers=outliers)
        if wrong > at_most(0.02):
            problems.append(f"{noise} noise, {settings} settings, {repeats} repeats, {outliers:.0%} outliers: a false best in {wrong:.1%}")
    return problems


def check_found(programs):
    problems = []
    for settings, repeats, outliers, least in ((2, 5, 0, 0.9), (4, 5, 0, 0.9), (2, 5, 0.15, 0.6), (4, 5, 0.05, 0.85), (2, 10, 0.15, 0.95)):
        _, right = simulate_sweeps.rates(programs, SWEEPS, 8, settings=settings, repeats=repeats, noise="equal", outliers=outliers,
                                         difference=0.03)
        if right < 1 - at_most(1 - least):
            problems.append(f"{settings} settings, {repeats} repeats, {outliers:.0%} outliers: found in {right:.1%}")
    return problems


def check_limit(programs):
    """If noise is known to be equal, no test finds more than Student's; with unequal noise, the program is below the limit of all tests."""
    true = -math.log(1 - 0.03) / simulate_sweeps.NOISE
    limits = [most_found.most_found(2000, 5, 0, true, weights=weights) for weights in ((1, 0, 0), most_found.WEIGHTS)]
    student = simulate_sweeps.plain_rates(simulate_sweeps.informed, 2000, 2, 5, 0, 0.03)[1]
    _, right = simulate_sweeps.rates(programs, SWEEPS, 8, settings=2, repeats=5, noise="equal", outliers=0, difference=0.03)
    problems = [] if abs(limits[0] - student) < 0.025 else [f"the limit is {limits[0]:.1%}, Student's test finds {student:.1%}"]
    return problems + ([] if right < at_most(limits[1]) else [f"found in {right:.1%}, which cannot be more than {limits[1]:.1%}"])


def check_one_run(programs):
    """Without repeats nothing is called the best, however large the difference is."""
    rates = simulate_sweeps.rates(programs, SWEEPS, 9, settings=4, repeats=1, noise="equal", outliers=0, difference=0.5)
    return [] if rates == (0, 0) else [f"{rates} of sweeps of single runs have a best setting"]


def check_more(programs):
    """One run each, four more of the fastest three settings and one of the others (`sweep run --more 4`): settings that differ by 3 %, with 15 %
    outlier runs. Without the last ones, the best setting is hidden by one disturbed run."""
    dice, sweeps = random.Random(12), []
    for _ in range(SWEEPS):
        times = [250 * (1 + 0.03 * i) for i in range(8)]
        sweep = [simulate_sweeps.runs_of(time, 1, simulate_sweeps.NOISE, 0.15, dice) for time in times]
        fastest = sorted(range(8), key=lambda i: sweep[i][0])[:3]
        sweeps.append([runs + simulate_sweeps.runs_of(time, 4 if i in fastest else 1, simulate_sweeps.NOISE, 0.15, dice)
                       for i, (runs, time) in enumerate(zip(sweep, times))])
    answers = simulate_sweeps.best(programs, sweeps)
    wrong, right = (sum(supported and is_wrong == (fastest != 0) for fastest, supported in answers) / SWEEPS for is_wrong in (True, False))
    problems = [f"a false best in {wrong:.1%}"] if wrong > at_most(0.02) else [] if right > 0.5 else [f"found in {right:.1%}"]
    single = [[1000, 1002, 998, 1001, 999], [1300]]
    return problems + (["one slow run is told apart"] if simulate_sweeps.best(programs, [single]) != [(0, False)] else [])


def check_gates(programs):
    problems = []
    for noise, settings, repeats, outliers in (("equal", 1, 5, 0), ("equal", 8, 5, 0.05), ("unequal", 4, 5, 0.15), ("mixed", 8, 10, 0),
                                               ("equal", 16, 3, 0.15)):
        failed = simulate_sweeps.gate_rates(programs, GATES, 10, settings, repeats, noise, outliers, 0)
        if failed > at_most(0.02, GATES):
            problems.append(f"{noise} noise, {settings} settings, {repeats} repeats, {outliers:.0%} outliers: {failed:.1%} false failures")
    for settings, repeats, outliers in (1, 5, 0), (8, 5, 0), (1, 5, 0.05), (8, 5, 0.05), (1, 10, 0.15), (8, 10, 0.15):
        missed = 1 - simulate_sweeps.gate_rates(programs, GATES, 11, settings, repeats, "equal", outliers, 0.05)
        if missed > at_most(0.05, GATES):
            problems.append(f"{settings} settings, {repeats} repeats, {outliers:.0%} outliers: a change of 5 % is missed in {missed:.1%}")
    return problems


def check_noisy_loser(programs):
    """One setting that is slow and has an outlier hides nothing: the second decision differs only by that run."""
    sweep = [[968, 970, 971, 969, 972], [1000, 997, 1003, 999, 1001], [998, 1002, 1000, 997, 1003], [1029, 1030, 1031, 1290, 1030]]
    (fastest, supported, settings), = simulate_sweeps.decide(programs, [sweep])
    problems = [] if (fastest, supported) == (0, True) else [f"the best is {fastest}, {supported}"]
    if [kept for kept, _, _ in settings] != [5, 5, 5, 4] or abs(settings[3][1] - (1029 * 1030 * 1031 * 1030) ** 0.25) > 1e-4:
        problems.append(f"the outlier was not left out: {settings}")
    return problems + [f"p of setting {i} is {p}" for i, (_, _, p) in enumerate(settings) if i and not p < 1e-4]


def check_most_runs_are_outliers(programs):
    """A setting whose usual time is unknown is not the best, and others are not excluded because of it; its fast runs still tell that it is
    slower."""
    fine = [[1000, 1002, 998, 1001, 999], [1030, 1032, 1028, 1031, 1029]]
    unclear, slower = [900, 901, 1300, 1400, 1500], [1050, 1051, 1300, 1400, 1500]
    decisions = simulate_sweeps.decide(programs, [[*fine, unclear], [*fine, slower]])
    wanted = [(0, False), (0, True)]
    got = [(fastest, supported) for fastest, supported, _ in decisions]
    return [] if got == wanted else [f"{got}, not {wanted}"]


def check_reference(programs):
    """The same outliers, times and decisions as the reference model."""
    dice, sweeps = random.Random(3), []
    for i in range(8):
        settings, noise = dice.choice((2, 3)), dice.choice(list(simulate_sweeps.NOISES))
        sweep = simulate_sweeps.sweep(settings, dice.choice((2, 3, 5)), noise, dice.choice((0, 0.1, 0.3)), dice.choice((0, 0.03)), dice)
        sweeps.append([runs[:1] if i % 5 == 0 and dice.random() < 0.4 else runs for runs in sweep])
    decisions = simulate_sweeps.decide(programs, sweeps)
    is_same = simulate_sweeps.best(programs, sweeps) == [(fastest, supported) for fastest, supported, _ in decisions]
    problems = [] if is_same else ["without corrected p-values, other settings are the best"]
    for sweep, (fastest, supported, settings) in zip(sweeps, decisions):
        wanted_fastest, wanted_supported, largest, wanted = reference_decide.decide(sweep)
        near_limit = largest is not None and abs(largest / reference_decide.ALPHA - 1) < 0.03
        if fastest != wanted_fastest or (supported != wanted_supported and not near_limit):
            problems.append(f"best {fastest} {supported}, not {wanted_fastest} {wanted_supported}: {sweep}")
        if [kept for kept, _, _ in settings] != [s.kept for s in wanted]:
            problems.append(f"runs that agree {[kept for kept, _, _ in settings]}, not {[s.kept for s in wanted]}: {sweep}")
        elif any(abs(time / math.exp(s.typical) - 1) > 1e-7 for (_, time, _), s in zip(settings, wanted)):
            problems.append(f"times {settings}, not {[math.exp(s.typical) for s in wanted]}")
    return problems[:3]


def run_check(binary, _, check):
    programs = programs_of(binary)
    return check(programs)


CHECKS = (check_false_best, check_found, check_limit, check_one_run, check_more, check_gates, check_noisy_loser, check_most_runs_are_outliers,
          check_reference)


if __name__ == "__main__":
    folder = programs_of(sys.argv[sys.argv.index("--bin") + 1] if "--bin" in sys.argv else "")
    if not all(os.path.exists(os.path.join(folder, program)) for program in ("test_decide", "test_gate")):
        print("skipped test_simulations: the unit tests were not built")
        sys.exit(77)
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(check.__name__[6:].replace("_", " "), run_check, check) for check in CHECKS]))
