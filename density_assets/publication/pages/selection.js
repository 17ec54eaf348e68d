// Which cells are chosen: one, several, or a part of the city.

function whereName() {
  if (state.area) return nameOfArea(state.area);
  if (state.cells.length === 1) return word('cell', {id: data.ids[state.cells[0]]});
  return word('cells', {n: wholeNumber.format(state.cells.length)});
}

/** Sums of the chosen cells, here and in the other week: made once for each choice, since all charts and tables use them. */
function sumChosen() {
  state.sum = summed(week, state.cells);
  state.otherSum = state.other && summed(state.other, state.cells);
  state.differenceSum = state.other && subtracted(state.sum, state.otherSum);
}

function choose(cells, area = '') {
  state.cells = cells;
  state.area = area;
  paintChosen();
  paintValue();
  saveSoon();
}

/** A cell joins the others or leaves them, but for the last one; or it is the only one. */
function chooseCell(cell, together) {
  if (!together) return choose([cell]);
  const others = state.cells.filter((chosen) => chosen !== cell);
  const joins = others.length === state.cells.length;
  return choose(joins ? [...others, cell].sort((a, b) => a - b) : others.length ? others : [cell]);
}

function chooseArea(name) {
  const area = data.groups.find(([group]) => group === name);
  if (area) choose(area[1], name);
}

function findCell() {
  const cell = cellNumber.get(byId('finder').value.trim());
  byId('finder').setCustomValidity(cell === undefined ? word('unknown') : '');
  if (cell !== undefined && !state.cells.includes(cell)) chooseCell(cell, state.several);
}

function listCells() {
  byId('ids').append(...data.ids.map((id) => Object.assign(document.createElement('option'), {value: id})));
}

function listAreas() {
  byId('area').closest('label').hidden = !data.groups.length;
  const options = [['', word('area.own')], ...data.groups.map(([name]) => [name, nameOfArea(name)])];
  byId('area').replaceChildren(...options.map(([value, text]) => Object.assign(document.createElement('option'), {value, text})));
  byId('area').value = state.area;
}

// The map by keyboard: arrows go from cell to cell, Enter chooses.

const DIRECTIONS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

function onMapKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const from = state.pointed ?? state.cells[0];
  if (event.key in DIRECTIONS) {
    state.pointed = nextCell(from, DIRECTIONS[event.key]);
    outline('pointed', [state.pointed]);
    byId('said').textContent = cellText(state.pointed);
  } else if (event.key === 'Enter' || event.key === ' ') {
    chooseCell(from, state.several || event.shiftKey);
    byId('said').textContent = whereName();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
