"use strict";
// The page of running jobs. Strings from a job (names, messages, splits) become text, never markup.

const MAX = 9223372036854775807n;
const SVG = "http://www.w3.org/2000/svg";
const main = document.getElementById("main");
const TABS = [
  ["overview", "Overview"], ["watermarks", "Watermarks"], ["batches", "Batches"],
  ["checkpoints", "Checkpoints"], ["exceptions", "Exceptions"], ["metrics", "Metrics"],
  ["profile", "Flame graph"], ["executors", "Executors"], ["logs", "Logs"],
  ["configuration", "Configuration"],
];
const LOST = "DISCONNECTED";
const view = { charted: null, logs: [], shell: null, picked: null, graph: null, drawing: null, job: null, jobs: null, heard: null };

// ---------------------------------------------------------------- the token, the theme, the server

const storage = { // A browser may refuse it
  get: (name) => { try { return sessionStorage.getItem(name); } catch { return null; } },
  set: (name, value) => { try { sessionStorage.setItem(name, value); } catch { /* then lost on reload */ } },
};
let token = storage.get("token");
const given = /^#token=(.+)$/.exec(location.hash);
if (given) {
  token = given[1];
  storage.set("token", token);
  history.replaceState(null, "", location.pathname + "#/");
}

const theme = document.getElementById("theme");
const themed = (name) => { if (name) document.documentElement.dataset.theme = name; };
themed(storage.get("theme"));
theme.addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  themed(dark ? "light" : "dark");
  storage.set("theme", dark ? "light" : "dark");
});

async function call(path, options = {}) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(`api/${path}`, { ...options, headers }).catch((error) => { throw Object.assign(error, { lost: true }); });
  if (!response.ok) {
    const errors = await response.json().then((body) => body.errors, () => null);
    throw Object.assign(new Error((errors || [response.statusText]).join(" ")), { status: response.status });
  }
  return response;
}

// Watermarks have 64 bits, more than a JavaScript number can hold
const parsed = (text) => JSON.parse(text.replace(/:(-?\d{16,})(?=[,}\]])/g, ':"$1"'));
const json = async (path) => parsed(await (await call(path)).text());

// ---------------------------------------------------------------- small pieces

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const number = (value) => Number(value).toLocaleString("en");
const percent = (share) => `${Math.round(share * 100)} %`;

function duration(ms) {
  ms = Number(ms);
  if (ms < 0) return "0 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  if (s < 86400 * 730) return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
  return `${Math.floor(s / 86400 / 365.25)} years`;
}

function bytes(count) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (count < 1024) return `${count.toFixed(count < 10 && unit !== "B" ? 1 : 0)} ${unit}`;
    count /= 1024;
  }
  return `${count.toFixed(1)} TiB`;
}

function date(ms) {
  const at = new Date(Number(ms));
  if (Number.isNaN(at.getTime())) return String(ms);
  const pad = (value, width = 2) => String(value).padStart(width, "0");
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${pad(at.getMilliseconds(), 3)}`;
}

/** A date without line breaks; `since` adds how long before that time it was. */
function moment(ms, since) {
  const [day, time] = date(ms).split(" ");
  const shown = element("span", { class: "moment" }, element("span", { class: "quiet" }, day), ` ${time}`);
  return since === undefined ? shown : element("span", {}, shown, " ", element("span", { class: "quiet moment" }, `${duration(since - ms)} ago`));
}

function watermark(value) {
  if (value === null || value === undefined) return "none yet";
  return BigInt(value) === MAX ? "end of input" : date(value);
}
const dated = (value) => (value === null || value === undefined || BigInt(value) === MAX ? watermark(value) : moment(value));

function lag(value, now) {
  if (value === null || value === undefined || BigInt(value) === MAX) return "–";
  const behind = Number(now) - Number(value);
  return behind < 0 ? `ahead by ${duration(-behind)}` : duration(behind);
}

function table(heads, rows, empty) {
  if (!rows.length) return element("p", { class: "quiet" }, empty || "Nothing yet.");
  const kind = (head) => (head.startsWith("#") ? "number" : null);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col", class: kind(head) }, head.replace("#", ""))))),
    element("tbody", {}, ...rows.map((row) => element("tr", row.attributes || {}, ...(row.cells || row).map((cell, index) =>
      element("td", { class: `${kind(heads[index]) || (index ? "" : "name")}${cell === "–" ? " none" : ""}`, "data-label": heads[index].replace("#", "") }, cell instanceof Node ? cell : String(cell))))))));
}

const facts = (pairs) => element("dl", { class: "facts" }, ...pairs.map(([name, value]) =>
  element("div", {}, element("dt", {}, name), element("dd", {}, value instanceof Node ? value : String(value)))));
const card = (title, ...children) => element("section", { class: "card" }, title ? element("h2", {}, title) : null, ...children);
const state = (name) => element("span", { class: `state ${name}` }, name);

/** Replace the content of `place`, but keep the focus and the scroll positions of tables. */
function fill(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const scrolled = [...place.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  place.replaceChildren(...children);
  [...place.querySelectorAll(".scroll")].forEach((box, index) => { box.scrollLeft = scrolled[index] || 0; });
  if (focused) place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// ---------------------------------------------------------------- all jobs

function showJobs(jobs) {
  view.shell = null;
  document.title = "flinkish";
  const rows = (some) => some.map((job) => [
    element("a", { href: `#/jobs/${encodeURIComponent(job.jid)}`, "data-key": job.jid }, job.name), state(job.state), moment(job["start-time"]),
    duration(job.duration), job["end-time"] < 0 ? "–" : moment(job["end-time"]), element("span", { class: "quiet" }, job.archived ? `${job.jid}, of an earlier program` : job.jid),
  ]);
  const heads = ["Job", "Status", "Start time", "#Duration", "End time", "ID"];
  const running = jobs.filter((job) => runs(job.state)), lost = jobs.filter((job) => job.state === LOST);
  const ended = jobs.filter((job) => !running.includes(job) && !lost.includes(job));
  fill(main,
    element("h1", {}, "Jobs"), element("p", { class: "quiet" }, `${running.length} running, ${lost.length ? `${lost.length} disconnected, ` : ""}${ended.length} completed`),
    lost.length ? card("Disconnected jobs", unreachable(), table(heads, rows(lost))) : card("Running jobs", table(heads, rows(running), "No job is running.")),
    card("Completed jobs", table(heads, rows(ended), "No job has ended.")));
}

