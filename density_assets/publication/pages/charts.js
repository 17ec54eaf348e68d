// The charts of the week: of all cells, and of the chosen one.

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
  data.days.forEach(([name], day) => {
    const midnight = x(24 * day - 0.5);
    if (day) drawn('line', {class: 'midnight', x1: midnight, x2: midnight, y1: TOP, y2: height - FOOT + 5}, svg);
    const middle = {x: x(24 * day + 11.5), y: height - 5, 'text-anchor': 'middle'};
    drawn('text', middle, svg).textContent = width > 640 ? name : name.slice(0, 3);
  });
}

function drawLevels(svg, {width, gutter, values, y}) {
  for (const value of values) {
    drawn('line', {class: value ? 'grid' : 'grid zero', x1: gutter, x2: width, y1: y(value), y2: y(value)}, svg);
    const beside = {x: gutter - 8, y: y(value) + 4, 'text-anchor': 'end'};
    drawn('text', beside, svg).textContent = wholeNumber.format(value);
  }
}

function lineThrough({x, y}, values) {
  return `M${happening(values.map((value, hour) => `${x(hour).toFixed(1)} ${y(value).toFixed(1)}`)).join('L')}`;
}

function between(place, lower, upper) {
  const back = [...lower].map((value, hour) => `${place.x(hour).toFixed(1)} ${place.y(value).toFixed(1)}`);
  return `${lineThrough(place, upper)}L${happening(back).reverse().join('L')}z`;
}

/** Draw values with a filled shape behind them: a band of uncertainty, or the area down to zero. */
function drawChart(id, values, lower, upper, fill) {
  const svg = byId(id);
  svg.replaceChildren();
  const lowest = Math.min(...values) < 0 ? Math.min(...lower) : 0; // counts that stay above zero need no room below
  const place = frame(svg, lowest, Math.max(...upper));
  svg.setAttribute('viewBox', `0 0 ${place.width} ${place.height}`);
  drawDays(svg, place);
  drawLevels(svg, place);
  drawn('path', {class: fill, d: between(place, lower, upper)}, svg);
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

function drawRhythm() {
  drawChart('rhythm', totals, totals.map(() => 0), totals, 'area');
  byId('hour').style.setProperty('--gutter', `${charts.rhythm.place.gutter}px`);
  const peak = highest(totals);
  const summary = `highest ${hourName(peak)} with ${wholeNumber.format(totals[peak])}`;
  byId('rhythm').setAttribute('aria-label', `Visits in all cells by hour of the week, ${summary}`);
}

function drawSeries() {
  const row = data.counts[state.cell];
  const lower = row.map((count, hour) => count - margin(state.cell, hour));
  const upper = row.map((count, hour) => count + margin(state.cell, hour));
  drawChart('series', row, lower, upper, 'band');
  const peak = highest(row);
  const summary = `highest ${hourName(peak)} with ${wholeNumber.format(row[peak])}`;
  byId('series').setAttribute('aria-label', `Visits in cell ${data.ids[state.cell]} by hour of the week, ${summary}`);
}

function hourUnder(event, svg) {
  const {x} = charts[svg.id].place;
  const inside = event.clientX - svg.getBoundingClientRect().left;
  return clamp(Math.round((inside - x(0)) / (x(1) - x(0))), 0, HOURS - 1);
}
