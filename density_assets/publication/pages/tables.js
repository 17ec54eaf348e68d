// Everything that is drawn, as tables too.

function tableRow(kind, first, rest) {
  const row = document.createElement('tr');
  const head = row.appendChild(document.createElement('th'));
  head.textContent = first;
  head.scope = kind === 'th' ? 'col' : 'row';
  for (const text of rest) {
    const entry = row.appendChild(document.createElement(kind));
    entry.textContent = text;
    if (kind === 'th') entry.scope = 'col';
  }
  return row;
}

function fill(id, heads, rows) {
  const table = byId(id);
  const [head, body] = [document.createElement('thead'), document.createElement('tbody')];
  head.appendChild(tableRow('th', ...heads));
  body.append(...rows.map(([first, ...rest]) => tableRow('td', first, rest)));
  table.replaceChildren(head, body);
}

/** Days across, hours down; each entry is hour 24 × day + h of the week. */
function fillTable() {
  const days = Array.from({length: 7}, (_, day) => day);
  const rows = Array.from({length: 24}, (_, h) => [clock(h), ...days.map((day) => (
    skipped.has(24 * day + h) ? '–' : wholeNumber.format(state.sum.visits[24 * day + h])
  ))]);
  fill('numbers', [word('hour.column'), days.map((day) => dayName(day, 'short'))], rows);
  markTable();
}

function markTable() {
  const table = byId('numbers');
  table.querySelector('.current')?.classList.remove('current');
  table.tBodies[0].rows[state.hour % 24].cells[1 + Math.floor(state.hour / 24)].classList.add('current');
}

/** Sums of days and of the week with their intervals, and how they differ from those of the other week. */
function fillDays() {
  const columns = [[word('this.week'), state.sum, wholeNumber.format]];
  if (state.other) {
    columns.push([word('other.week'), state.otherSum, wholeNumber.format], [word('difference'), state.differenceSum, signed]);
  }
  const rows = Array.from({length: PERIODS - DAYS_FROM}, (_, i) => [
    i < 7 ? dayName(i) : word('week'),
    ...columns.map(([, {visits, margins}, format]) => `${format(visits[DAYS_FROM + i])} ${marginWords(margins[DAYS_FROM + i])}`),
  ]);
  fill('days', [word('day'), columns.map(([name]) => name)], rows);
}

/** The map in words: all cells, the fullest first. */
function fillCells() {
  if (!byId('cells-details').open) return;
  const order = [...EVERY].sort((one, other) => shown(other, state.hour) - shown(one, state.hour));
  const heads = [word('unit.count.visits'), word('margin.column'), word('unit.density.visits')];
  fill('cells-table', [word('cell.column'), state.other ? [...heads, word('difference'), word('margin.column')] : heads],
    order.map((cell) => [data.ids[cell], ...cellColumns(cell)]));
}

function cellColumns(cell) {
  const {hour} = state;
  const columns = [
    wholeNumber.format(week.counts[cell][hour]), marginWords(margin(cell, hour)), threeDigits.format(density(cell, hour)),
  ];
  if (!state.other) return columns;
  return [...columns, signed(differs(cell, hour)), marginWords(differenceMargin(cell, hour))];
}

function fillFacts(facts) {
  byId('cell-facts').replaceChildren(...Object.entries(facts).map(([name, value]) => {
    const row = document.createElement('div');
    row.appendChild(document.createElement('dt')).textContent = name;
    row.appendChild(document.createElement('dd')).textContent = value;
    return row;
  }));
}