// ---------------------------------------------------------------- one job

function route() {
  const [, jid, tab] = /^#\/jobs\/([^/]+)(?:\/(\w+))?/.exec(location.hash) || [];
  return { jid: jid && decodeURIComponent(jid), tab: TABS.some(([id]) => id === tab) ? tab : "overview" };
}

function openTab(jid, id, focus) {
  location.hash = `#/jobs/${encodeURIComponent(jid)}/${id}`;
  if (focus) document.getElementById(`tab-${id}`)?.focus();
}

function shell(job) {
  const tabs = element("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the job" }, ...TABS.map(([id, label], index) =>
    element("button", {
      type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "panel",
      onclick: () => openTab(job.jid, id),
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) openTab(job.jid, TABS[(index + step + TABS.length) % TABS.length][0], true);
      },
    }, label)));
  view.shell = { jid: job.jid, head: element("section", { class: "card" }), panel: element("div", { id: "panel", role: "tabpanel" }), tabs, tab: null };
  view.picked = null;
  main.replaceChildren(view.shell.head, tabs, view.shell.panel);
}

async function showJob(job) {
  if (!view.shell || view.shell.jid !== job.jid) shell(job);
  const { shell: at } = view, { tab } = route();
  document.title = `${job.name} – flinkish`;
  fill(at.head, ...header(job));
  for (const button of at.tabs.children) {
    const chosen = button.id === `tab-${tab}`;
    button.setAttribute("aria-selected", chosen);
    button.tabIndex = chosen ? 0 : -1;
  }
  at.panel.setAttribute("aria-labelledby", `tab-${tab}`);
  if (at.tab !== tab) {
    at.tab = tab;
    at.panel.replaceChildren();
    view.graph = null;
  }
  if (tab === "overview") await overview(job, at.panel);
  else {
    const children = await PANELS[tab](job);
    if (view.shell === at && route().tab === tab) fill(at.panel, ...children);
  }
}

function runs(status) {
  return status === "RUNNING" || status === "RESTARTING";
}

function header(job) {
  const running = runs(job.status);
  const actions = running && token ? element("div", { class: "actions" },
    element("button", { type: "button", class: "action", "data-key": "savepoint", onclick: () => askForSavepoint(job) }, "Savepoint"),
    job.checkpoint.directory ? element("button", { type: "button", class: "action", "data-key": "stop", onclick: () => ask(job, "stop") }, "Stop after this batch") : null,
    element("button", { type: "button", class: "action danger", "data-key": "cancel", onclick: () => ask(job, "cancel") }, "Cancel job")) : null;
  const error = job.exceptions[0];
  return [
    element("div", { class: "title" }, element("h1", {}, job.name), state(job.status), actions),
    facts([
      ["ID", job.jid], ["Start time", moment(job.startTime)], job.endTime ? ["End time", moment(job.endTime)] : null, ["Duration", duration(job.duration)],
      ["Batches", number(job.completedBatches)], job.read ? ["Read", job.read] : null, job.numRestarts ? ["Restarts", number(job.numRestarts)] : null,
      running && job.engineUI ? ["Spark", element("a", { href: `${job.engineUI}/StreamingQuery/`, rel: "noreferrer" }, "its own page")] : null,
      view.savepoint?.jid === job.jid ? ["Savepoint", view.savepoint.text] : null,
    ].filter(Boolean)),
    job.status === LOST ? unreachable() : null,
    tiles(job),
    (job.status === "FAILED" || job.status === "RESTARTING") && error ? element("p", { class: "notice bad" }, `${error.type}${error.operator ? ` in ${error.operator}` : ""}. `, element("a", { href: `#/jobs/${encodeURIComponent(job.jid)}/exceptions` }, "See Exceptions")) : null,
    running ? waiting(job) : null,
  ].filter(Boolean);
}

const unreachable = () => element("p", { class: "notice bad" }, "The program has not answered since ", moment(view.heard),
  ": it was killed, has ended, or cannot be reached. What is shown is what it said last.");

