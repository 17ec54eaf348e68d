// Another week beside this one: from a file that the reader chooses, since pages on disk may not open their neighbours.
// A file is somebody's word: only its numbers and names are taken, names as text, and it is refused unless it fits.

class Unfit extends Error {}

function refuseUnless(fits, key, values) {
  if (!fits) throw new Unfit(word(key, values));
}

/** The page of another week: what it draws from, and its errors of sums. Nothing in it runs. */
function weekInPage(text) {
  const inside = new DOMParser().parseFromString(text, 'text/html').getElementById('data');
  refuseUnless(inside, 'wrong.file');
  const told = JSON.parse(inside.textContent);
  refuseUnless(told.city === data.city, 'wrong.city', {city: told.city});
  const rows = new Map(told.ids.map((id, row) => [id, row]));
  refuseUnless(rows.size === EVERY.length && data.ids.every((id) => rows.has(id)), 'wrong.cells');
  const ordered = (matrix) => data.ids.map((id) => matrix[rows.get(id)]);
  const inOrder = data.ids.every((id, row) => told.ids[row] === id);
  return {
    monday: told.monday, missing: told.missing ?? [], counts: ordered(told.counts), errors: ordered(told.errors),
    sums: told.sums && inOrder ? unpacked(told.sums) : null,
  };
}

/** Fields of a CSV file; those in quotes may hold commas and lines. */
function rowsOf(text) {
  const rows = [[]];
  for (const [, field, end] of text.matchAll(/("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/g)) {
    rows.at(-1).push(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);
    if (end !== ',') rows.push([]);
  }
  return rows.filter((row) => row.length > 1);
}

/** Counts as published in a CSV file, whatever the order of its rows and columns. */
function weekInCounts(text) {
  const [heads, ...rows] = rowsOf(text);
  const [id, hour, count, error, time] = ['cell_id', 'hour', 'count', 'standard_error', 'timestamp'].map((name) => heads?.indexOf(name) ?? -1);
  refuseUnless(Math.min(id, hour, count, error) >= 0, 'wrong.file');
  const [counts, errors] = [EVERY.map(() => []), EVERY.map(() => [])];
  const [missing, moments] = [new Set(), []];
  for (const row of rows) {
    const cell = cellNumber.get(row[id]);
    refuseUnless(cell !== undefined, 'wrong.cells');
    counts[cell][row[hour]] = Number(row[count]);
    errors[cell][row[hour]] = Number(row[error]);
    if (time >= 0 && !row[time]) missing.add(Number(row[hour]));
    else if (time >= 0) moments[row[hour]] = row[time].slice(0, 10);
  }
  refuseUnless(rows.length === EVERY.length * HOURS, 'wrong.hours');
  return {monday: moments[0], missing: [...missing], counts, errors, sums: null};
}

function refuseOtherNumbers({counts, errors}) {
  const whole = (matrix, fits) => matrix.every((row) => row?.length === HOURS && Array.from(row).every(fits));
  const fits = whole(counts, Number.isFinite) && whole(errors, (error) => Number.isFinite(error) && error >= 0);
  refuseUnless(fits, 'wrong.hours');
}

function weekIn(text, file) {
  const found = /^\s*</.test(text) ? weekInPage(text) : weekInCounts(text);
  refuseOtherNumbers(found);
  const known = /^\d{4}-\d\d-\d\d$/.test(found.monday);
  return {...found, name: () => (known ? weekName(found.monday) : file)};
}

async function readOther() {
  const [file] = byId('other').files;
  if (!file) return;
  try {
    compareWith(weekIn(await file.text(), file.name));
    byId('compare-problem').textContent = '';
  } catch (problem) {
    byId('compare-problem').textContent = `${file.name}: ${problem instanceof Unfit ? problem.message : word('wrong.file')}`;
  }
}

function compareWith(other) {
  state.other = other;
  state.difference = other !== null;
  for (const hour of other?.missing ?? []) skipped.add(hour); // an hour that one week lacks cannot be compared
  if (other) other.scales = Object.fromEntries(Object.keys(MEASURES).map((name) => [name, differenceScale(name)]));
  else {
    byId('other').value = '';
    skipped.clear();
    for (const hour of data.missing) skipped.add(hour);
  }
  for (const element of document.querySelectorAll('.compared')) element.hidden = other === null;
  repaint();
}

// What the difference says

function paintVerdict() {
  if (!state.other) return;
  const [visits, size] = [state.differenceSum.visits[state.hour], state.differenceSum.margins[state.hour]];
  const difference = signed(visits);
  byId('compare-with').textContent = word('compare.with', {week: state.other.name()});
  byId('change-value').textContent = size === null ? word('compare.unknown', {difference}) : word('compare.hour', {
    difference, margin: marginWords(size), z: (size ? (WITHIN * Math.abs(visits)) / size : 0).toLocaleString(LOCALES[language], {maximumFractionDigits: 1}),
    verdict: word(Math.abs(visits) > size ? 'compare.more' : 'compare.less'),
  });
  const n = EVERY.filter((cell) => beyondNoise(cell, state.hour)).length;
  const numbers = {n, cells: EVERY.length, chance: 0.05 * EVERY.length};
  const said = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, wholeNumber.format(value)]));
  byId('verdict').textContent = word('compare.verdict', {hour: hourName(state.hour), ...said});
}
