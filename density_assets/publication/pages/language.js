'use strict';
// The reader's language and the page's data. This script and those after it are one on the page: one state (hour, cells,
// measure, week to compare with); each change redraws what depends on it. Nothing is loaded or sent.

const LANGUAGES = ['en', 'fr'];
const LOCALES = {en: 'en-GB', fr: 'fr-FR'};

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
let language = 'en';
let wholeNumber = null;
let threeDigits = null;

function speak(chosen) {
  language = LANGUAGES.includes(chosen) ? chosen : 'en';
  const options = {maximumFractionDigits: 0};
  wholeNumber = new Intl.NumberFormat(LOCALES[language], options);
  threeDigits = new Intl.NumberFormat(LOCALES[language], {maximumSignificantDigits: 3});
}

function preferredLanguage() {
  const known = navigator.languages.map((name) => name.slice(0, 2)).filter((name) => LANGUAGES.includes(name));
  return known[0] ?? 'en';
}

/** The words of a key; {names} in them are replaced by values. */
function word(key, values = {}) {
  const text = data.words[key][LANGUAGES.indexOf(language)];
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** A word where there is one, else the name as it is: of parts of the city, but not of districts. */
function nameOfArea(name) {
  return Object.hasOwn(data.words, `area.${name}`) ? word(`area.${name}`) : name;
}

/** Put the words that stand on the page from the start into the reader's language. */
function translate() {
  document.documentElement.lang = language;
  byId('language').value = language;
  for (const element of document.querySelectorAll('[data-word]')) element.textContent = word(element.dataset.word);
  for (const attribute of ['aria-label', 'aria-roledescription']) {
    for (const element of document.querySelectorAll(`[data-word-${attribute}]`)) {
      element.setAttribute(attribute, word(element.getAttribute(`data-word-${attribute}`)));
    }
  }
  for (const element of document.querySelectorAll('[data-number]')) {
    element.textContent = wholeNumber.format(Number(element.dataset.number));
  }
  for (const element of document.querySelectorAll('[data-area]')) element.textContent = nameOfArea(element.dataset.area);
  for (const element of document.querySelectorAll('[data-day]')) element.textContent = dayName(Number(element.dataset.day));
  byId('week').textContent = weekName(data.monday);
  document.title = word('title', {city: data.city, monday: dateOf(0), what: word(data.people ? 'kicker.people' : 'kicker.visits')});
}

// Days and hours

function dayOf(monday, day) {
  const [year, month, date] = monday.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1, date + day));
}

function inWords(moment, options) {
  return new Intl.DateTimeFormat(LOCALES[language], {timeZone: 'UTC', ...options}).format(moment);
}

function dayName(day, length = 'long') {
  return inWords(dayOf(data.monday, day), {weekday: length});
}

function dateOf(day) {
  return inWords(dayOf(data.monday, day), {day: 'numeric', month: 'long', year: 'numeric'});
}

/** A week by its first and last day, without repeating the month or year they share. */
function weekName(monday) {
  const [first, last] = [dayOf(monday, 0), dayOf(monday, 6)];
  const year = first.getUTCFullYear() === last.getUTCFullYear() ? {} : {year: 'numeric'};
  const month = first.getUTCMonth() === last.getUTCMonth() ? {} : {month: 'long'};
  const long = {day: 'numeric', month: 'long', year: 'numeric'};
  const short = Object.keys(month).length ? inWords(first, {day: 'numeric', ...month, ...year}) : first.getUTCDate();
  return `${short} – ${inWords(last, long)}`;
}

function clock(hour) {
  return `${String(hour).padStart(2, '0')}:00`;
}

function hourName(hour) {
  return `${dayName(Math.floor(hour / 24))} ${clock(hour % 24)}–${clock((hour % 24) + 1)}`;
}