/** The figures to look at first, each with a chart of the last batches. */
function tiles(job) {
  const recent = job.batches.slice(-50), last = recent[recent.length - 1];
  const operators = job.vertices.flatMap((vertex) => vertex.operators);
  const late = operators.reduce((sum, operator) => sum + operator.metrics.numLateRecordsDropped, 0);
  const out = job.outputWatermark, timed = operators.some((operator) => operator.metrics.currentWatermark !== null);
  const apart = last ? last.inputLag : 0;
  return element("div", { class: "tiles" },
    tile("Records a second", last ? number(Math.round(job.recordsPerSecond)) : "–", (batch) => batch.recordsIn, "Records in"),
    tile("Last batch", last ? duration(last.duration) : "–", (batch) => batch.duration, "Milliseconds"),
    tile("Output lag", lag(out, job.now), null, null, out === null && timed ? "no event time has come out" : watermark(out), out === null && timed),
    tile("Between inputs", apart ? duration(apart) : "–", (batch) => batch.inputLag, "Milliseconds", null, apart > APART_MS),
    tile("Open windows", last ? number(last.openWindows) : "–", (batch) => batch.openWindows, "Open windows"),
    tile("Late records dropped", number(late), (batch) => batch.lateRecordsDropped, "Late records", null, late > 0),
    tile("State", last && last.stateBytes ? bytes(last.stateBytes) : "–", (batch) => batch.stateBytes, "Bytes"));

  function tile(name, value, part, unit, below, alarming) {
    return element("div", { class: alarming ? "tile alarming" : "tile" }, element("div", { class: "quiet" }, name), element("strong", {}, value),
      part && recent.length > 1 ? sparkline(recent.map(part), unit, recent) : below ? element("div", { class: "quiet small" }, below) : null);
  }
}

const APART_MS = 600000; // as in the rule of docs/operate/alerts.md

/** The end of a chart's axis: a batch that is far above all others, such as the first, is cut off. */
function ceiling(values) {
  const sorted = [...values].sort((a, b) => a - b), most = sorted[sorted.length - 1] || 0, usual = sorted[Math.floor(0.95 * (sorted.length - 1))] || 0;
  return Math.max(1, usual > 0 && most > 2.5 * usual ? 1.25 * usual : most);
}

const GAP_MS = 10000, GAP_BATCHES = 10;

/** The gaps between batches, from restarts or long pauses: the index of the next batch, and the text to show. */
function breaks(batches) {
  const apart = batches.slice(1).map((batch, index) => batch.startTime - batches[index].startTime - batches[index].duration);
  const usual = [...apart].sort((a, b) => a - b)[Math.floor(apart.length / 2)] || 0;
  return apart.flatMap((pause, index) => {
    const next = batches[index + 1], restarted = next.run !== batches[index].run;
    const gap = pause >= Math.max(GAP_MS, GAP_BATCHES * usual) ? `${duration(pause)} without a batch` : "";
    return restarted || gap ? [{ index: index + 1, kind: restarted ? "restart" : "gap", text: [restarted ? "restarted" : "", gap].filter(Boolean).join(" after ") + ` before batch ${next.id}` }] : [];
  });
}

const mark = ({ kind, text }, x, height) => svg("line", { class: `break ${kind}`, x1: x, x2: x, y1: 0, y2: height, "vector-effect": "non-scaling-stroke" }, svg("title", {}, text));

function sparkline(values, unit, batches) {
  const width = 120, height = 26, most = ceiling(values), step = width / (values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 2 - (Math.min(value, most) / most) * (height - 4)).toFixed(1)}`).join(" ");
  return svg("svg", { class: "sparkline", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${unit} of the last ${values.length} batches, at most ${number(Math.max(...values))}` },
    ...breaks(batches).map((found) => mark(found, (found.index - 0.5) * step, height)),
    svg("polyline", { points, "vector-effect": "non-scaling-stroke" }));
}

function waiting(job) {
  if (!job.waitsFor) return null;
  return element("p", { class: "notice hold" }, `Event time waits for ${job.waitsFor}. `,
    element("a", { href: `#/jobs/${encodeURIComponent(job.jid)}/watermarks` }, "See Watermarks"));
}

function ask(job, how) {
  const dialog = element("dialog", { "aria-label": "Confirm" });
  const close = () => { dialog.close(); dialog.remove(); };
  const go = async () => {
    close();
    try {
      if (how === "stop") await call(`jobs/${encodeURIComponent(job.jid)}/stop`, { method: "POST" });
      else await call(`jobs/${encodeURIComponent(job.jid)}?mode=cancel`, { method: "PATCH" });
    } catch (error) { document.getElementById("connection").textContent = error.message; }
    refresh();
  };
  dialog.append(
    element("p", {}, how === "stop"
      ? `Stop ${job.name} when its batch is done? A later run goes on from there.`
      : `Cancel ${job.name} now? ${job.checkpoint.directory ? "A later run goes on after the last finished batch." : "It has no checkpoint directory: what it has done so far cannot be gone on from."}`),
    element("div", { class: "actions" },
      element("button", { type: "button", class: "action", onclick: close }, "Keep running"),
      element("button", { type: "button", class: "action danger", onclick: go }, how === "stop" ? "Stop job" : "Cancel job")));
  document.body.append(dialog);
  dialog.addEventListener("cancel", () => dialog.remove());
  dialog.showModal();
}

