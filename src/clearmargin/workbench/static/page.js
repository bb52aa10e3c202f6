// What every page of a project does: keys, news of other tabs, progress of long work.

export const main = document.getElementById("main");
export const home = main.dataset.home;

// A tab keeps its name over reloads, and so its unfinished text.
export const tab = (() => {
  const asked = new URLSearchParams(location.search).get("tab");
  let name = asked && /^[A-Za-z0-9]{1,64}$/.test(asked) ? asked : sessionStorage.getItem("tab");
  if (!name) {
    name = Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) =>
      byte.toString(16).padStart(2, "0"),
    ).join("");
  }
  sessionStorage.setItem("tab", name);
  return name;
})();

export class Refused extends Error {
  constructor(status, body) {
    super(body.message || `the server answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

export async function send(method, path, body) {
  const answer = await fetch(home + path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, data);
  return data;
}

export const post = (path, body) => send("POST", path, body);

export async function get(path) {
  const answer = await fetch(home + path, { headers: { Accept: "application/json" } });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, data);
  return data;
}

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
  news.replaceChildren(make("p", { class: kind }, text));
  news.classList.toggle("shown", Boolean(text));
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

const JOBS = {
  train: "training",
  extract: "extracting rules",
  refine: "asking the data",
  contrast: "ranking",
  report: "writing the report",
  preview: "trying the change",
  exports: "running all forms",
};

function showJob(job) {
  const place = document.getElementById("jobs");
  let line = place.querySelector(`[data-job="${job.id}"]`);
  const over = !["waiting", "running"].includes(job.state);
  if (over) {
    if (line) line.remove();
    if (job.state === "failed") {
      place.append(make("p", { class: "job stopped" }, `${JOBS[job.kind] || job.kind}: ${job.error}`));
    }
    return;
  }
  if (!line) {
    line = make(
      "div",
      { class: "job", "data-job": job.id },
      make("span", { class: "job-text" }),
      make("progress", { max: 1, "aria-label": JOBS[job.kind] || job.kind }),
      make("button", { type: "button", class: "plain", onclick: () => cancel(job.id) }, "cancel"),
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
  const source = new EventSource(`${home}/events?last=${main.dataset.lastEvent}`);
  for (const name of ["job", "version", "result", "exam", "missed"]) {
    source.addEventListener(name, (event) => {
      const body = JSON.parse(event.data);
      if (name === "job") showJob(body);
      for (const listener of listeners[name] || []) listener(body);
    });
  }
  addEventListener("pagehide", () => source.close());
}

// The version in the header is that of the newest news.
on("version", (body) => {
  const place = document.querySelector(".head-version");
  const link = make("a", { href: `${home}/revisions/${body.revision}` }, `v${body.revision}`);
  place.replaceChildren(link, ` · ${body.author} · just now`);
});

const PAGES = ["data", "rules", "cases", "history", "export"];

function onKey(event) {
  if (event.altKey && !event.ctrlKey && /^[1-5]$/.test(event.key)) {
    event.preventDefault();
    location.href = `${home}/${PAGES[Number(event.key) - 1]}`;
  }
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "?" && !typing && !event.ctrlKey && !event.altKey) {
    event.preventDefault();
    document.getElementById("keys").showModal();
  }
}

if (home) {
  addEventListener("keydown", onKey);
  const keys = document.getElementById("show-keys");
  keys.hidden = false;
  keys.addEventListener("click", () => document.getElementById("keys").showModal());
  for (const button of document.querySelectorAll("[data-start]")) {
    button.hidden = false;
    button.addEventListener("click", () => startJob(button.dataset.start));
  }
  listen();
}
