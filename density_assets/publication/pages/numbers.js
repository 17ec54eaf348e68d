// What is shown: this week or how it differs from another, by hour and cell.

const HOURS = 168;
const EVERY = data.ids.map((_, cell) => cell);
const WITHIN = 1.96; // standard errors on either side of 95 %

const cellNumber = new Map(data.ids.map((id, cell) => [id, cell]));
const week = {...data, name: () => weekName(data.monday), sums: data.sums && unpacked(data.sums)};
const totals = totalsOf(week);
const skipped = new Set(data.missing); // hours that clocks leave out
const MEASURES = {density: (cell) => data.areas[cell] / 1e6, count: () => 1}; // what a count is divided by
const scales = Object.fromEntries(Object.keys(MEASURES).map((name) => [name, fixedScale(name)]));

const state = {
  hour: busiest(totals),
  cells: [highest(data.counts.map(sumOf))],
  area: '',
  several: false,
  measure: 'density',
  other: null, // a week to compare with
  difference: false, // whether the map shows how they differ
  pointed: null,
  timer: null,
};

// Numbers

function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

function highest(values) {
  return values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
}

/** The hour that happens and has most. */
function busiest(values) {
  return highest(values.map((value, hour) => (skipped.has(hour) ? -Infinity : value)));
}

/** Visits of some cells together in every hour. */
function totalsOf(some, cells = EVERY) {
  return Array.from({length: HOURS}, (_, hour) => cells.reduce((sum, cell) => sum + some.counts[cell][hour], 0));
}

function density(cell, hour) {
  return week.counts[cell][hour] / MEASURES.density(cell);
}

/** Half of a 95 % interval. */
function margin(cell, hour) {
  return WITHIN * week.errors[cell][hour];
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function differs(cell, hour) {
  return week.counts[cell][hour] - state.other.counts[cell][hour];
}

/** Noise of two weeks is taken as independent, which is rather too careful of weeks estimated together. */
function differenceMargin(cell, hour) {
  return WITHIN * Math.hypot(week.errors[cell][hour], state.other.errors[cell][hour]);
}

function beyondNoise(cell, hour) {
  return Math.abs(differs(cell, hour)) > differenceMargin(cell, hour);
}

/** What the map shows of a cell in an hour. */
function shown(cell, hour, measure = state.measure) {
  return (state.difference ? differs(cell, hour) : week.counts[cell][hour]) / MEASURES[measure](cell);
}

// Scales

/** The number 1, 2 or 5 times a power of ten at or below a positive value. */
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return power * [5, 2, 1].find((step) => value >= step * power * (1 - 1e-9));
}

function roundAbove(value) {
  const below = roundBelow(value);
  return below >= value * (1 - 1e-9) ? below : roundBelow(below * 2.5);
}

function everyValue(valueOf) {
  return data.counts.flatMap((row, cell) => row.flatMap((_, hour) => (skipped.has(hour) ? [] : [valueOf(cell, hour)])));
}

/** One logarithmic scale for the whole week; its ends leave out the rarest values, which take the end colours. */
function fixedScale(measure) {
  const values = everyValue((cell, hour) => week.counts[cell][hour] / MEASURES[measure](cell));
  const positive = Float64Array.from(values.filter((value) => value > 0)).sort();
  if (!positive.length) return {low: 1, high: 10};
  const low = roundBelow(positive[Math.floor(0.02 * (positive.length - 1))]);
  const high = roundAbove(positive[Math.ceil(0.999 * (positive.length - 1))]);
  return {low, high: high > low ? high : 10 * low};
}

/** Differences have a straight scale around zero, as wide as all but the rarest. */
function differenceScale(measure) {
  const sizes = Float64Array.from(everyValue((cell, hour) => Math.abs(differs(cell, hour)) / MEASURES[measure](cell))).sort();
  const high = roundAbove(sizes[Math.floor(0.99 * (sizes.length - 1))] || 1);
  return {low: -high, high};
}

function scaleNow() {
  return state.difference ? state.other.scales[state.measure] : scales[state.measure];
}

function placeOnScale({low, high}, value) {
  if (low < 0) return clamp((value - low) / (high - low), 0, 1);
  return value <= low ? 0 : clamp(Math.log(value / low) / Math.log(high / low), 0, 1);
}

/** The ends of a scale and, between them, round values far enough apart for their labels. */
function scaleTicks(scale) {
  if (scale.low < 0) return [scale.low, scale.low / 2, 0, scale.high / 2, scale.high];
  const ticks = [scale.low];
  for (let tick = scale.low; placeOnScale(scale, tick) < 0.78; tick = roundAbove(1.01 * tick)) {
    if (placeOnScale(scale, tick) - placeOnScale(scale, ticks.at(-1)) > 0.17) ticks.push(tick);
  }
  if (ticks.length === 1) ticks.push(Number(Math.sqrt(scale.low * scale.high).toPrecision(2))); // two ends name no colour between
  return [...ticks, scale.high];
}

// Words for numbers

function marginWords(size) {
  return size === null ? word('no.error') : `± ${(size < 10 ? threeDigits : wholeNumber).format(size)}`;
}

function signed(value) {
  return `${value > 0 ? '+' : ''}${wholeNumber.format(value).replace('-', '−')}`;
}

function unitName() {
  const unit = word(`unit.${state.measure}.visits`);
  return word(state.difference ? 'of.a.difference' : 'in.an.hour', {unit});
}