function askForSavepoint(job) {
  const place = element("input", { type: "text", required: true, size: 44, "aria-label": "Directory", placeholder: "/data/savepoints/new" });
  const close = () => { dialog.close(); dialog.remove(); };
  const write = async (event) => {
    event.preventDefault();
    const directory = place.value.trim(), said = (text) => { view.savepoint = { jid: job.jid, text }; refresh(); };
    if (!directory) return;
    close();
    const path = `jobs/${encodeURIComponent(job.jid)}/savepoints`;
    try {
      const { "request-id": id } = await (await call(path, { method: "POST", body: JSON.stringify({ "target-directory": directory }) })).json();
      said(`being written to ${directory}`);
      for (;;) {
        const { status, operation } = await json(`${path}/${id}`);
        if (status.id === "COMPLETED") return said(operation.location ? `written to ${operation.location}` : operation["failure-cause"]["stack-trace"]);
        await new Promise((done) => { setTimeout(done, 500); });
      }
    } catch (error) { said(error.message); }
  };
  const dialog = element("dialog", { "aria-label": "Savepoint" }, element("form", { onsubmit: write },
    element("p", {}, `Write a savepoint of ${job.name} to this new directory, or URI. The job goes on.`), place,
    element("div", { class: "actions" },
      element("button", { type: "button", class: "action", onclick: close }, "Cancel"),
      element("button", { type: "submit", class: "action" }, "Write savepoint"))));
  document.body.append(dialog);
  dialog.addEventListener("cancel", () => dialog.remove());
  dialog.showModal();
}

// ---------------------------------------------------------------- overview

async function overview(job, panel) {
  if (!view.graph) {
    if (view.drawing?.jid !== job.jid) view.drawing = { jid: job.jid, text: await (await call(`jobs/${encodeURIComponent(job.jid)}/graph.svg`)).text() };
    const drawn = new DOMParser().parseFromString(view.drawing.text, "image/svg+xml");
    view.graph = document.importNode(drawn.documentElement, true);
    // A wide graph is scaled down, as long as it stays readable
    view.graph.style.minWidth = `${0.6 * view.graph.getAttribute("width")}px`;
    for (const box of view.graph.querySelectorAll(".vertex")) {
      box.setAttribute("tabindex", "0");
      box.setAttribute("role", "button");
      box.addEventListener("click", () => pick(box.dataset.vertex));
      box.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(box.dataset.vertex); }
      });
    }
    panel.replaceChildren(
      card(null, element("div", { class: "graph", tabindex: "0", role: "region", "aria-label": "Job graph" }, view.graph)),
      element("div", { id: "vertices" }), element("div", { id: "vertex" }));
  }
  for (const vertex of job.vertices) {
    const box = view.graph.querySelector(`[data-vertex="${CSS.escape(vertex.id)}"]`);
    const set = (field, text) => { const line = box.querySelector(`[data-field="${field}"]`); if (line) line.textContent = text; };
    set("records", vertex.isSink ? `in ${number(vertex.numRecordsIn)}` : `in ${number(vertex.numRecordsIn)} · out ${number(vertex.numRecordsOut)}`);
    set("busy", `busy ${percent(vertex.busyShare)} · parallelism ${vertex.parallelism}`);
    set("watermark", `watermark ${watermark(vertex.currentWatermark)}`);
    box.querySelector("[data-field=share]")?.setAttribute("width", Math.round(vertex.busyShare * box.querySelector(".meter").getAttribute("width")));
    box.classList.toggle("full", vertex.busyShare >= 0.7);
    box.classList.toggle("half", vertex.busyShare >= 0.35 && vertex.busyShare < 0.7);
    box.classList.toggle("picked", vertex.id === view.picked);
    box.setAttribute("aria-pressed", vertex.id === view.picked);
  }
  job.edges.forEach((edge, index) => {
    view.graph.querySelector(`[data-edge="${index}"] [data-field="records"]`).textContent = number(edge.records);
  });
  fill(document.getElementById("vertices"), card(null, table(
    ["Name", "#Records received", "#Records sent", "#Busy", "#Skew", "#Parallelism", "Watermark", "#Lag", "Waits for"],
    job.vertices.map((vertex) => ({
      attributes: vertex.id === view.picked ? { class: "picked" } : {},
      cells: [
        element("button", { type: "button", class: "link", "data-key": vertex.id, onclick: () => pick(vertex.id) }, vertex.name),
        number(vertex.numRecordsIn), vertex.isSink ? "–" : number(vertex.numRecordsOut),
        vertex.isSink ? "–" : percent(vertex.busyShare), Object.keys(vertex.keyGroups).length > 1 ? vertex.skew.toFixed(1) : "–",
        vertex.parallelism, vertex.isSink ? "–" : dated(vertex.currentWatermark),
        vertex.isSink ? "–" : lag(vertex.currentWatermark, job.now), held(vertex, job.now),
      ],
    })))));
  const picked = job.vertices.find((vertex) => vertex.id === view.picked);
  fill(document.getElementById("vertex"), ...(picked ? [vertexCard(picked, job)] : [element("p", { class: "quiet" }, "Choose a vertex to see its operators, inputs and key groups.")]));
}

