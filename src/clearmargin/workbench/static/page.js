// What every page of a project does: keys, news of other tabs, progress of long work.

import { follow } from "./stream.js";

export const main = document.getElementById("main");
export const home = main.dataset.home;

export const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

// A tab keeps its name over reloads, and so its unfinished text.
export const tab = (() => {
  const asked = new URLSearchParams(location.search).get("tab");
  const isName = asked && /^[A-Za-z0-9]{1,64}$/.test(asked);
  const name = isName ? asked : sessionStorage.getItem("tab") || randomName();
  sessionStorage.setItem("tab", name);
  return name;
})();

// What is written in this tab and not kept as a version: `text` only until the server has it.
export const draft = {
  get() {
    const stored = JSON.parse(sessionStorage.getItem("draft") || "null");
    return stored?.home === home ? stored : null;
  },
  set(value) {
    try {
      sessionStorage.setItem("draft", JSON.stringify({ home, ...value }));
    } catch {
      // A text that is too large for the browser is with the server a moment later.
    }
  },
  drop() {
    sessionStorage.removeItem("draft");
  },
};

// What has to be done before another page is opened from this one.
const duties = [];
export const beforeLeaving = (duty) => duties.push(duty);

async function leave(address) {
  for (const duty of duties) await duty();
  location.href = address;
}

function onClick(event) {
  const link = event.target.closest("a[href]:not([download])");
  const isPlain = !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !duties.length || !isPlain || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  leave(link.href);
}

export class Refused extends Error {
  constructor(status, body) {
    super(body.message || `the server answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

const AWAY =
  "The workbench does not answer; look at the terminal where it was started. What you have typed stays in this tab.";

export async function send(method, path, body) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const given = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  const answer = await fetch(home + path, given).catch(() => {
    throw new Refused(0, { message: AWAY });
  });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, data);
  return data;
}

export const post = (path, body) => send("POST", path, body);
export const get = (path) => send("GET", path);

// An element with text, attributes and children; text is never markup.
export function make(name, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "circle", "g", "text", "title"].includes(name);
  const element = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function tell(text, kind = "") {
  const news = document.getElementById("news");
  news.replaceChildren(...(text ? [make("p", { class: kind }, text)] : []));
}

export function problem(error) {
  tell(error instanceof Refused ? error.message : `${error}`, "bad");
}

export async function startJob(kind, options = {}) {
  try {
    const answer = await post("/jobs", { kind, ...options });
    showJob({ id: answer.job, kind, state: answer.state, progress: 0, message: "" });
    return answer.job;
  } catch (error) {
    problem(error);
    return null;
  }
}

// What work is called; as in pages.py.
const JOBS = {
  train: "training",
  extract: "extracting rules",
  refine: "asking the data",
  contrast: "ranking",
  report: "writing the report",
  preview: "trying the change",
};

const cancelButton = (id) =>
  make("button", { type: "button", class: "plain", onclick: () => cancel(id) }, "cancel");

function showJob(job) {
  // What a change would do is told beside the rules.
  if (job.kind === "preview" && job.state !== "failed") return;
  const place = document.getElementById("jobs");
  place.querySelector(`.stopped[data-kind="${job.kind}"]`)?.remove();
  let line = place.querySelector(`[data-job="${job.id}"]`);
  const over = !["waiting", "running"].includes(job.state);
  if (over) {
    if (line) line.remove();
    if (job.state === "failed") {
      const words = `${JOBS[job.kind] || job.kind}: ${job.error}`;
      place.append(make("p", { class: "job stopped", "data-kind": job.kind }, words));
    }
    return;
  }
  if (!line) {
    line = make(
      "div",
      { class: "job", "data-job": job.id },
      make("span", { class: "job-text" }),
      make("progress", { max: 1, "aria-label": JOBS[job.kind] || job.kind }),
      cancelButton(job.id),
    );
    place.append(line);
  }
  line.querySelector(".job-text").textContent =
    `${JOBS[job.kind] || job.kind} ${job.message || ""}`.trim();
  const bar = line.querySelector("progress");
  if (job.progress > 0) bar.value = job.progress;
  else bar.removeAttribute("value");
}

async function cancel(id) {
  try {
    await send("DELETE", `/jobs/${id}`);
  } catch (error) {
    problem(error);
  }
}

const listeners = {};
export function on(event, listener) {
  (listeners[event] ||= []).push(listener);
}

function listen() {
  const names = ["job", "version", "result", "exam", "missed"];
  follow(`${home}/events`, Number(main.dataset.lastEvent), names, (name, body) => {
    if (name === "job") showJob(body);
    for (const listener of listeners[name] || []) listener(body);
  });
}

// The version in the header is that of the newest news.
on("version", (body) => {
  const place = document.querySelector(".head-version");
  const link = make("a", { href: `${home}/revisions/${body.revision}` }, `v${body.revision}`);
  place.replaceChildren(link, ` · ${body.author} · just now`);
});

const PAGES = ["data", "rules", "cases", "history", "export"];

function onKey(event) {
  // With Alt some keyboards give another sign than the digit on the key.
  const digit = /^(?:Digit|Numpad)?([1-5])$/.exec(event.key) || /^Digit([1-5])$/.exec(event.code);
  if (event.altKey && !event.ctrlKey && digit) {
    event.preventDefault();
    leave(`${home}/${PAGES[Number(digit[1]) - 1]}`);
  }
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "?" && !typing && !event.ctrlKey && !event.altKey) {
    event.preventDefault();
    document.getElementById("keys").showModal();
  }
}

if (home) {
  addEventListener("keydown", onKey);
  addEventListener("click", onClick);
  const keys = document.getElementById("show-keys");
  keys.hidden = false;
  keys.addEventListener("click", () => document.getElementById("keys").showModal());
  for (const button of document.querySelectorAll("[data-start]")) {
    button.hidden = false;
    button.addEventListener("click", () => startJob(button.dataset.start));
  }
  for (const line of document.querySelectorAll("#jobs [data-job]")) {
    line.append(cancelButton(line.dataset.job));
  }
  listen();
}
