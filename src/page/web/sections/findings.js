// What to repair, by gain: ranked cards with evidence and advice. "Show" highlights the evidence in the sections below.

import {clear, element} from '../dom.js';
import {percent, significant} from '../format.js';
import {goToSection} from '../navigation.js';

const FIRST_FINDINGS = 3;

// Milliseconds with three digits, in the unit that fits.
function milliseconds(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms !== 0 && Math.abs(ms) < 0.9995) return `${significant(ms * 1e3)} µs`;
  return Math.abs(ms) < 999.5 ? `${significant(ms)} ms` : `${significant(ms / 1e3)} s`;
}

// Why the time that gains are shares of is not the recorded one. Longer it is by the replay's own error, or because the
// host, in the window still ahead of the GPU, could not keep up with it for long.
function baseRemark(base, recorded, replayError) {
  if (!(Math.abs(recorded - base) >= 0.01 * recorded)) return '';
  if (base < recorded) return `the ${milliseconds(recorded)} of the trace include the profiler's own cost`;
  const why = replayError >= 1 ? `the replay misses it by ${significant(replayError)} %` :
    'the host could not keep that up for long';
  return `the trace has ${milliseconds(recorded)}: ${why}`;
}

// What the time that gains are shares of is: {meaning, remark}, a remark where it is not the step time that the page
// shows at the top. A trace is replayed without the profiler's own cost; of ranks it is the mean of what they recorded.
export function gainBase({model_step_ms: base, recorded_ms: recorded, replay_error_pct: replayError, per}, kind) {
  const unit = per === 'trace' ? 'window' : 'step';
  if (kind === 'ranks') {
    return {meaning: `the mean ${unit} of all ranks as recorded`, remark: 'mean of all ranks, as recorded'};
  }
  return {meaning: `the ${unit} without the profiler's own cost`, remark: baseRemark(base, recorded, replayError)};
}

// Gains of ranks count on the repairs before them: what the repair brings without these, if that is something else.
export function aloneText({gain_ms: gain, gain_alone_ms: alone}) {
  const isSame = !Number.isFinite(alone) || Math.abs(gain - alone) < Math.max(0.005, 0.02 * gain);
  return isSame ? '' : ` after the repairs before it, ${milliseconds(alone)} alone`;
}

// What a gain is a share of, in ms: of uneven steps the median step and the gain, where the window has fewer of them
// than there are on average.
function wholeOf({gain_ms: gain, gain_pct: share}, model) {
  const whole = share > 0 ? 100 * gain / share : model;
  return Math.abs(whole - model) > 0.02 * model ? {ms: whole, meaning: 'the median step and the gain'} : {ms: model};
}

// Where nine of ten such gains lie: {text, share}; of gains that were never measured the bound of the model.
export function gainRange({gain_ms: gain, gain_pct: share, gain_low_ms: low, gain_high_ms: high}) {
  if (!Number.isFinite(low) || !(gain > 0)) {
    return {text: `up to ${milliseconds(gain)}`, share: percent(share || 0, 100)};
  }
  const [from, to] = [low, high].map((ms) => Math.round(share * ms / gain));
  return {text: `${milliseconds(low)} to ${milliseconds(high)}`, share: from < to ? `${from}–${to} %` : `${to} %`};
}

function gainBar(finding, {answers, kind}) {
  const share = Math.min(100, Math.max(0, finding.gain_pct || 0));
  const per = answers.per === 'trace' ? 'in the window' : 'per step';
  const {ms, meaning} = wholeOf(finding, answers.model_step_ms);
  const whole = Number.isFinite(ms) ? ` of ${ms} ms, ${meaning ?? gainBase(answers, kind).meaning}` : '';
  const ofWhole = Number.isFinite(ms) ? ` of ${milliseconds(ms)}` : '';
  const range = gainRange(finding);
  const fill = element('div', {class: 'gain-fill', style: {width: `${share}%`}});
  return element('div', {class: 'gain', title: `by the model ${finding.gain_ms} ms${whole}`},
    element('div', {class: 'gain-track', 'aria-hidden': 'true'}, fill),
    element('div', {class: 'small'},
      element('b', {}, range.text), ` ${per}${aloneText(finding)} · `,
      `${range.share}${ofWhole} · `,
      element('span', {class: 'muted'}, `${finding.confidence} confidence`)));
}

function evidenceList(finding) {
  const lines = Array.isArray(finding.evidence) ? finding.evidence : [];
  return element('ul', {class: 'evidence'}, lines.map((line) => element('li', {}, line)));
}

function ruleFacts(finding) {
  const rows = [
    ['where', finding.where, 'name'],
    ['ranks', finding.ranks],
    ['severity', finding.severity],
    ['rule', finding.id && `${finding.id}: see docs/rules/${finding.id}.md of gputally`],
  ];
  return element('dl', {class: 'facts small more'}, rows.filter(([, value]) => value).map(
    ([label, value, name]) => [element('dt', {}, label), element('dd', {class: name}, value)]));
}

function showFinding(page, finding) {
  const chosen = page.state.getNumber('finding') === finding.rank;
  page.state.set({finding: chosen ? null : finding.rank});
  if (!chosen) goToSection('timeline', true);
}