function pick(id) {
  view.picked = view.picked === id ? null : id;
  refresh();
}

function held(vertex, now) {
  const hold = vertex.operators.find((operator) => operator.isHeld)?.heldBackBy;
  if (!hold) return "–";
  return element("span", {}, `${hold.operator}${hold.split === null ? "" : `, split ${hold.split}`}, since `, moment(hold.since, now));
}

const sum = (vertex, name) => vertex.operators.reduce((total, operator) => total + operator.metrics[name], 0);

function vertexCard(vertex, job) {
  const most = Math.max(1, ...Object.values(vertex.keyGroups));
  const parts = [facts([
    ["Records received", number(vertex.numRecordsIn)], ["Records sent", vertex.isSink ? "–" : number(vertex.numRecordsOut)],
    ["Worked for", duration(vertex.busyMillis)], ["Late records dropped", number(sum(vertex, "numLateRecordsDropped"))],
    ["Timers", number(sum(vertex, "timers"))], ["Open windows", number(sum(vertex, "openWindows"))], ["State entries", `${number(sum(vertex, "stateEntries"))} in ${number(sum(vertex, "statePages"))} pages`],
  ])];
  if (vertex.operators.length) parts.push(element("h3", {}, "Operators"), operatorTable(vertex.operators, job));
  const functions = vertex.operators.flatMap(({ metrics }) => metrics.functions);
  if (functions.length) parts.push(element("h3", {}, "Functions"), table(["Function", "#Runs over columns", "#Element by element", "Left the columns"],
    functions.map((found) => [found.function, number(found.runsOverColumns), number(found.runsElementByElement), found.difference ?? ""])));
  if (vertex.operators.some((operator) => operator.inputs.length)) parts.push(element("h3", {}, "Inputs and splits"), inputTable([vertex], job));
  const left = vertex.source?.backlog;
  if (left) parts.push(element("h3", {}, "Offsets"), facts([
    ["Batch began at", vertex.source.startOffset ?? "the beginning"], ["Read up to", vertex.source.endOffset ?? "–"], ["Latest there is", vertex.source.latestOffset ?? "–"],
    left.progress ? ["Read", `${number(left.progress.done)} of ${number(left.progress.total)} ${left.progress.unit}`] : null,
    left.pendingRecords === null ? null : ["Pending records", number(left.pendingRecords)], left.pendingBytes === null ? null : ["Pending", bytes(left.pendingBytes)]].filter(Boolean)));
  const states = vertex.operators.flatMap((operator) => Object.entries(operator.keyedState).map(([group, found]) => [operator.metrics.name, group, number(found.entries), number(found.openWindows), number(found.pages), bytes(found.bytes), found.bytes]));
  if (states.length) parts.push(element("h3", {}, `State by key group (the largest of ${states.length})`), table(["Operator", "#Key group", "#Entries", "#Open windows", "#Pages", "#Bytes"],
    states.sort((a, b) => b[6] - a[6]).slice(0, 16).map((row) => row.slice(0, 6))));
  const groups = Object.entries(vertex.keyGroups);
  if (groups.length) parts.push(element("h3", {}, `Records by key group (skew of the last batch: ${vertex.skew.toFixed(2)})`),
    element("div", { class: "bars" }, ...groups.sort((a, b) => a[0] - b[0]).slice(0, 256).flatMap(([group, count]) => {
      const bar = element("div", { class: "fill" });
      bar.style.width = `${(100 * count) / most}%`;
      return [element("span", {}, group), element("div", { class: "track" }, bar), element("span", {}, number(count))];
    })));
  return card(vertex.name, ...parts);
}

function operatorTable(operators, job) {
  return table(["Operator", "#Records in", "#Records out", "#Late dropped", "#Timers", "#Open windows", "#State entries", "#State", "Watermark", "#Lag"], operators.map(({ metrics, keyedState }) => [
    metrics.name, number(metrics.numRecordsIn), number(metrics.numRecordsOut), number(metrics.numLateRecordsDropped), number(metrics.timers), number(metrics.openWindows), number(metrics.stateEntries),
    metrics.stateEntries ? bytes(Object.values(keyedState).reduce((total, found) => total + found.bytes, 0)) : "–",
    dated(metrics.currentWatermark), lag(metrics.currentWatermark, job.now)]));
}

function inputTable(vertices, job) {
  const rows = vertices.flatMap((vertex) => vertex.operators.flatMap((operator) => operator.inputs.map((input) => [
    operator.metrics.name, `${input.isSplit ? "split " : ""}${input.name}`, dated(input.currentWatermark), lag(input.currentWatermark, job.now), input.lag === null ? "–" : duration(input.lag),
    moment(input.since, job.now),
    input.idle ? element("span", { class: "tag quiet" }, "idle") : input.holdsBack ? element("span", { class: "tag hold" }, "holds the others back") : "active"])));
  return table(["Operator", "Input", "Watermark", "#Lag", "#Behind first", "Unchanged since", "Status"], rows, "No operator after a shuffle yet.");
}

// ---------------------------------------------------------------- the other tabs

