"use strict";
// Keeps the page "Live" up to date. Texts of submissions are inserted as text, never as markup.

const SHOWN = 40;
const state = document.getElementById("state");
const runs = document.querySelector("#runs tbody");
const arrivals = document.querySelector("#arrivals tbody");
const marks = document.getElementById("marks");
let last = null;
let cameAt = null;

// Characters that hide or reverse text are shown by their number, as on the rest of the page.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function plain(value) {
  const code = (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0");
  return value === null || value === undefined ? "" : String(value).replace(UNSAFE, code);
}

function cell(row, content, kind, label) {
  const made = row.insertCell();
  if (kind) made.className = kind;
  if (label) made.dataset.label = label;
  made.append(content instanceof Node ? content : plain(content));
}

function anchor(path, text, parameters) {
  const made = document.createElement("a");
  made.href = parameters ? path + "?" + new URLSearchParams(parameters) : path;
  made.textContent = plain(text);
  return made;
}

// A name that may be broken only after / and _, with its folders apart from the rest.
function named(path, name) {
  const made = anchor(path, "", { name: name });
  const end = name.endsWith("/") ? 0 : name.lastIndexOf("/") + 1;
  for (const [text, kind] of [[name.slice(0, end), "folder"], [name.slice(end), ""]]) {
    const part = document.createElement("span");
    part.className = kind;
    const pieces = plain(text).split(/(?<=[/_])(?=[^/_])/);
    part.append(...pieces.flatMap((piece) => [document.createElement("wbr"), piece]).slice(1));
    if (text) made.append(part);
  }
  made.className = "name";
  made.title = plain(name);
  return made;
}

function moment(text) {
  return text ? text.slice(0, 19).replace("T", " ") : "";
}

function figure(value) {
  return value === null ? "" : String(Number(value.toPrecision(4)));
}

// The link of a mark leads to what disturbed the times.
function speedup(item) {
  if (!item.disturbed) return figure(item.speedup);
  const made = document.createElement("span");
  const mark = anchor("/evaluation/" + item.evaluation_id, "*");
  mark.className = "mark";
  mark.title = "doubtful: " + plain(item.disturbed);
  mark.setAttribute("aria-label", mark.title);
  made.append(figure(item.speedup), mark);
  marks.hidden = false;
  return made;
}

function addArrival(item) {
  const row = arrivals.insertRow(0);
  row.className = "fresh";
  const verdict = document.createElement("span");
  verdict.className = "word";
  const status = document.createElement("span");
  status.className = "verdict " + item.status;
  status.textContent = item.status;
  verdict.append(status, "/" + plain(item.category));
  const submission = document.createElement("span");
  submission.append(named("/submission", item.submission));
  if (item.block > 1) submission.append(" [" + item.block + "]");
  cell(row, anchor("/evaluation/" + item.evaluation_id, item.evaluation_id), "n k-evaluation", "evaluation");
  cell(row, verdict, "k-verdict");
  cell(row, item.problem === null ? "" : named("/problem", item.problem), "k-problem");
  cell(row, submission, "k-submission");
  cell(row, item.author === null ? "(no author)" : named("/author", item.author), "k-author");
  cell(row, speedup(item), "n", "speedup");
  cell(row, item.case, "k-text", "case");
  cell(row, item.device_name, "k-device", "device");
  cell(row, moment(item.started_at), "minor k-moment", "started");
  while (arrivals.rows.length > SHOWN) arrivals.deleteRow(-1);
}

function progress(run, evaluated) {
  const done = evaluated + run.skipped;
  const past = run.skipped ? ", " + run.skipped + " already judged" : "";
  if (run.expected === null) return done + past;
  const made = document.createElement("span");
  if (run.finished_at === null) {
    const bar = document.createElement("progress");
    bar.max = Math.max(run.expected, 1);
    bar.value = done;
    bar.setAttribute("aria-label", "Progress of run " + run.id);
    made.append(bar, " ");
  }
  made.append(done + " of " + run.expected + past);
  return made;
}

function short(text) {
  const letters = Array.from(text);
  return letters.length <= 160 ? text : letters.slice(0, 160).join("") + " …";
}

function showRuns(found) {
  const rows = found.map((run) => {
    const row = document.createElement("tr");
    row.dataset.run = run.id;
    const statuses = Object.entries(run.statuses).sort();
    cell(row, anchor("/run/" + run.id, run.id), "n k-run", "run");
    cell(row, progress(run, statuses.reduce((sum, [, count]) => sum + count, 0)), "n", "submissions");
    cell(row, statuses.map(([status, count]) => count + " " + status).join(", "), "k-tallies");
    cell(row, moment(run.started_at), "k-moment", "started");
    cell(row, moment(run.finished_at), "k-moment", "finished");
    cell(row, short(run.command), "k-long");
    return row;
  });
  runs.replaceChildren(...rows);
}

function tell() {
  const ago = Math.round((Date.now() - cameAt) / 1000);
  state.textContent = last === null ? "Live: nothing new yet." : "Live: evaluation " + last + " arrived " + ago + " s ago.";
}

const source = new EventSource("/live/events?after=" + state.dataset.after);
let timer = null;
source.onopen = () => {
  tell();
  if (timer === null) timer = setInterval(tell, 5000);
};
source.onmessage = (event) => {
  const news = JSON.parse(event.data);
  showRuns(news.runs);
  for (const item of news.evaluations.reverse()) addArrival(item);
  if (news.evaluations.length) {
    last = news.newest;
    cameAt = Date.now();
  }
  tell();
};
source.addEventListener("trouble", (event) => {
  source.close();
  clearInterval(timer);
  state.textContent = plain(JSON.parse(event.data));
});
source.onerror = () => {
  state.textContent = "The server does not answer; trying again.";
};
