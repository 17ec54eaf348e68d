// What the reader does. The page starts at the end of this script, the last of those on the page.

const STEP_MS = matchMedia('(prefers-reduced-motion: reduce)').matches ? 1500 : 450;
let savedSoon = null;

// The chosen cells

function paintChosen() {
  sumChosen();
  byId('cell-title').textContent = whereName();
  byId('finder').value = state.cells.length === 1 ? data.ids[state.cells[0]] : '';
  byId('finder').setCustomValidity('');
  byId('area').value = state.area;
  outline('halo', state.cells);
  outline('chosen', state.cells);
  drawSeries();
  fillTable();
  fillDays();
}

function paintValue() {
  const {hour, cells, sum} = state;
  byId('value').textContent = wholeNumber.format(sum.visits[hour]);
  byId('margin').textContent = `${marginWords(sum.margins[hour])} ${word('visits')}`;
  byId('value-when').textContent = hourName(hour);
  const squareKm = sumOf(cells.map((cell) => data.areas[cell])) / 1e6;
  const peak = busiest(sum.visits.slice(0, HOURS));
  const all = PERIODS - 1;
  fillFacts({
    ...peopleFacts(hour),
    [word('density.now')]: word('per.km2', {n: threeDigits.format(sum.visits[hour] / squareKm)}),
    [word('area.size')]: `${threeDigits.format(squareKm)} km²`,
    [word('busiest')]: `${hourName(peak)}, ${wholeNumber.format(sum.visits[peak])}`,
    [word('of.the.week')]: `${wholeNumber.format(sum.visits[all])}${sum.margins[all] === null ? '' : ` ${marginWords(sum.margins[all])}`}`,
  });
  paintVerdict();
}

// The hour

function paintHour() {
  byId('hour').value = state.hour;
  byId('hour').setAttribute('aria-valuetext', hourName(state.hour));
  byId('hour-label').textContent = hourName(state.hour);
  byId('hour-date').textContent = dateOf(Math.floor(state.hour / 24));
  byId('total').textContent = wholeNumber.format(totals[state.hour]);
  paintMap();
  paintValue();
  if (state.pointed !== null) byId('tooltip').textContent = cellText(state.pointed);
  Object.keys(charts).forEach(markHour);
  markTable();
  fillCells();
}

/** Go to an hour; one that clocks leave out is stepped over, onwards or back. */
function goToHour(hour) {
  const step = hour < state.hour ? -1 : 1;
  let to = ((hour % HOURS) + HOURS) % HOURS;
  while (skipped.has(to)) to = (to + step + HOURS) % HOURS;
  state.hour = to;
  paintHour();
  saveSoon();
}

function chooseMeasure(measure) {
  state.measure = measure;
  paintScale();
  paintMap();
  saveSoon();
}

function showDifference(difference) {
  state.difference = difference;
  paintScale();
  paintMap();
  fillCells();
}

function play(on) {
  clearInterval(state.timer);
  state.timer = on ? setInterval(() => goToHour(state.hour + 1), STEP_MS) : null;
  byId('play').classList.toggle('playing', on);
  byId('play').querySelector('.word').textContent = word(on ? 'pause' : 'play');
}

// The address remembers the view: #hour=38&cell=C0123&measure=count

function saveSoon() {
  clearTimeout(savedSoon);
  savedSoon = setTimeout(remember, 300);
}

function remember() {
  if (state.timer) return saveSoon();
  const view = new URLSearchParams({hour: state.hour});
  if (state.area) view.set('area', state.area);
  else for (const cell of state.cells) view.append('cell', data.ids[cell]);
  view.set('measure', state.measure);
  if (language !== preferredLanguage()) view.set('lang', language);
  history.replaceState(null, '', `#${view}`);
  return null;
}

function readAddress() {
  const view = new URLSearchParams(location.hash.slice(1));
  speak(view.get('lang') ?? preferredLanguage());
  const hour = Number(view.get('hour') ?? NaN);
  if (Number.isInteger(hour) && hour >= 0 && hour < HOURS && !skipped.has(hour)) state.hour = hour;
  const cells = view.getAll('cell').filter((id) => cellNumber.has(id)).map((id) => cellNumber.get(id));
  if (cells.length) Object.assign(state, {cells: [...new Set(cells)], area: ''});
  const area = data.groups.find(([name]) => name === view.get('area'));
  if (area) Object.assign(state, {area: area[0], cells: area[1]});
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
  outline('pointed', []);
}

