'use strict';
// What is shown, and the words and numbers for it. This script and those after it (map, charts, page) are one on the
// page: one state (hour, cell, measure); each change redraws what depends on it. Nothing is loaded or sent.

const HOURS = 168;

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const wholeNumber = new Intl.NumberFormat('en-GB', {maximumFractionDigits: 0});
const threeDigits = new Intl.NumberFormat('en-GB', {maximumSignificantDigits: 3});
const cellNumber = new Map(data.ids.map((id, cell) => [id, cell]));
const totals = Array.from({length: HOURS}, (_, hour) => data.counts.reduce((sum, row) => sum + row[hour], 0));

const MEASURES = {
  density: {unit: 'visits per km² and hour', value: density},
  count: {unit: 'visits per cell and hour', value: (cell, hour) => data.counts[cell][hour]},
};
for (const measure of Object.values(MEASURES)) measure.scale = fixedScale(measure.value);

const state = {
  hour: highest(totals),
  cell: highest(data.counts.map(sumOf)),
  measure: 'density',
  pointed: null,
  timer: null,
};

// Numbers

function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** What belongs to hours that clocks do not skip. */
function happening(ofHours) {
  return ofHours.filter((_, hour) => !data.missing.includes(hour));
}

function highest(values) {
  return values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
}

function density(cell, hour) {
  return data.counts[cell][hour] / (data.areas[cell] / 1e6);
}

function margin(cell, hour) {
  return 1.96 * data.errors[cell][hour];
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** The number 1, 2 or 5 times a power of ten at or below a positive value. */
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return power * [5, 2, 1].find((step) => value >= step * power * (1 - 1e-9));
}

function roundAbove(value) {
  const below = roundBelow(value);
  return below >= value * (1 - 1e-9) ? below : roundBelow(below * 2.5);
}

/** One logarithmic scale for the whole week; its ends leave out the rarest values, which take the end colours. */
function fixedScale(valueOf) {
  const values = data.counts.flatMap((row, cell) => row.map((_, hour) => valueOf(cell, hour)));
  const positive = Float64Array.from(values.filter((value) => value > 0)).sort();
  if (!positive.length) return {low: 1, high: 10};
  const low = roundBelow(positive[Math.floor(0.02 * (positive.length - 1))]);
  const high = roundAbove(positive[Math.ceil(0.999 * (positive.length - 1))]);
  return {low, high: high > low ? high : 10 * low};
}

function placeOnScale({low, high}, value) {
  return value <= low ? 0 : clamp(Math.log(value / low) / Math.log(high / low), 0, 1);
}

/** The ends of a scale and, between them, round values far enough apart for their labels. */
function scaleTicks(scale) {
  const ticks = [scale.low];
  for (let tick = scale.low; placeOnScale(scale, tick) < 0.78; tick = roundAbove(1.01 * tick)) {
    if (placeOnScale(scale, tick) - placeOnScale(scale, ticks.at(-1)) > 0.17) ticks.push(tick);
  }
  return [...ticks, scale.high];
}

// Words

function hourName(hour) {
  const clock = (h) => `${String(h).padStart(2, '0')}:00`;
  const skipped = data.missing.includes(hour) ? ', skipped by the clocks' : '';
  return `${data.days[Math.floor(hour / 24)][0]} ${clock(hour % 24)}–${clock((hour % 24) + 1)}${skipped}`;
}

function marginText(cell, hour) {
  const size = margin(cell, hour);
  return `± ${(size < 10 ? threeDigits : wholeNumber).format(size)}`;
}
