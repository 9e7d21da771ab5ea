"""The decision about a sweep in plain Python, from its description in docs/sweep.md: outlier runs, noise, the best setting.

Distributions come from other formulas than the program's: Student's by integrating over an angle, digamma and trigamma as
differences of lgamma. There are no corrected p-values here, only those of single comparisons."""
import math
import statistics

CUT_AT, CUT_PER_RUN, OUTLIER_P, CLEAR_P, LEAST, LEAST_D0 = 3, 40, 0.03, 0.005, 1e-4, 0.6
ALPHA, FIRM_RUNS = 0.015, 3


def student_p(t, freedom, pieces=400):
    """P(|T| >= |t|): with t = sqrt(freedom) tan(a), the density is that of cos(a)^(freedom - 1)."""
    begin, end = math.atan(abs(t) / math.sqrt(freedom)), math.pi / 2
    step = (end - begin) / pieces
    value = [max(math.cos(begin + i * step), 0.0) ** (freedom - 1) for i in range(pieces + 1)]
    area = step / 3 * (value[0] + value[-1] + 4 * sum(value[1:-1:2]) + 2 * sum(value[2:-1:2]))
    return 2 * area * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)


def digamma(x, h=1e-4):
    return (math.lgamma(x + h) - math.lgamma(x - h)) / (2 * h)


def trigamma(x):
    return sum(1 / (x + i) ** 2 for i in range(2000)) + 1 / (x + 2000) + 0.5 / (x + 2000) ** 2


def trigamma_inverse(y):
    low, high = -12.0, 12.0  # of the logarithm
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if trigamma(math.exp(middle)) > y else (low, middle)
    return math.exp(low)


class Setting:
    def __init__(self, runs):
        self.logs, self.first, self.kept = sorted(map(math.log, runs)), 0, len(runs)

    def measure(self):
        agreeing = self.logs[self.first:self.first + self.kept]
        self.mean = statistics.fmean(agreeing)
        self.variance = statistics.variance(agreeing) if self.kept > 1 else math.nan
        self.freedom = self.kept - 1

    def agreeing_from(self, first, most):
        end = first + 1
        while end < len(self.logs) and self.logs[end] - self.logs[end - 1] <= most:
            end += 1
        return end - first

    def cut(self, most):
        self.kept = self.agreeing_from(0, most)
        if self.kept <= (len(self.logs) - 1) // 4:
            after = self.agreeing_from(self.kept, most)
            if 2 * after > len(self.logs):
                self.first, self.kept = self.kept, after

    def next_p(self, side):
        """The p-value of the next run above (0) or below (1) those that agree; None: there is none."""
        index = self.first - 1 if side else self.first + self.kept
        if not 0 <= index < len(self.logs):
            return None
        if self.freedom <= 0:
            return 1.0
        error = max(math.sqrt(self.variance), LEAST) * math.sqrt(1 + 1 / self.kept)
        return student_p((self.logs[index] - self.mean) / error, self.freedom)


def share(settings, fully):
    noisy = [s for s in settings if s.kept > 1 and s.variance > 0]
    if not noisy:
        return
    freedom = sum(s.kept - 1 for s in noisy)
    mean_variance = sum((s.kept - 1) * s.variance for s in noisy) / freedom
    logs = [math.log(s.variance) - digamma((s.kept - 1) / 2) + math.log((s.kept - 1) / 2) for s in noisy]
    more, common = 0.0, mean_variance
    if len(noisy) > 1:
        surplus = statistics.variance(logs) - statistics.fmean(trigamma((s.kept - 1) / 2) for s in noisy)
        more = 2 * trigamma_inverse(surplus) if surplus > 0 else math.inf
        if more < math.inf:
            common = math.exp(statistics.fmean(logs) + digamma(more / 2) - math.log(more / 2))
    for s in settings:
        if s.kept == 1:
            s.variance, s.freedom = mean_variance, freedom
        elif s in noisy:
            own = s.kept - 1
            is_alike = more >= LEAST_D0 * own
            trust = 1 if fully else is_alike * max(1 - 2 / len(noisy), 0) * (1 if s.kept > 3 else 0.5)
            others = min(more, freedom - own) * trust
            s.variance, s.freedom = (others * common + own * s.variance) / (others + own), others + own


def decide(sweep):
    """(fastest, is it the best, the largest p of a comparison with it or None, settings); `clear` and `typical` are set."""
    differences = sorted(abs(math.log(a) - math.log(b)) for runs in sweep for i, a in enumerate(runs) for b in runs[i + 1:i + 17])
    settings, all_runs = [Setting(runs) for runs in sweep], sum(map(len, sweep))
    deviation = max(2.2219 * differences[len(differences) // 4] if differences else 0, LEAST)
    for s in settings:
        s.cut((CUT_AT + CUT_PER_RUN / all_runs) * deviation)
    changed = True
    while changed:
        for s in settings:
            s.measure()
        share(settings, True)
        changed = False
        for s in settings:
            for side in 0, 1:
                p = s.next_p(side)
                if p is not None and p * all_runs >= OUTLIER_P:
                    s.first, s.kept, changed = s.first - side, s.kept + 1, True
                    break
    for s in settings:
        s.measure()
        s.clear = 2 * s.kept > len(s.logs) and all((s.next_p(side) or 0) < CLEAR_P for side in (0, 1))
        s.typical = s.mean if s.clear else statistics.fmean(s.logs)
    share(settings, False)
    fastest = min(range(len(settings)), key=lambda i: settings[i].typical)
    best, largest = settings[fastest], 0.0
    for s in settings:
        if s is best or largest is None:
            continue
        errors = [s.variance / s.kept, best.variance / best.kept]
        if len(s.logs) < 2 or len(best.logs) < 2 or not s.freedom > 0 or not best.freedom > 0:  # a single run may be disturbed
            largest = None
            continue
        freedom = sum(errors) ** 2 / (errors[0] ** 2 / s.freedom + errors[1] ** 2 / best.freedom)
        is_slower = s.mean > best.mean and best.clear
        largest = max(largest, student_p((s.mean - best.mean) / math.sqrt(sum(errors)), freedom) if is_slower else 1.0)
    supported = largest is not None and largest < ALPHA and best.clear and best.kept >= FIRM_RUNS
    return fastest, supported, largest, settings
