// The table of programs: sorting, searching, filtering, grouping; programs that open on request.
// All of it is kept in the address, after the #, so that a link shows what its sender saw.
"use strict";

const table = document.getElementById("programs");
const ROWS_AT_FIRST = Number(table.dataset.first); // more rows than this wait for a button
const controls = document.getElementById("controls");
const allRows = [...document.querySelectorAll(".all-rows")]; // above the table, and below it
const head = table.tHead.rows[0];
const rows = [...table.querySelectorAll("tbody > tr")].map((row, index) => ({
  row,
  index,
  anchor: row.querySelector("a").getAttribute("href").slice(1),
  verdict: row.dataset.verdict,
  file: row.dataset.file,
  findings: row.dataset.findings.split("|"),
  tags: row.dataset.tags.split("|"),
  text: `${row.textContent} ${row.dataset.findings} ${row.dataset.tags} ${row.dataset.file}`.toLowerCase(),
}));

// -- the state, and the address that keeps it -----------------------------------------------------

const LISTS = ["verdict", "columns"];
const WORDS = ["program", "q", "finding", "tag", "sort", "dir", "group", "all"];
let state = read();

function read() {
  const found = Object.fromEntries([...LISTS.map((key) => [key, []]), ...WORDS.map((key) => [key, ""])]);
  for (const part of location.hash.slice(1).split("&")) {
    const [key, ...rest] = part.split("=");
    const value = decoded(rest.join("="));
    if (LISTS.includes(key)) found[key] = value.split(",").filter(Boolean);
    else if (WORDS.includes(key)) found[key] = value;
  }
  return found;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody cut the address in the middle of a letter
  }
}

function written() {
  return [...WORDS, ...LISTS]
    .filter((key) => state[key].length)
    .map((key) => `${key}=${encodeURIComponent(state[key]).replaceAll("%2C", ",")}`)
    .join("&");
}

function changed(changes) {
  state = { ...state, ...changes };
  history.replaceState(null, "", `#${written()}`);
  return show();
}

// -- the table ------------------------------------------------------------------------------------

function matches(each) {
  const words = state.q.toLowerCase().split(" ").filter(Boolean);
  return (
    words.every((word) => each.text.includes(word)) &&
    (!state.verdict.length || state.verdict.includes(each.verdict)) &&
    (!state.finding || each.findings.includes(state.finding)) &&
    (!state.tag || each.tags.includes(state.tag))
  );
}

function sorted(found) {
  const column = [...head.cells].findIndex((cell) => cell.dataset.key === state.sort);
  if (column < 0) return found;
  const sign = state.dir === "desc" ? -1 : 1;
  const keys = new Map(found.map((each) => [each, key(each.row.cells[column])]));
  const compared = (a, b) => {
    const [left, right] = [keys.get(a), keys.get(b)];
    if (left === "" || right === "") return (left === "") - (right === ""); // what is not known stands last
    return sign * (typeof left === "number" && typeof right === "number" ? left - right : `${left}`.localeCompare(`${right}`));
  };
  return [...found].sort(compared);
}

function key(cell) {
  const text = cell.dataset.sort ?? cell.textContent.trim().toLowerCase();
  return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
}

function groups(found) {
  if (!state.group) return [["", found]];
  const name = (each) => (state.group === "verdict" ? each.row.cells[1].textContent : each.file);
  const made = new Map();
  for (const each of found) made.set(name(each), [...(made.get(name(each)) ?? []), each]);
  return [...made];
}

function body([name, members], room) {
  const made = document.createElement("tbody");
  if (name) {
    const cell = document.createElement("th");
    cell.scope = "rowgroup";
    cell.colSpan = head.cells.length;
    cell.textContent = `${name} (${members.length})`;
    made.appendChild(document.createElement("tr")).appendChild(cell);
    made.rows[0].className = "group";
  }
  made.append(...members.slice(0, room).map((each) => each.row));
  return made;
}

async function show() {
  await showColumns();
  const found = sorted(rows.filter(matches));
  let room = state.all ? Infinity : ROWS_AT_FIRST;
  const bodies = [];
  for (const group of groups(found)) {
    if (room > 0) bodies.push(body(group, room));
    room -= group[1].length;
  }
  for (const old of [...table.tBodies]) old.remove();
  table.append(...bodies);
  const shown = Math.min(found.length, state.all ? Infinity : ROWS_AT_FIRST);
  const which = found.length === rows.length ? `${rows.length} programs` : `${found.length} of ${rows.length} programs match`;
  document.getElementById("shown").textContent = shown < found.length ? `${which}; the first ${shown} are shown.` : `${which}.`;
  for (const more of allRows) {
    more.hidden = shown === found.length;
    more.textContent = `Show all ${found.length} rows`;
  }
  showControls();
}

