// The map of one hour and the scale of its colours.

// Equal steps in OKLab from pale to deep; on a dark ground the order is reversed, so that more stands out more.
const RAMP = ['#eff7e3', '#d0eac8', '#aaddb7', '#88ccb0', '#64bbac', '#40aaa9', '#1e96a6', '#0482a0', '#046d99',
  '#15578e', '#22427f', '#282d6c', '#281a57'];
const SVG = byId('map').namespaceURI;
const dark = matchMedia('screen and (prefers-color-scheme: dark)');
let colours = [];

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