const PANELS = {
  watermarks: (job) => [
    card("Watermarks", table(["Operator", "Watermark", "#Lag to the clock", "Waits for"], job.vertices.filter((vertex) => !vertex.isSink).flatMap((vertex) =>
      vertex.operators.map((operator) => [operator.metrics.name, dated(operator.metrics.currentWatermark), lag(operator.metrics.currentWatermark, job.now), held({ operators: [operator] }, job.now)])))),
    card("Inputs and splits", inputTable(job.vertices, job)),
  ],
  batches: (job) => [
    card("Duration by phase", chart(job.batches, (batch) => job.phases.map(([, names]) => phase(batch, names)), duration),
      element("ul", { class: "flinkish-legend" }, ...job.phases.map(([label], index) => element("li", { class: `flinkish-phase-${index}` }, label)))),
    card("Records in", chart(job.batches, (batch) => [0, 0, batch.recordsIn], number)),
    card("Open windows", chart(job.batches, (batch) => [0, batch.openWindows], number)),
    card("Between inputs: how far the inputs of an operator, or the splits of a source, are apart in event time", chart(job.batches, (batch) => [0, 0, 0, 0, batch.inputLag], duration)),
    card("State", chart(job.batches, (batch) => [0, 0, 0, batch.stateBytes], bytes)),
    card("Last batches", table(["#Batch", "Start time", "#Duration", "#Records in", "#Records out", "#Late dropped", "#Skew", ...job.phases.map(([label]) => `#${label}`)],
      job.batches.slice(-50).reverse().map((batch) => [
        batch.id, moment(batch.startTime), duration(batch.duration), number(batch.recordsIn), number(batch.recordsOut), number(batch.lateRecordsDropped), batch.skew.toFixed(1),
        ...job.phases.map(([, names]) => duration(phase(batch, names)))]), "No batch has ended yet.")),
  ],
  checkpoints: (job) => job.checkpoint.enabled ? [
    card("Checkpoints", facts([
      ["Completed in this run", number(job.checkpoint.completed)], ["Latest", job.checkpoint.latest ? `batch ${job.checkpoint.latest.id}, ${date(job.checkpoint.latest.startTime)}` : "–"],
      ["Restored", job.checkpoint.restored === null ? "began anew" : `after batch ${job.checkpoint.restored}`],
      ["Directory", job.checkpoint.directory ?? "temporary: goes with the job"]]),
      element("p", { class: "quiet" }, "Each batch is a checkpoint: offsets, state and output are committed together.")),
    card("History", table(["#Batch", "Trigger time", "#Commit", "#State size"], job.batches.slice(-50).reverse().map((batch) => [
      batch.id, moment(batch.startTime), duration(phase(batch, ["walCommit", "commitOffsets"])), bytes(batch.stateBytes)]))),
  ] : [card(null, element("p", { class: "quiet" }, "The job runs locally, and takes no checkpoints."))],
  exceptions: (job) => job.exceptions.length ? job.exceptions.map((error, index) => card(`${index ? "" : "Root exception: "}${error.type}`,
    facts([["Time", moment(error.timestamp)], ["Operator", error.operator ?? "–"], ["Element", error.element ?? "–"]]), element("p", {}, element("pre", {}, error.message)), error.trace ? element("details", { open: !index }, element("summary", {}, "Where it was raised"), element("pre", { class: "trace" }, error.trace)) : null))
    : [card(null, element("p", { class: "quiet" }, "No run of this job has failed."))],
  metrics: async (job) => [
    await operatorCharts(job),
    card("Operators", operatorTable(job.vertices.flatMap((vertex) => vertex.operators), job)),
    card("Metrics of your functions", table(["Operator", "Metric", "#Value"], job.vertices.flatMap((vertex) => vertex.operators).flatMap(({ metrics }) =>
      Object.entries(metrics.user).map(([name, value]) => [metrics.name, name, number(value)])), "None of your functions has registered a metric.")),
  ],
  configuration: (job) => [card("Configuration", table(["Setting", "Value"], [
    ["parallelism in use", job.parallelism], ["key groups", job.maxParallelism], ...Object.entries(job.settings)]))],
};

