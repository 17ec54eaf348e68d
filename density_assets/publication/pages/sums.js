// The error of any choice of cells: in each hour, on each day, in the week. The formula is that of the data dictionary,
// variance = Σ kinds |U'a|² |F'b|² + |C'y|² + Σ a² b² own; |F'b|² comes with the page, for its 176 periods.

const DAYS_FROM = 168;
const PERIODS = 176;

function numbersIn(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

function unpacked({kinds, width, city}) {
  const opened = kinds.map((kind) => ({
    ...kind, cells: numbersIn(kind.cells, Uint16Array), values: numbersIn(kind.values, Int16Array),
  }));
  return {kinds: opened, width, city: numbersIn(city, Float32Array)};
}

/** For one kind: the square of what its patterns say of the cells together, and the sum of squares of each alone. */
function alongCells({counts, scales: sizes, cells, values}, chosen) {
  const alone = new Map([...chosen].map((cell) => [cell, 0]));
  let together = 0;
  let entry = 0;
  counts.forEach((count, pattern) => {
    let sum = 0;
    for (const end = entry + count; entry < end; entry += 1) {
      if (!alone.has(cells[entry])) continue;
      const value = values[entry] * sizes[pattern];
      sum += value;
      alone.set(cells[entry], alone.get(cells[entry]) + value * value);
    }
    together += sum * sum;
  });
  return {together, alone};
}

/** What errors that all cells share make of visits in some hours. */
function sharedByCity({city, width}, visits, hours) {
  const sums = new Float64Array(width);
  for (const hour of hours) {
    for (let k = 0; k < width; k += 1) sums[k] += visits[hour] * city[hour * width + k];
  }
  return sums.reduce((total, value) => total + value * value, 0);
}

function hoursOf(some, period) {
  const first = period < DAYS_FROM ? period : period === PERIODS - 1 ? 0 : 24 * (period - DAYS_FROM);
  const count = period < DAYS_FROM ? 1 : period === PERIODS - 1 ? HOURS : 24;
  const hours = Array.from({length: count}, (_, i) => first + i);
  return period < DAYS_FROM ? hours : hours.filter((hour) => !some.missing.includes(hour));
}

/** What no other cell or hour shares: for every hour, over the chosen cells. */
function ownErrors(some, cells, kinds) {
  const ofCity = Array.from({length: HOURS}, (_, hour) => sharedByCity(some.sums, new Array(HOURS).fill(1), [hour]));
  return Array.from({length: HOURS}, (_, hour) => sumOf(cells.map((cell) => {
    const shared = sumOf(kinds.map(({alone}, k) => alone.get(cell) * some.sums.kinds[k].hours[hour]));
    return Math.max(some.errors[cell][hour] ** 2 - shared - some.counts[cell][hour] ** 2 * ofCity[hour], 0);
  })));
}

/** Standard errors of the sum of some cells in the 176 periods; nothing where the release does not tell. */
function errorsOfSum(some, cells) {
  if (!some.sums) return null;
  const kinds = some.sums.kinds.map((kind) => alongCells(kind, new Set(cells)));
  const own = ownErrors(some, cells, kinds);
  const visits = totalsOf(some, cells);
  return Array.from({length: PERIODS}, (_, period) => {
    const hours = hoursOf(some, period);
    const shared = sumOf(kinds.map(({together}, k) => together * some.sums.kinds[k].hours[period]));
    return Math.sqrt(shared + sharedByCity(some.sums, visits, hours) + sumOf(hours.map((hour) => own[hour])));
  });
}

/** Visits of some cells and half of their 95 % intervals in all periods; a margin that is not known is null. */
function summed(some, cells) {
  const hours = totalsOf(some, cells);
  const errors = errorsOfSum(some, cells);
  const visits = Array.from({length: PERIODS}, (_, period) => sumOf(hoursOf(some, period).map((hour) => hours[hour])));
  const margins = visits.map((_, period) => {
    if (cells.length === 1 && period < DAYS_FROM) return WITHIN * some.errors[cells[0]][period]; // as published
    return errors ? WITHIN * errors[period] : null;
  });
  return {visits, margins};
}

/** Over the hours that happen in both weeks; a day that is shorter in one of them has no margin. */
function subtracted(one, other) {
  const both = {missing: [...skipped]};
  const alike = (period) => week.missing.join() === state.other.missing.join() || hoursOf(both, period).length === 24;
  return {
    visits: one.visits.map((_, period) => sumOf(hoursOf(both, period).map((hour) => one.visits[hour] - other.visits[hour]))),
    margins: one.margins.map((size, period) => {
      const known = size !== null && other.margins[period] !== null && (period < DAYS_FROM || alike(period));
      return known ? Math.hypot(size, other.margins[period]) : null;
    }),
  };
}
