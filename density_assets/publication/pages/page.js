'use strict';
// One state (hour, cell, measure); each change redraws what depends on it. Nothing is loaded or sent.

const HOURS = 168;
const SIDE = 9; // half the slider's thumb, so that chart and slider share one time axis
const TOP = 14;
const FOOT = 22;
const STEP_MS = 450;
// Equal steps in OKLab from pale to deep; on a dark ground the order is reversed, so that more stands out more.
const RAMP = ['#eff7e3', '#d0eac8', '#aaddb7', '#88ccb0', '#64bbac', '#40aaa9', '#1e96a6', '#0482a0', '#046d99',
  '#15578e', '#22427f', '#282d6c', '#281a57'];

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const SVG = byId('map').namespaceURI;
const dark = matchMedia('screen and (prefers-color-scheme: dark)');
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
const charts = {};
let colours = [];
let savedSoon = null;

// Numbers

function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
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
  return `${data.days[Math.floor(hour / 24)][0]} ${clock(hour % 24)}–${clock((hour % 24) + 1)}`;
}

function marginText(cell, hour) {
  const size = margin(cell, hour);
  return `± ${(size < 10 ? threeDigits : wholeNumber).format(size)}`;
}

// Colour

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function mixed(stops, place) {
  const i = Math.min(Math.floor(place * (stops.length - 1)), stops.length - 2);
  const share = place * (stops.length - 1) - i;
  return `rgb(${stops[i].map((part, k) => Math.round(part + share * (stops[i + 1][k] - part))).join(' ')})`;
}

function chooseColours() {
  const stops = (dark.matches ? [...RAMP].reverse() : RAMP).map(rgb);
  colours = Array.from({length: 256}, (_, i) => mixed(stops, i / 255));
}

function colourOf(value) {
  return colours[Math.round(255 * placeOnScale(MEASURES[state.measure].scale, value))];
}

// Map

function drawn(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

/** Rings travel as a first point and steps, which is what relative SVG moves are. */
function pathOf(rings) {
  return rings.map(([x, y, ...steps]) => `M${x} ${y}l${steps.join(' ')}z`).join('');
}

function drawMap() {
  byId('map').setAttribute('viewBox', `0 0 ${data.width} ${data.height}`);
  byId('map-frame').style.setProperty('--aspect', data.width / data.height);
  data.rings.forEach((rings, cell) => {
    drawn('path', {d: pathOf(rings), 'fill-rule': 'evenodd', 'data-cell': cell}, byId('cells'));
  });
  drawRuler();
}

function drawRuler() {
  const metres = roundBelow(data.width / 4);
  byId('ruler').style.width = `${(100 * metres) / data.width}%`;
  const label = byId('ruler').appendChild(document.createElement('span'));
  label.textContent = metres < 1000 ? `${metres} m` : `${metres / 1000} km`;
}

function paintMap() {
  const {value, unit} = MEASURES[state.measure];
  [...byId('cells').children].forEach((path, cell) => {
    path.setAttribute('fill', colourOf(value(cell, state.hour)));
  });
  byId('map').setAttribute('aria-label', `Map of ${data.city}, ${hourName(state.hour)}, ${unit}`);
}

function paintScale() {
  const {scale, unit} = MEASURES[state.measure];
  const ticks = scaleTicks(scale);
  document.querySelector('.ramp').style.background = `linear-gradient(to right, ${colours.join(',')})`;
  const labels = ticks.map((tick, i) => {
    const label = document.createElement('span');
    label.textContent = ['≤ ', ...Array(ticks.length - 2).fill(''), '≥ '][i] + threeDigits.format(tick);
    label.style.left = `${100 * placeOnScale(scale, tick)}%`;
    return label;
  });
  document.querySelector('.ticks').replaceChildren(...labels);
  const ends = [scale.low, scale.high].map((end) => threeDigits.format(end)).join(' to ');
  document.querySelector(`input[name="measure"][value="${state.measure}"]`).checked = true;
  byId('scale').setAttribute('aria-label', `Colour scale, logarithmic, the same all week: ${ends} ${unit}`);
}

function outline(id, cell) {
  byId(id).setAttribute('d', cell === null ? '' : pathOf(data.rings[cell]));
}

function cellUnder(event) {
  const path = event.target.closest('[data-cell]');
  return path ? Number(path.dataset.cell) : null;
}

// Charts

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
  return `M${values.map((value, hour) => `${x(hour).toFixed(1)} ${y(value).toFixed(1)}`).join('L')}`;
}