function cellText(cell) {
  const {hour} = state;
  const lines = [
    data.ids[cell],
    `${wholeNumber.format(week.counts[cell][hour])} ${marginWords(margin(cell, hour))} ${word('visits')}`,
    word('per.km2', {n: threeDigits.format(density(cell, hour))}),
  ];
  if (state.other) lines.push(`${word('difference')} ${signed(differs(cell, hour))} ${marginWords(differenceMargin(cell, hour))}`);
  return lines.join('\n');
}

function pointAtCell(event) {
  const cell = cellUnder(event);
  if (cell === null || event.pointerType === 'touch') return hush();
  state.pointed = cell;
  outline('pointed', [cell]);
  return tell(event, cellText(cell));
}

function pointAtHour(event) {
  if (event.pointerType === 'touch') return;
  const svg = event.currentTarget;
  const hour = hourUnder(event, svg);
  if (skipped.has(hour)) return;
  const value = charts[svg.id].values[hour];
  tell(event, `${hourName(hour)}\n${svg.id === 'change' ? signed(value) : wholeNumber.format(value)} ${word('visits')}`);
}

function onKey(event) {
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  const elsewhere = event.target.closest('input:not([type="range"]), select, .scroll, pre, #map');
  if (!step || elsewhere || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  goToHour(state.hour + step * (event.shiftKey ? 24 : 1));
}

function listenToCharts() {
  for (const svg of document.querySelectorAll('.chart')) {
    svg.addEventListener('click', (event) => goToHour(hourUnder(event, svg)));
    svg.addEventListener('pointermove', pointAtHour);
    svg.addEventListener('pointerleave', hush);
  }
}

function listenToMap() {
  byId('cells').addEventListener('click', (event) => {
    chooseCell(cellUnder(event), state.several || event.ctrlKey || event.metaKey || event.shiftKey);
  });
  byId('map').addEventListener('pointermove', pointAtCell);
  byId('map').addEventListener('pointerleave', hush);
  byId('map').addEventListener('blur', hush);
  byId('map').addEventListener('keydown', onMapKey);
}

function listen() {
  byId('hour').addEventListener('input', (event) => goToHour(Number(event.target.value)));
  byId('play').addEventListener('click', () => play(state.timer === null));
  byId('finder').addEventListener('input', findCell);
  byId('finder').addEventListener('focus', (event) => event.target.select());
  byId('area').addEventListener('change', (event) => chooseArea(event.target.value));
  byId('several').addEventListener('change', (event) => { state.several = event.target.checked; });
  byId('measures').addEventListener('change', (event) => chooseMeasure(event.target.value));
  byId('shown').addEventListener('change', (event) => showDifference(event.target.value === 'difference'));
  byId('other').addEventListener('change', readOther);
  byId('stop').addEventListener('click', () => compareWith(null));
  for (const part of document.querySelectorAll('details')) {
    part.addEventListener('toggle', () => { fillCells(); reachScrolled(); });
  }
  byId('language').addEventListener('change', (event) => { speak(event.target.value); repaint(); saveSoon(); });
  for (const button of document.querySelectorAll('[data-save]')) button.addEventListener('click', save);
  document.addEventListener('keydown', onKey);
  addEventListener('hashchange', () => { readAddress(); repaint(); });
  dark.addEventListener('change', () => { chooseColours(); paintScale(); paintMap(); });
  new ResizeObserver(() => { drawRhythm(); drawSeries(); reachScrolled(); }).observe(document.querySelector('.time'));
  listenToCharts();
  listenToMap();
}

/** What is larger than its box must be reached by keyboard to be scrolled. */
function reachScrolled() {
  for (const box of document.querySelectorAll('.scroll, pre')) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  }
}

function repaint() {
  translate();
  play(state.timer !== null);
  listAreas();
  if (skipped.has(state.hour)) state.hour = busiest(totals);
  drawRhythm();
  paintChosen();
  paintScale();
  paintHour();
}

readAddress();
chooseColours();
drawMap();
listCells();
repaint();
listen();