Object.assign(PANELS, {
  profile: async (job) => {
    const found = await asked(job, "profile");
    if (!found) return [gone()];
    const asks = runs(job.status) && token ? element("button", { type: "button", class: "action", "data-key": "profile", disabled: found.requested, onclick: async () => { await call(`jobs/${encodeURIComponent(job.jid)}/profile`, { method: "POST" }); refresh(); } },
      found.requested ? "Waiting for a batch…" : "Profile the next batch") : null;
    return [
      card("Where the time of a batch goes", element("p", { class: "quiet" }, found.batch === null ? "No batch has been profiled yet: while one is, the stack of each task is looked at every 2 ms."
        : `Batch ${found.batch}, ${date(found.timestamp)}: the stack of each task, looked at every ${found.interval} ms.`), asks),
      found.functions.length ? card("Time by user function", table(["Function", "Vertex", "#Time"], found.functions.map((each) => [
        each.function, job.vertices.find((vertex) => vertex.id === each.vertex)?.name ?? "", duration(each.millis)]))) : null,
      found.keys.length ? card("Keys with the most records in the batch", table(["Key", "Vertex", "#Key group", "#Records"], found.keys.map((each) => [
        each.key, job.vertices.find((vertex) => vertex.id === each.vertex)?.name ?? "", each.keyGroup, number(each.records)]))) : null,
      ...found.vertices.map(({ name, data }) => card(name, flames(data))),
    ].filter(Boolean);
  },
  executors: async (job) => {
    const found = await asked(job, "executors");
    if (!found) return [gone()];
    return [
      card("Executors of Spark", found.error ? element("p", { class: "quiet" }, found.error) : null, found.executors.length ? table(
        ["Executor", "Address", "#Cores", "#Active tasks", "#Failed tasks", "#Storage memory", "#Peak heap", "#Time in tasks", "#Garbage collection", "Logs"],
        found.executors.map((each) => [each.active ? each.id : `${each.id} (gone)`, each.address, each.cores, each.activeTasks, each.failedTasks,
          `${bytes(each.memoryUsed)} of ${bytes(each.maxMemory)}`, each.peakHeap ? bytes(each.peakHeap) : "–", duration(each.taskMillis), duration(each.gcMillis),
          element("span", {}, ...Object.entries(each.logs).flatMap(([name, url]) => [element("a", { href: url }, name), " "]))])) : null),
      card("Python workers", table(["Process", "#Memory", "#At most", "#Processor time", "#Collections", "#Last batch"], found.workers.map((each) => [
        `${each.process} on ${each.host}`, bytes(each.residentBytes), bytes(each.peakBytes), duration(1000 * each.processorSeconds), number(each.collections), each.lastBatch]), "No task has run yet.")),
    ];
  },
  logs: async (job) => {
    const last = view.logs[view.logs.length - 1];
    const found = job.status === LOST ? { lines: [] } : await json(`logs?after=${last ? last.number : 0}`).catch((error) => { if (error.lost) return { lines: [] }; throw error; });
    view.logs = [...view.logs, ...found.lines.filter((line) => !last || line.number > last.number)].slice(-2000);
    return [card("What the program logs, and its functions in workers", element("p", { class: "quiet" }, "The last 2,000 records of Python's loggers, at the levels that the program has set; those of functions begin with the name of their operator. ",
      job.engineUI ? "What workers print is in the standard error of Spark's executors: the tab Executors links to it where the cluster serves it." : "What workers print goes to the standard error of the program or of Spark's executors."),
    view.logs.length ? element("div", { class: "logs" }, ...[...view.logs].reverse().slice(0, 500).map((line) => element("div", { class: `line ${line.level}` },
      element("span", { class: "quiet moment" }, date(line.timestamp)), " ", element("strong", {}, line.level), " ", element("span", { class: "quiet" }, line.logger), " ", element("span", { class: "message" }, line.message))))
      : element("p", { class: "quiet" }, "Nothing has been logged yet."))];
  },
});

const gone = () => card(null, element("p", { class: "quiet" }, "What the program knew of this has gone with it."));

/** A document of a job; null if the program does not answer or no longer has it. */
async function asked(job, path) {
  try {
    return await json(`jobs/${encodeURIComponent(job.jid)}/${path}`);
  } catch (error) {
    if (error.lost || error.status === 404) return null;
    throw error;
  }
}

/** The work of one operator in each batch. */
async function operatorCharts(job) {
  const operators = job.vertices.flatMap((vertex) => vertex.operators.map(({ metrics }) => metrics));
  if (!operators.some(({ uid }) => uid === view.charted)) view.charted = operators[operators.length - 1]?.uid;
  const batches = view.charted ? await asked(job, `operators/${encodeURIComponent(view.charted)}/batches`) : null;
  const whole = new Map(job.batches.map((batch) => [batch.id, batch]));
  const known = (batches || []).filter(({ id }) => whole.has(id)).map((found) => ({ ...found, ...Object.fromEntries(["startTime", "duration", "run", "recordsIn"].map((name) => [name, whole.get(found.id)[name]])) }));
  const select = element("select", { "data-key": "operator", "aria-label": "Operator", onchange: (event) => { view.charted = event.target.value; refresh(); } },
    ...operators.map(({ uid, name }) => element("option", { value: uid, selected: uid === view.charted }, name)));
  const late = (batch) => (batch.currentWatermark === null || BigInt(batch.currentWatermark) === MAX ? 0 : Math.max(0, batch.startTime + batch.duration - Number(batch.currentWatermark)));
  const charts = [["Records in", 2, (batch) => batch.numRecordsIn, number], ["Records out", 3, (batch) => batch.numRecordsOut, number], ["Work of its vertex", 1, (batch) => batch.busyMillis, duration],
    ["Watermark behind the clock", 4, late, duration], ["Open windows", 1, (batch) => batch.openWindows, number], ["State", 3, (batch) => batch.stateBytes, bytes], ["Timers", 0, (batch) => batch.timers, number]];
  return card("An operator in the last batches", select, element("div", { class: "charts" }, ...charts.filter(([, , part]) => known.some(part)).map(([name, kind, part, shown]) =>
    element("div", {}, element("h3", {}, name), chart(known, (batch) => [...Array(kind).fill(0), part(batch)], shown)))),
  known.length ? null : element("p", { class: "quiet" }, "No batch of this program has ended yet."));
}