function between(place, lower, upper) {
  const back = [...lower].map((value, hour) => `${place.x(hour).toFixed(1)} ${place.y(value).toFixed(1)}`).reverse();
  return `${lineThrough(place, upper)}L${back.join('L')}z`;
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

// The chosen cell

function paintCell() {
  const id = data.ids[state.cell];
  byId('cell-title').textContent = `Cell ${id}`;
  byId('finder').value = id;
  byId('finder').setCustomValidity('');
  outline('halo', state.cell);
  outline('chosen', state.cell);
  drawSeries();
  fillTable();
}

function paintValue() {
  const {cell, hour} = state;
  byId('value').textContent = wholeNumber.format(data.counts[cell][hour]);
  byId('margin').textContent = `${marginText(cell, hour)} visits`;
  byId('value-when').textContent = hourName(hour);
  const week = data.counts[cell];
  fillFacts({
    'Density this hour': `${threeDigits.format(density(cell, hour))} per km²`,
    Area: `${threeDigits.format(data.areas[cell] / 1e6)} km²`,
    'Busiest hour': `${hourName(highest(week))}, ${wholeNumber.format(week[highest(week)])}`,
    'Visits in the week': wholeNumber.format(sumOf(week)),
  });
}

function fillFacts(facts) {
  byId('cell-facts').replaceChildren(...Object.entries(facts).map(([name, value]) => {
    const row = document.createElement('div');
    row.appendChild(document.createElement('dt')).textContent = name;
    row.appendChild(document.createElement('dd')).textContent = value;
    return row;
  }));
}

function tableRow(kind, first, rest) {
  const row = document.createElement('tr');
  const head = row.appendChild(document.createElement('th'));
  head.textContent = first;
  head.scope = kind === 'th' ? 'col' : 'row';
  for (const text of rest) row.appendChild(document.createElement(kind)).textContent = text;
  return row;
}

/** Days across, hours down; each entry is hour 24 × day + h of the week. */
function fillTable() {
  const table = byId('numbers');
  table.replaceChildren();
  const days = data.days.map(([name]) => name.slice(0, 3));
  table.createTHead().appendChild(tableRow('th', 'Hour', days));
  const body = table.createTBody();
  for (let h = 0; h < 24; h += 1) {
    const counts = days.map((_, day) => wholeNumber.format(data.counts[state.cell][24 * day + h]));
    body.appendChild(tableRow('td', `${String(h).padStart(2, '0')}:00`, counts));
  }
  markTable();
}

function markTable() {
  const table = byId('numbers');
  table.querySelector('.current')?.classList.remove('current');
  table.tBodies[0].rows[state.hour % 24].cells[1 + Math.floor(state.hour / 24)].classList.add('current');
}

// The hour

function paintHour() {
  byId('hour').value = state.hour;
  byId('hour').setAttribute('aria-valuetext', hourName(state.hour));
  byId('hour-label').textContent = hourName(state.hour);
  byId('hour-date').textContent = data.days[Math.floor(state.hour / 24)][1];
  byId('total').textContent = wholeNumber.format(totals[state.hour]);
  paintMap();
  paintValue();
  if (state.pointed !== null) byId('tooltip').textContent = cellText(state.pointed);
  Object.keys(charts).forEach(markHour);
  markTable();
}

function goToHour(hour) {
  state.hour = ((hour % HOURS) + HOURS) % HOURS;
  paintHour();
  saveSoon();
}

function chooseCell(cell) {
  state.cell = cell;
  paintCell();
  paintValue();
  saveSoon();
}

function chooseMeasure(measure) {
  state.measure = measure;
  paintScale();
  paintMap();
  saveSoon();
}

function play(on) {
  clearInterval(state.timer);
  state.timer = on ? setInterval(() => goToHour(state.hour + 1), STEP_MS) : null;
  byId('play').classList.toggle('playing', on);
  byId('play').querySelector('.word').textContent = on ? 'Pause' : 'Play';
}

// The address remembers the view: #hour=38&cell=C0123&measure=count

function saveSoon() {
  clearTimeout(savedSoon);
  savedSoon = setTimeout(save, 300);
}

function save() {
  if (state.timer) return saveSoon();
  const view = new URLSearchParams({hour: state.hour, cell: data.ids[state.cell], measure: state.measure});
  history.replaceState(null, '', `#${view}`);
  return null;
}

function readAddress() {
  const view = new URLSearchParams(location.hash.slice(1));
  const hour = Number(view.get('hour') ?? NaN);
  if (Number.isInteger(hour) && hour >= 0 && hour < HOURS) state.hour = hour;
  if (cellNumber.has(view.get('cell'))) state.cell = cellNumber.get(view.get('cell'));
  if (Object.hasOwn(MEASURES, view.get('measure'))) state.measure = view.get('measure');
}

// The reader

function tell(event, text) {
  const box = byId('tooltip');
  box.textContent = text;
  box.hidden = false;
  const x = clamp(event.clientX + 14, 0, innerWidth - box.offsetWidth - 4);
  const above = event.clientY - box.offsetHeight - 12;
  box.style.transform = `translate(${x}px, ${above < 0 ? event.clientY + 20 : above}px)`;
}

function hush() {
  byId('tooltip').hidden = true;
  state.pointed = null;
  outline('pointed', null);
}

function cellText(cell) {
  const count = `${wholeNumber.format(data.counts[cell][state.hour])} ${marginText(cell, state.hour)} visits`;
  return `${data.ids[cell]}\n${count}\n${threeDigits.format(density(cell, state.hour))} per km²`;
}

function pointAtCell(event) {
  const cell = cellUnder(event);
  if (cell === null || event.pointerType === 'touch') return hush();
  state.pointed = cell;
  outline('pointed', cell);
  return tell(event, cellText(cell));
}

function pointAtHour(event) {
  if (event.pointerType === 'touch') return;
  const svg = event.currentTarget;
  const hour = hourUnder(event, svg);
  tell(event, `${hourName(hour)}\n${wholeNumber.format(charts[svg.id].values[hour])} visits`);
}

function onKey(event) {
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  const elsewhere = event.target.closest('input:not([type="range"]), .scroll');
  if (!step || elsewhere || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  goToHour(state.hour + step * (event.shiftKey ? 24 : 1));
}

function findCell() {
  const cell = cellNumber.get(byId('finder').value.trim());
  byId('finder').setCustomValidity(cell === undefined ? 'No cell has this id' : '');
  if (cell !== undefined && cell !== state.cell) chooseCell(cell);
}

function listenToCharts() {
  for (const svg of document.querySelectorAll('.chart')) {
    svg.addEventListener('click', (event) => goToHour(hourUnder(event, svg)));
    svg.addEventListener('pointermove', pointAtHour);
    svg.addEventListener('pointerleave', hush);
  }
}

function listen() {
  byId('hour').addEventListener('input', (event) => goToHour(Number(event.target.value)));
  byId('play').addEventListener('click', () => play(state.timer === null));
  byId('cells').addEventListener('click', (event) => chooseCell(cellUnder(event)));
  byId('map').addEventListener('pointermove', pointAtCell);
  byId('map').addEventListener('pointerleave', hush);
  byId('finder').addEventListener('input', findCell);
  byId('finder').addEventListener('focus', (event) => event.target.select());
  document.querySelector('fieldset').addEventListener('change', (event) => chooseMeasure(event.target.value));
  document.addEventListener('keydown', onKey);
  addEventListener('hashchange', showAddress);
  dark.addEventListener('change', recolour);
  new ResizeObserver(() => { drawRhythm(); drawSeries(); }).observe(document.querySelector('.time'));
  listenToCharts();
}

function listCells() {
  byId('ids').append(...data.ids.map((id) => Object.assign(document.createElement('option'), {value: id})));
}

function recolour() {
  chooseColours();
  paintScale();
  paintMap();
}

function showAddress() {
  readAddress();
  paintCell();
  paintScale();
  paintHour();
}

chooseColours();
drawMap();
listCells();
drawRhythm();
showAddress();
listen();
