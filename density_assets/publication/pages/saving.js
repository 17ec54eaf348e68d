// What is shown as files: numbers as CSV, drawings as SVG and PNG.

const PNG_SCALE = 2;
const MARGIN = 16;
const DRAWN_WITH = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'font-size', 'font-family', 'vector-effect', 'text-anchor'];

function fileName(what, suffix) {
  return `${[data.city, data.monday, ...what].join('_').replace(/[^\p{L}\p{N}-]+/gu, '_')}.${suffix}`;
}

function offer(name, content, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Numbers

function csv(rows) {
  const quoted = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value ?? '');
  return `${rows.map((row) => row.map(quoted).join(',')).join('\n')}\n`;
}

/** A margin as a standard error, as the files of a release have it. */
function asError(size) {
  return size === null ? '' : Number((size / WITHIN).toPrecision(4));
}

function mapNumbers() {
  const {hour, other} = state;
  const heads = ['cell_id', 'hour', 'count', 'standard_error', 'visits_per_km2', ...(data.people ? ['people'] : [])];
  const rows = EVERY.map((cell) => [
    data.ids[cell], hour, week.counts[cell][hour], week.errors[cell][hour], Number(density(cell, hour).toPrecision(6)),
    ...(data.people ? [data.people.numbers[cell][hour]] : []),
    ...(other ? [other.counts[cell][hour], differs(cell, hour), asError(differenceMargin(cell, hour))] : []),
  ]);
  return [other ? [...heads, 'count_other_week', 'difference', 'standard_error_of_difference'] : heads, ...rows];
}

function curveNumbers() {
  const {sum, otherSum, differenceSum} = state;
  const heads = ['cells', 'hour', 'count', 'standard_error'];
  const rows = stretches().flat().map((hour) => [
    whereName(), hour, sum.visits[hour], asError(sum.margins[hour]),
    ...(otherSum ? [otherSum.visits[hour], differenceSum.visits[hour], asError(differenceSum.margins[hour])] : []),
  ]);
  return [otherSum ? [...heads, 'count_other_week', 'difference', 'standard_error_of_difference'] : heads, ...rows];
}

// Drawings

/** A copy that needs no style sheet. */
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((root) => [...root.querySelectorAll('*')]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of DRAWN_WITH) to[i].style.setProperty(name, style.getPropertyValue(name));
  });
  for (const element of [copy, ...to]) for (const name of ['class', 'id', 'data-cell', 'tabindex', 'role']) element.removeAttribute(name);
  return copy;
}

function line(text, place, parent, size = 12) {
  const style = getComputedStyle(document.body);
  const attributes = {...place, fill: style.color, 'font-family': style.fontFamily, 'font-size': size};
  drawn('text', attributes, parent).textContent = text;
}

/** A drawing with what it shows above and where it is from below, wherever it goes. */
function picture(id, title, legend = 0) {
  const svg = byId(id);
  const {clientWidth: width, clientHeight: height} = svg;
  const whole = document.createElementNS(SVG, 'svg');
  const size = {width: width + 2 * MARGIN, height: height + 72 + legend};
  for (const [name, value] of Object.entries({...size, viewBox: `0 0 ${size.width} ${size.height}`})) whole.setAttribute(name, value);
  drawn('rect', {...size, fill: getComputedStyle(document.body).backgroundColor}, whole);
  line(title, {x: MARGIN, y: 26}, whole, 15);
  const inner = whole.appendChild(standalone(svg));
  for (const [name, value] of Object.entries({x: MARGIN, y: 38, width, height})) inner.setAttribute(name, value);
  line(word('source', {city: data.city, week: weekName(data.monday)}), {x: MARGIN, y: size.height - 12}, whole);
  return whole;
}

function mapPicture() {
  const whole = picture('map', `${hourName(state.hour)}: ${unitName()}`, 44);
  const [width, top] = [Math.min(byId('map').clientWidth, 360), byId('map').clientHeight + 50];
  coloursNow().forEach((fill, i) => drawn('rect', {x: MARGIN + (i * width) / 256, y: top, width: width / 256 + 0.5, height: 10, fill}, whole));
  scaleTicks(scaleNow()).forEach((tick, i, ticks) => {
    const anchor = i === 0 ? 'start' : i === ticks.length - 1 ? 'end' : 'middle';
    line(tickName(tick, i, ticks), {x: MARGIN + placeOnScale(scaleNow(), tick) * width, y: top + 24, 'text-anchor': anchor}, whole, 11);
  });
  return whole;
}

function saveDrawing(whole, what, suffix) {
  const text = new XMLSerializer().serializeToString(whole);
  if (suffix === 'svg') return offer(fileName(what, 'svg'), text, 'image/svg+xml');
  const image = new Image();
  image.onload = () => {
    const canvas = Object.assign(document.createElement('canvas'), {width: PNG_SCALE * image.width, height: PNG_SCALE * image.height});
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => offer(fileName(what, 'png'), blob, 'image/png'));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  return null;
}

const SAVED = {
  map: {what: () => ['map', state.hour], numbers: mapNumbers, drawing: mapPicture},
  series: {what: () => ['curve', whereName()], numbers: curveNumbers, drawing: () => picture('series', whereName())},
  change: {
    what: () => ['difference', whereName()], numbers: curveNumbers,
    drawing: () => picture('change', `${whereName()}: ${word('difference')}, ${state.other.name()}`),
  },
};

function save(event) {
  const [name, suffix] = event.currentTarget.dataset.save.split('.');
  const {what, numbers, drawing} = SAVED[name];
  if (suffix === 'csv') offer(fileName(what(), 'csv'), csv(numbers()), 'text/csv');
  else saveDrawing(drawing(), what(), suffix);
}