/** A flame graph: each call is below its caller, and as wide as its share of the samples. */
function flames(root) {
  const rows = [];
  const place = (node, depth, left) => {
    rows[depth] ??= element("div", { class: "flames" });
    const share = node.value / root.value, own = !depth || node.name.includes("(flinkish/");
    const box = element("span", { class: own ? "flame own" : "flame", title: `${node.name}: ${duration(node.value)}, ${percent(share)}`, tabindex: share > 0.1 ? "0" : null }, depth ? node.name : "all tasks");
    box.style.left = `${100 * left}%`;
    box.style.width = `${100 * share}%`;
    rows[depth].append(box);
    let next = left;
    for (const child of node.children) {
      if (child.value / root.value >= 0.002) place(child, depth + 1, next);
      next += child.value / root.value;
    }
  };
  place(root, 0, 0);
  return element("div", { role: "img", "aria-label": "Flame graph" }, ...rows);
}

const phase = (batch, names) => names.reduce((total, name) => total + (batch.phases[name] || 0), 0);

/** A bar for each batch, with the `parts` stacked. */
function chart(batches, parts, shown) {
  if (!batches.length) return element("p", { class: "quiet" }, "No batch has ended yet.");
  const width = 1200, height = 130, sums = batches.map((batch) => parts(batch).reduce((a, b) => a + b, 0)), most = ceiling(sums);
  const step = width / Math.max(batches.length, 60);
  const bars = batches.map((batch, index) => {
    let y = height;
    const bar = svg("g", {}, svg("title", {}, `Batch ${batch.id}, ${date(batch.startTime)}: ${shown(sums[index])}, ${number(batch.recordsIn)} records`));
    parts(batch).forEach((part, kind) => {
      const tall = Math.min((part / most) * height, y);
      y -= tall;
      if (tall > 0.2) bar.append(svg("rect", { class: `flinkish-phase-${kind}`, x: index * step, y, width: Math.max(step - 1, 0.8), height: tall }));
    });
    if (sums[index] > most) bar.append(svg("path", { class: "cut", d: `M${index * step},5 h${Math.max(step - 1, 0.8)}`, "vector-effect": "non-scaling-stroke" }));
    return bar;
  });
  const marks = breaks(batches).map((found) => mark(found, found.index * step - 0.5, height));
  const cut = sums.filter((value) => value > most).length;
  const lines = [0, 0.5, 1].map((part) => svg("line", { x1: 0, x2: width, y1: height * part, y2: height * part, "vector-effect": "non-scaling-stroke" }));
  const first = batches[0], last = batches[batches.length - 1], caption = element("figcaption", {}, element("span", {}, `batch ${first.id}, ${date(first.startTime).slice(0, -4)}`),
    batches.length > 1 ? element("span", {}, `batch ${last.id}, ${date(last.startTime).slice(0, -4)}`) : null);
  caption.style.width = `max(${(100 * step * batches.length) / width}%, min(100%, 330px))`;
  return element("figure", { class: "chart" },
    element("div", { class: "scale" }, ...[most, most / 2, 0].map((value) => element("span", {}, shown(Math.round(value))))),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `The last ${batches.length} batches, at most ${shown(Math.max(...sums))}` }, ...lines, ...bars, ...marks),
    caption, cut || marks.length ? element("p", { class: "remarks" }, [cut ? `${cut} cut off at the top, up to ${shown(Math.max(...sums))}` : "", ...breaks(batches).slice(-5).map(({ text }) => text)].filter(Boolean).join("; ")) : null);
}

// ---------------------------------------------------------------- once a second

let turn = 0;
async function refresh() {
  const mine = ++turn, at = route(), connection = document.getElementById("connection");
  try {
    if (at.jid) {
      const job = await json(`jobs/${encodeURIComponent(at.jid)}/details?batches=${at.tab === "batches" || at.tab === "metrics" ? 600 : 50}`);
      if (mine !== turn) return;
      Object.assign(view, { job, heard: Date.now() });
      await showJob(job);
    } else {
      const { jobs } = await json("jobs/overview");
      if (mine !== turn) return;
      Object.assign(view, { jobs, heard: Date.now() });
      showJobs(jobs);
    }
    connection.textContent = token ? "" : "read only: open the whole url to stop jobs";
  } catch (error) {
    if (mine !== turn) return;
    if (error.status) {
      view.shell = null;
      main.replaceChildren(card(null, element("p", { class: "bad" }, error.message), element("a", { href: "#/" }, "All jobs")));
    } else if (error.lost) await disconnected(at, connection);
    else throw error;
  }
}

/** Show the last state that the program reported, with no job shown as running. */
async function disconnected(at, connection) {
  connection.textContent = "The program has ended or cannot be reached.";
  if (!at.jid && view.jobs) showJobs(view.jobs.map((job) => (runs(job.state) ? { ...job, state: LOST } : job)));
  else if (at.jid && view.job?.jid === at.jid) await showJob(runs(view.job.status) ? { ...view.job, status: LOST } : view.job);
  else {
    view.shell = null;
    main.replaceChildren(card(null, element("p", { class: "bad" }, "What the program said of this last is not known to this page.")));
  }
}

addEventListener("hashchange", refresh);
(async () => {
  for (;;) {
    if (!document.hidden) await refresh();
    await new Promise((done) => { setTimeout(done, 1000); });
  }
})();
