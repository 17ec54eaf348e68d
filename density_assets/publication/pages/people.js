// People, where a release states factors: the numbers of its files, with intervals of a cell and of a part of the city.

function peopleOf(cells, hour) {
  return sumOf(cells.map((cell) => data.people.numbers[cell][hour]));
}

/** Lower and upper end for the chosen cells; nothing where no file tells them. */
function peopleBetween(hour) {
  const {cells, area} = state;
  if (cells.length === 1) {
    const [cell] = cells;
    const end = ({cells: ofCell, hours}, side) => (week.counts[cell][hour] + side * margin(cell, hour)) * ofCell[cell] * hours[hour];
    const number = peopleOf(cells, hour);
    const {fewest, most} = data.people;
    return [Math.max(0, Math.min(number, Math.floor(end(fewest, -1)))), Math.max(number, Math.ceil(end(most, 1)))];
  }
  const known = data.people.groups[data.groups.findIndex(([name]) => name === area)];
  return known ? [known.low[hour], known.high[hour]] : null;
}

/** What stands beside the visits of the chosen cells; nothing of a release without factors. */
function peopleFacts(hour) {
  if (!data.people) return {};
  const number = wholeNumber.format(peopleOf(state.cells, hour));
  const between = peopleBetween(hour)?.map((end) => wholeNumber.format(end));
  const text = between ? word('people.between', {n: number, low: between[0], high: between[1]}) : number;
  return {[word('people.now')]: text};
}
