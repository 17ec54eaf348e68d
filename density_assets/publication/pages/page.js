// What the reader chooses: a cell, an hour, a measure. The page starts at the end of this script, the last of four.

const STEP_MS = 450;
let savedSoon = null;

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
