// The charts of the week: of all cells, of the chosen ones, and of how they differ from another week.

const SIDE = 9; // half the slider's thumb, so that chart and slider share one time axis
const TOP = 14;
const FOOT = 22;
const charts = {};

/** Gridline values inside the range, four at most above zero. */
function levels(low, high) {
  const step = Math.max(roundAbove((high - low) / 4), 1);
  const first = Math.ceil(low / step);
  return Array.from({length: Math.floor(high / step) - first + 1}, (_, i) => (first + i) * step);
}

/** Where hours and values lie in a chart; the labels of the levels stand in a gutter on the left. */
function frame(svg, lowest, highest) {
  const {clientWidth: width, clientHeight: height} = svg;
  const [low, high] = [Math.min(lowest, 0), Math.max(highest * 1.04, 1)];
  const values = levels(low, high);
  const gutter = 7.5 * Math.max(...values.map((value) => wholeNumber.format(value).length)) + 8;
  const x = (hour) => gutter + SIDE + (hour / (HOURS - 1)) * (width - gutter - 2 * SIDE);
  const y = (value) => height - FOOT - clamp((value - low) / (high - low), 0, 1) * (height - FOOT - TOP);
  return {width, height, gutter, values, x, y};
}

function drawDays(svg, {width, height, x}) {
  for (let day = 0; day < 7; day += 1) {
    const midnight = x(24 * day - 0.5);
    if (day) drawn('line', {class: 'midnight', x1: midnight, x2: midnight, y1: TOP, y2: height - FOOT + 5}, svg);
    const middle = {x: x(24 * day + 11.5), y: height - 5, 'text-anchor': 'middle'};
    drawn('text', middle, svg).textContent = dayName(day, width > 640 ? 'long' : 'short');
  }
}

function drawLevels(svg, {width, gutter, values, y}) {
  for (const value of values) {
    drawn('line', {class: value ? 'grid' : 'grid zero', x1: gutter, x2: width, y1: y(value), y2: y(value)}, svg);
    const beside = {x: gutter - 8, y: y(value) + 4, 'text-anchor': 'end'};
    drawn('text', beside, svg).textContent = wholeNumber.format(value);
  }
}

/** Hours in stretches without a gap: one that clocks leave out is not drawn. */
function stretches() {
  const hours = Array.from({length: HOURS}, (_, hour) => hour).filter((hour) => !skipped.has(hour));
  const starts = hours.filter((hour) => !hours.includes(hour - 1));
  return starts.map((start, i) => hours.filter((hour) => hour >= start && !(hour >= starts[i + 1])));
}

function points({x, y}, values, hours) {
  return hours.map((hour) => `${x(hour).toFixed(1)} ${y(values[hour]).toFixed(1)}`);
}

function lineThrough(place, values) {
  return stretches().map((hours) => `M${points(place, values, hours).join('L')}`).join('');
}

function between(place, lower, upper) {
  return stretches().map((hours) => (
    `M${[...points(place, upper, hours), ...points(place, lower, hours).reverse()].join('L')}z`
  )).join('');
}

/** Draw values with a filled shape behind them: a band of uncertainty, or the area down to zero; and another line. */
function drawChart(id, values, {lower = values, upper = values, fill = 'band', besides = null}) {
  const svg = byId(id);
  svg.replaceChildren();
  const lowest = Math.min(...values) < 0 ? Math.min(...lower) : 0; // counts that stay above zero need no room below
  const place = frame(svg, lowest, Math.max(...upper, ...(besides ?? [])));
  svg.setAttribute('viewBox', `0 0 ${place.width} ${place.height}`);
  drawDays(svg, place);
  drawLevels(svg, place);
  drawn('path', {class: fill, d: between(place, lower, upper)}, svg);
  if (besides) drawn('path', {class: 'line besides', d: lineThrough(place, besides)}, svg);
  drawn('path', {class: 'line', d: lineThrough(place, values)}, svg);
  const now = drawn('line', {class: 'now', y1: TOP - 6, y2: place.height - FOOT}, svg);
  charts[id] = {place, values, now, dot: drawn('circle', {class: 'dot', r: 5}, svg)};
  markHour(id);
}

function markHour(id) {
  const {place, values, now, dot} = charts[id];
  now.setAttribute('x1', place.x(state.hour));
  now.setAttribute('x2', place.x(state.hour));
  dot.setAttribute('cx', place.x(state.hour));
  dot.setAttribute('cy', place.y(values[state.hour]));
}

function labelled(id, key, values) {
  const peak = busiest(values);
  const said = {where: whereName(), hour: hourName(peak), n: wholeNumber.format(values[peak])};
  byId(id).setAttribute('aria-label', word(key, said));
}

function drawRhythm() {
  drawChart('rhythm', totals, {lower: totals.map(() => 0), fill: 'area'});
  byId('hour').style.setProperty('--gutter', `${charts.rhythm.place.gutter}px`);
  labelled('rhythm', 'rhythm.label', totals);
}

/** Values of the hours with their interval; without a band where it is not known. */
function drawSummed(id, {visits, margins}, besides = null) {
  const values = visits.slice(0, HOURS);
  const reach = values.map((_, hour) => margins[hour] ?? 0);
  const lower = values.map((value, hour) => value - reach[hour]);
  drawChart(id, values, {lower, upper: values.map((value, hour) => value + reach[hour]), besides});
  return values;
}

function drawSeries() {
  const {sum, otherSum, differenceSum} = state;
  labelled('series', 'series.label', drawSummed('series', sum, otherSum?.visits.slice(0, HOURS)));
  const known = sum.margins[0] === null ? 'series.unknown' : 'series.sum';
  byId('series-hint').textContent = word(state.cells.length === 1 ? 'series.hint' : known);
  if (!differenceSum) return;
  labelled('change', 'difference.label', drawSummed('change', differenceSum));
}

function hourUnder(event, svg) {
  const {x} = charts[svg.id].place;
  const inside = event.clientX - svg.getBoundingClientRect().left;
  return clamp(Math.round((inside - x(0)) / (x(1) - x(0))), 0, HOURS - 1);
}