function showControls() {
  controls.elements.search.value = state.q;
  for (const name of ["finding", "tag", "group"]) if (controls.elements[name]) controls.elements[name].value = state[name];
  for (const box of controls.querySelectorAll("[name=verdict]")) box.checked = state.verdict.includes(box.value);
  for (const box of controls.querySelectorAll("[name=column]")) box.checked = state.columns.includes(box.value);
  for (const cell of head.cells) {
    const on = cell.dataset.key === state.sort;
    if (on) cell.setAttribute("aria-sort", state.dir === "desc" ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
}

function sortBy(cell) {
  const first = cell.classList.contains("number") ? "desc" : ""; // the largest figures are the worst
  const again = cell.dataset.key === state.sort;
  const dir = again ? (state.dir === "desc" ? "" : "desc") : first;
  changed({ sort: cell.dataset.key, dir });
}

function withButton(cell) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = cell.textContent;
  button.addEventListener("click", () => sortBy(cell));
  cell.replaceChildren(button);
}

// -- columns on request ---------------------------------------------------------------------------

let extra = null; // {columns: [[key, title, is a number]], rows: [[[text, sort]]]}
let columnsShown = "";

async function showColumns() {
  if (columnsShown === state.columns.join()) return;
  extra ??= JSON.parse(await unpacked(document.getElementById("extra").textContent));
  columnsShown = state.columns.join();
  table.classList.toggle("wide", state.columns.length > 0);
  for (const old of table.querySelectorAll(".extra")) old.remove();
  for (const each of rows) for (const old of each.row.querySelectorAll(".extra")) old.remove();
  for (const wanted of state.columns) {
    const number = extra.columns.findIndex(([name]) => name === wanted);
    if (number >= 0) addColumn(number);
  }
}

function addColumn(number) {
  const [name, title, numeric] = extra.columns[number];
  const cell = document.createElement("th");
  cell.scope = "col";
  cell.dataset.key = name;
  cell.textContent = title;
  cell.className = numeric ? "extra number" : "extra";
  withButton(cell);
  head.append(cell);
  for (const each of rows) {
    const [text, sort] = extra.rows[each.index][number];
    const made = each.row.insertCell();
    made.className = cell.className;
    made.textContent = text;
    made.dataset.sort = sort;
    made.dataset.label = title;
  }
}

// -- programs that are packed until somebody asks for them ----------------------------------------

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

const packs = [...document.querySelectorAll("script.packed")];
const contents = new Map();

// The texts in a pack were escaped when the page was written, as all of its texts were.
async function articles(pack) {
  if (!contents.has(pack)) {
    const holder = document.createElement("template");
    holder.innerHTML = await unpacked(pack.textContent);
    contents.set(pack, [...holder.content.children]);
  }
  return contents.get(pack);
}

function place(article) {
  const all = document.getElementById("sections");
  const after = [...all.children].find((other) => Number(other.dataset.index) > Number(article.dataset.index));
  all.insertBefore(article, after ?? null);
}

async function unpack(anchor) {
  const wanted = rows.find((each) => each.anchor === anchor)?.index ?? -1;
  const holds = (pack) => wanted >= Number(pack.dataset.first) && wanted < Number(pack.dataset.first) + Number(pack.dataset.count);
  const pack = packs.find(holds);
  if (!pack) return;
  const article = (await articles(pack)).find((each) => Number(each.dataset.index) === wanted);
  if (article && !article.isConnected) place(article);
}

async function openProgram() {
  if (!state.program) return;
  const anchor = `program=${encodeURIComponent(state.program)}`;
  if (!document.getElementById(anchor)) await unpack(anchor);
  const found = document.getElementById(anchor);
  if (!found) return;
  found.scrollIntoView();
  found.focus({ preventScroll: true });
}

async function openAll() {
  const made = [];
  for (const pack of packs) made.push(...(await articles(pack)).filter((each) => !each.isConnected));
  document.getElementById("sections").append(...made);
  const all = document.getElementById("sections");
  all.append(...[...all.children].sort((a, b) => a.dataset.index - b.dataset.index));
  document.getElementById("packed-notice").hidden = true;
}

// -- what a reader does ---------------------------------------------------------------------------

function listen() {
  for (const cell of head.cells) withButton(cell);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.elements.search.addEventListener("input", (event) => changed({ q: event.target.value }));
  controls.addEventListener("change", (event) => {
    const { name, id, value } = event.target;
    const ticked = () => [...controls.querySelectorAll(`[name=${name}]:checked`)].map((box) => box.value);
    if (name === "verdict") changed({ verdict: ticked() });
    else if (name === "column") changed({ columns: ticked() });
    else if (["finding", "tag", "group"].includes(id)) changed({ [id]: value });
  });
  controls.addEventListener("reset", () => changed({ q: "", verdict: [], finding: "", tag: "", sort: "", dir: "", group: "", columns: [], all: "" }));
  for (const more of allRows) more.addEventListener("click", () => changed({ all: "1" }));
  document.getElementById("all-programs")?.addEventListener("click", openAll);
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest?.("a[href^='#program=']")?.getAttribute("href");
    if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    state = { ...state, program: decoded(anchor.slice("#program=".length)) };
    history.pushState(null, "", `#${written()}`);
    openProgram();
  });
  window.addEventListener("hashchange", arrive);
  window.addEventListener("popstate", arrive);
}

async function arrive() {
  if (location.hash && !location.hash.includes("=")) return; // a heading of the page
  state = read();
  await show();
  if (state.program) await openProgram();
  else if (location.hash) document.getElementById("overview").scrollIntoView();
}

async function start() {
  listen();
  controls.hidden = false;
  const all = document.getElementById("all-programs");
  if (all) all.hidden = false;
  await show();
  await openProgram();
  document.body.dataset.ready = "yes";
}

start();
