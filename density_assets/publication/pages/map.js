// The map of one hour and the scale of its colours.

// Equal steps in OKLab from pale to deep; on a dark ground the order is reversed, so that more stands out more.
const RAMP = ['#eff7e3', '#d0eac8', '#aaddb7', '#88ccb0', '#64bbac', '#40aaa9', '#1e96a6', '#0482a0', '#046d99',
  '#15578e', '#22427f', '#282d6c', '#281a57'];
// From more in the other week to more in this one, in colours that colour-blind readers tell apart.
const DIVERGING = {
  light: ['#7f3b08', '#b35806', '#e08214', '#fdb863', '#f7f7f7', '#92c5de', '#4393c3', '#2166ac', '#053061'],
  dark: ['#ffc27a', '#fdae61', '#e08214', '#8a4a0c', '#20282d', '#1d4f7d', '#4393c3', '#74b9e8', '#a8d8f8'],
};
const SVG = byId('map').namespaceURI;
const dark = matchMedia('screen and (prefers-color-scheme: dark)');
const middles = data.rings.map(middleOf);
let colours = {};

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
  const ramps = {week: dark.matches ? [...RAMP].reverse() : RAMP, difference: DIVERGING[dark.matches ? 'dark' : 'light']};
  colours = Object.fromEntries(Object.entries(ramps).map(([name, ramp]) => {
    const stops = ramp.map(rgb);
    return [name, Array.from({length: 256}, (_, i) => mixed(stops, i / 255))];
  }));
}

function coloursNow() {
  return colours[state.difference ? 'difference' : 'week'];
}

/** Differences that noise explains are not to be read, so they are grey. */
function colourOf(cell) {
  if (state.difference && !beyondNoise(cell, state.hour)) return dark.matches ? '#4a555c' : '#c9cfd3';
  return coloursNow()[Math.round(255 * placeOnScale(scaleNow(), shown(cell, state.hour)))];
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
  [...byId('cells').children].forEach((path, cell) => path.setAttribute('fill', colourOf(cell)));
  const label = word('map.label', {city: data.city, hour: hourName(state.hour), unit: unitName()});
  byId('map').setAttribute('aria-label', label);
}

function tickName(tick, i, ticks) {
  const ends = state.difference ? '' : ['≤ ', ...Array(ticks.length - 2).fill(''), '≥ '][i];
  return ends + (state.difference && tick > 0 ? '+' : '') + threeDigits.format(tick).replace('-', '−');
}

function paintScale() {
  const scale = scaleNow();
  const ticks = scaleTicks(scale);
  document.querySelector('.ramp').style.background = `linear-gradient(to right, ${coloursNow().join(',')})`;
  const labels = ticks.map((tick, i) => {
    const label = document.createElement('span');
    label.textContent = tickName(tick, i, ticks);
    label.style.left = `${100 * placeOnScale(scale, tick)}%`;
    return label;
  });
  document.querySelector('.ticks').replaceChildren(...labels);
  const [low, high] = [scale.low, scale.high].map((end) => threeDigits.format(end));
  document.querySelector(`input[name="measure"][value="${state.measure}"]`).checked = true;
  document.querySelector(`input[name="shown"][value="${state.difference ? 'difference' : 'week'}"]`).checked = true;
  const label = state.difference ? 'difference.scale.label' : 'scale.label';
  byId('scale').setAttribute('aria-label', word(label, {low, high, unit: unitName()}));
  byId('scale-hint').textContent = word(state.difference ? 'difference.hint' : 'scale.hint');
}

function outline(id, cells) {
  byId(id).setAttribute('d', cells.map((cell) => pathOf(data.rings[cell])).join(''));
  byId(id).classList.toggle('many', cells.length > 1);
}

function cellUnder(event) {
  const path = event.target.closest('[data-cell]');
  return path ? Number(path.dataset.cell) : null;
}

// From cell to cell by keyboard

/** About the middle of a cell: of the points of its first ring. */
function middleOf([ring]) {
  let [x, y, sumX, sumY] = [0, 0, 0, 0];
  for (let i = 0; i < ring.length; i += 2) {
    x += ring[i];
    y += ring[i + 1];
    sumX += x;
    sumY += y;
  }
  return [(2 * sumX) / ring.length, (2 * sumY) / ring.length];
}

/** The nearest cell in a direction; what lies aside counts twice as far. */
function nextCell(from, [right, down]) {
  const far = middles.map(([x, y], cell) => {
    const [dx, dy] = [x - middles[from][0], y - middles[from][1]];
    const ahead = dx * right + dy * down;
    return cell === from || ahead <= 0 ? Infinity : ahead + 2 * Math.abs(dx * down - dy * right);
  });
  const nearest = far.indexOf(Math.min(...far));
  return far[nearest] === Infinity ? from : nearest;
}