function findingCard(page, finding) {
  const card = element('li', {class: `card finding ${finding.severity || ''}`, dataset: {finding: finding.rank}});
  const show = element('button', {type: 'button', class: 'button show'}, 'show');
  show.addEventListener('click', () => showFinding(page, finding));
  const more = element('button', {type: 'button', class: 'button plain', 'aria-expanded': 'false'}, 'more');
  more.addEventListener('click', () => {
    const isOpen = card.classList.toggle('open');
    more.textContent = isOpen ? 'less' : 'more';
    more.setAttribute('aria-expanded', String(isOpen));
  });
  const mark = () => {
    const isChosen = page.state.getNumber('finding') === finding.rank;
    card.classList.toggle('chosen', isChosen);
    show.setAttribute('aria-pressed', String(isChosen));
  };
  mark();
  page.state.on(['finding'], mark);
  card.append(
    element('div', {class: 'rank', 'aria-label': `rank ${finding.rank}`}, finding.rank),
    element('h3', {}, finding.title),
    gainBar(finding, page.front),
    evidenceList(finding),
    element('p', {class: 'advice'}, finding.advice),
    ruleFacts(finding),
    element('div', {class: 'row actions screen-only'}, show, more));
  return card;
}

function cardList(page, findings) {
  return element('ol', {class: `cards of-${Math.min(3, findings.length)}`},
    findings.map((finding) => findingCard(page, finding)));
}

function fold(page, title, findings, key) {
  const details = element('details', {class: 'fold', open: page.state.get(key) === 'yes'},
    element('summary', {}, title), cardList(page, findings));
  details.addEventListener('toggle', () => page.state.set({[key]: details.open ? 'yes' : null}));
  return details;
}

// What remains of the step if all of them were repaired, and what gains something only then.
function togetherLine({answers, kind}, findings) {
  const {model_step_ms: now, all_fixed_ms: then} = answers;
  const count = findings.length;
  if (!Number.isFinite(now) || !Number.isFinite(then) || count < 1) return null;
  const gains = findings.reduce((sum, {gain_ms: gain}) => sum + (gain || 0), 0);
  const them = count === 1 ? 'it hides' : 'they hide';
  const more = now - then > gains + 0.01 * now ? `, and what ${them},` : '';
  const unit = answers.per === 'trace' ? 'window' : 'step';
  const {meaning, remark} = gainBase(answers, kind);
  return element('p', {class: 'together', title: `${now} ms, ${meaning}; ${then} ms repaired`},
    `${count === 1 ? `With this${more} repaired` : `All of these${more} together`}: the ${unit} takes `,
    element('b', {}, milliseconds(then)), ` instead of ${milliseconds(now)} (estimate${remark && `; ${remark}`}).`);
}

function nothingLine({answers, facts}, hintCount) {
  if (answers.error) return `There are no findings: ${answers.error.message}`;
  if (answers.trust && answers.trust.verdict === null) return 'The report was made without findings (--no_findings).';
  if (answers.trust?.verdict === 'do not trust') {
    return 'There are no findings, but the trace cannot be trusted: open the badge at the top to see why.';
  }
  if (!Number.isFinite(answers.busy_ms) || !(answers.recorded_ms > 0)) return 'Nothing stands out.';
  const unit = answers.per === 'trace' ? 'the window' : 'a step';
  const isIdle = answers.busy_ms < 0.9 * answers.recorded_ms;
  const busy = percent(answers.busy_ms, answers.recorded_ms);
  const limit = facts?.limit || (isIdle && `the GPU is busy only ${busy} of ${unit}`);
  if (limit) {
    return `No rule finds 1 % of ${unit} or more to gain${hintCount ? ' with confidence' : ''}, although ${limit}.`;
  }
  return `Nothing stands out: the GPU is busy ${busy} of ${unit} ` +
    `(${milliseconds(answers.recorded_ms)}), and no rule finds 1 % of it or more to gain` +
    `${hintCount ? ' with confidence' : ''}.`;
}

function buildFindings(page, body) {
  const {answers} = page.front;
  const all = Array.isArray(answers.findings) ? answers.findings : [];
  const findings = all.filter((finding) => !finding.hint);
  const hints = all.filter((finding) => finding.hint);
  const rest = findings.slice(FIRST_FINDINGS);
  const together = togetherLine(page.front, findings);
  clear(body);
  if (findings.length) body.append(cardList(page, findings.slice(0, FIRST_FINDINGS)));
  else body.append(element('p', {class: 'nothing'}, nothingLine(page.front, hints.length)));
  const folds = element('div', {class: 'folds'});
  if (rest.length) {
    const title = `${rest.length} more ${rest.length === 1 ? 'finding' : 'findings'}`;
    folds.append(fold(page, title, rest, 'findings.more'));
  }
  if (hints.length) {
    const title = `${hints.length} ${hints.length === 1 ? 'hint' : 'hints'} with low confidence`;
    folds.append(fold(page, title, hints, 'findings.hints'));
  }
  body.append(element('div', {class: 'findings-end'}, together, folds));
  page.onTables(() => {
    if (!page.source(0)?.has('page_evidence')) body.classList.add('without-evidence');
  });
}

export const findingsSection = {
  id: 'findings',
  title: 'Findings',
  first: true,
  needs: (page) => Array.isArray(page.front.answers.findings),
  build: buildFindings,
};
