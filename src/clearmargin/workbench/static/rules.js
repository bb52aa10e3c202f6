// The page Rules: text and bars of the same rules, what the data say of them, and what would change.

import { RuleCard, beforeAfter, percent } from "./bars.js";
import { Columns, covered } from "./counting.js";
import { Editor } from "./editor.js";
import {
  Refused,
  beforeLeaving,
  draft,
  get,
  home,
  make,
  on,
  post,
  problem,
  randomName,
  send,
  startJob,
  tab,
  tell,
} from "./page.js";

const $ = (id) => document.getElementById(id);
const bench = $("bench");
const query = new URLSearchParams(location.search);
if (draft.get() && !query.has("tab")) {
  // What was being written in this tab comes back, from whatever page.
  query.set("tab", tab);
  location.replace(`${home}/rules?${query}`);
  // Nothing else is done on a page that is left.
  await new Promise(() => {});
}
let columns = null;
let base = Number(bench.dataset.base);
let head = Number(bench.dataset.head);
// Answers come back with the number of the question, and results of jobs are told to all tabs.
const visit = randomName();
let asked = 0;
let serial = "";
let latest = { text: null, errors: [], rules: [], findings: [] };
let timers = {};
// A bound is being pulled; bounds that were let go and are not in the text yet; something was typed since the last check.
let pulling = false;
let writing = false;
let typed = false;
const moved = [];
let previewJob = null;

const later = (name, wait, work) => {
  clearTimeout(timers[name]);
  timers[name] = setTimeout(work, wait);
};

const settings = () => ({ machine: $("machine").value, balanced: $("balanced").checked });

const editor = new Editor($("text"), $("layer"), $("candidates"), {
  changed: () => {
    typed ||= !writing;
    isJudged("no");
    draft.set({ base, text: editor.text });
    later("check", 30, check);
    later("draft", 400, keepDraft);
  },
  complete: async (text, offset) => {
    try {
      return (await post("/complete", { text, offset })).candidates;
    } catch (error) {
      problem(error);
      return [];
    }
  },
});

async function keepDraft() {
  clearTimeout(timers.draft);
  delete timers.draft;
  const text = editor.text;
  try {
    await post("/draft", { tab, base, text });
    if (editor.text === text) draft.set({ base });
    history.replaceState(null, "", `${home}/rules?tab=${tab}`);
  } catch (error) {
    problem(error);
  }
}

// Pages that are opened from here speak of the text as it stands.
beforeLeaving(() => timers.draft && keepDraft());

// Checking

// How far the page is about the text as it stands now, for whoever waits for it: "no", "checked", and "yes" once it
// is known what would change.
function isJudged(how) {
  bench.dataset.judged = how;
}

async function check() {
  isJudged("no");
  serial = `${visit}${++asked}`;
  dropPreview();
  const text = editor.text;
  try {
    const answer = await post("/check", { text, serial, tab: visit });
    if (answer.superseded || answer.serial !== serial) return;
    // Bars of an older text would take back what the hand has done since.
    if (pulling || writing || text !== editor.text) return;
    typed = false;
    latest = { ...answer, text };
    // As findings count them: rules with mistakes have no number.
    latest.rules.forEach((rule, k) => (rule.title = rule.name || `rule ${k + 1}`));
    show(latest);
    isJudged("checked");
    later("preview", 120, preview);
  } catch (error) {
    problem(error);
  }
}

function show(answer) {
  // Where something is missing, what stands before it is marked.
  const marks = answer.errors.map(({ from, to }) => ({
    from: to > from ? from : Math.max(from - 1, 0),
    to,
    kind: "squiggle",
  }));
  for (const rule of answer.rules) {
    marks.push({ from: rule.class_span[0], to: rule.class_span[1], kind: `label-${rule.code}` });
  }
  for (const finding of answer.findings) {
    if (finding.severity === "note") continue;
    for (const [from, to] of finding.spans) {
      marks.push({ from, to, kind: finding.severity === "error" ? "wavy" : "dotted" });
    }
  }
  editor.mark(marks);
  showMistakes(answer.errors);
  showFindings(answer.findings);
  if (columns) showRules(answer.rules);
  $("machine-now").textContent = answer.now;
  $("vote").textContent = answer.vote ? answer.vote.text : "";
}

function showMistakes(errors) {
  $("mistakes").replaceChildren(
    ...errors.map((error) => {
      const line = make("p", { class: "mistake" }, `line ${error.line}: ${error.message} `);
      if (error.fix !== null) {
        line.append(
          make(
            "button",
            { type: "button", class: "fix", onclick: () => editor.replace(error.from, error.to, error.fix) },
            `write ${error.fix}`,
          ),
        );
      }
      return line;
    }),
  );
}

function showFindings(findings) {
  $("findings").replaceChildren(
    ...findings.map((finding) => {
      const line = make("p", { class: `finding ${finding.severity}` });
      const message = finding.message.replace(/(\d) %/g, "$1\u00a0%");
      line.append(make("strong", {}, `${finding.severity}: `), message);
      if (finding.rows.length) {
        const shown = finding.rows.slice(0, 6);
        line.append(" ");
        shown.forEach((row, k) => line.append(k ? ", " : "", make("a", { href: caseLink(row) }, `case ${row}`)));
        if (finding.count > shown.length) line.append(` and ${finding.count - shown.length} more`);
      }
      return line;
    }),
  );
}

const caseLink = (row) => `${home}/cases/${row}?tab=${tab}`;
const casesLink = (rule, against) => {
  const which = against ? "&against=1" : "&which=disagree";
  return `${home}/cases?rule=${latest.rules.indexOf(rule)}${which}&sort=boundary&tab=${tab}`;
};

function showRules(rules) {
  const focused = document.activeElement?.closest?.(".handle");
  const card = focused?.closest(".rule-card");
  const back = focused && {
    place: card.dataset.place,
    feature: focused.dataset.feature,
    side: focused.dataset.side,
  };
  const hold = () => (pulling = true);
  const actions = { hold, move, drop: letGo, clashes: clashFinder(rules), caseLink, casesLink, goTo };
  const cards = rules.slice(0, 60).map((rule) => new RuleCard(rule, columns, actions).element);
  if (!rules.length) {
    cards.push(
      make(
        "p",
        { class: "quiet" },
        "Write a rule on the left, or take one over from the machine's. Each condition is drawn here as a bar whose ends can be pulled.",
      ),
    );
  }
  if (rules.length > 60) cards.push(make("p", { class: "quiet" }, `and ${rules.length - 60} more rules`));
  $("bars").replaceChildren(...cards);
  if (back) {
    for (const handle of $("bars").querySelectorAll(`[data-place="${back.place}"] .handle`)) {
      if (handle.dataset.feature === back.feature && handle.dataset.side === back.side) handle.focus();
    }
  }
}

function goTo(rule) {
  editor.textarea.focus();
  editor.textarea.setSelectionRange(rule.from, rule.to);
}

// Rules of other classes that cover some of the same cases, while a bound is on its way.
function clashFinder(rules) {
  const rows = new Map();
  const rowsOf = (rule) => {
    if (!rows.has(rule)) rows.set(rule, covered(columns, rule.box));
    return rows.get(rule);
  };
  return (rule, inside) => {
    const others = rules.filter((other) => other.box && other.code !== rule.code).slice(0, 60);
    const found = others.map((other) => {
      const both = rowsOf(other).reduce((n, is, k) => n + (is & inside[k]), 0);
      return { name: other.title, n: both };
    });
    return found.filter(({ n }) => n);
  };
}

// Pulling a bound: the number in the text follows the hand, the server has the last word on release.
function move(rule, feature, side, value, final) {
  isJudged("no");
  if (typed) {
    // The bars are those of an older text; what was typed comes first.
    letGo();
    return;
  }
  if (!final) {
    pulling = true;
    const bound = rule.conditions
      .flatMap((condition) => condition.bounds)
      .find((b) => b.feature === feature && b.side === side && b.from !== null);
    if (bound && value !== null) {
      editor.pull(latest.text.slice(0, bound.from) + value + latest.text.slice(bound.to));
    }
    return;
  }
  pulling = false;
  const edit = { rule: rule.place, feature, side, value };
  // A bound that is moved again before the server has answered goes to its last place at once.
  const isSame = (other) =>
    other.rule === edit.rule && other.feature === feature && other.side === side;
  const before = moved.findIndex(isSame);
  if (before >= 0) moved.splice(before, 1);
  moved.push(edit);
  if (!writing) writeMoved();
}

function letGo() {
  isJudged("no");
  pulling = false;
  editor.letGo();
  later("check", 0, check);
}

async function writeMoved() {
  writing = true;
  while (moved.length) {
    const edit = moved.shift();
    const text = editor.text;
    try {
      const answer = await post("/edit", { text, ...edit });
      // Whatever was typed meanwhile stays: the bound is set in the new text.
      if (editor.text === text) editor.set(answer.text);
      else moved.unshift(edit);
    } catch (error) {
      problem(error);
    }
  }
  writing = false;
  if (!pulling) letGo();
}

// What would change

// Whether an answer is about an older text. A bound on its way is not in the text yet, but soon will be.
function isOld(asked) {
  return pulling || writing || asked.serial !== serial || editor.text !== asked.text;
}

async function preview() {
  // A text that was not checked yet is asked about after its check.
  if (editor.text !== latest.text) return;
  const mine = { text: editor.text, settings: settings(), serial, tab: visit };
  try {
    const answer = await post("/preview", mine);
    if (answer.job) previewJob = { id: answer.job, ...mine };
    if (answer.superseded || isOld(mine)) dropPreview();
    else showPreview(answer);
  } catch (error) {
    if (isOld(mine)) return;
    $("change").textContent = error.message;
    $("flips").replaceChildren();
    isJudged("yes");
  }
}

// Work on a text that has changed meanwhile is for nothing.
function dropPreview() {
  if (!previewJob) return;
  send("DELETE", `/jobs/${previewJob.id}`).catch(() => {});
  previewJob = null;
}

async function fetchPreview() {
  const mine = previewJob;
  previewJob = null;
  try {
    const { found } = await get("/results/preview");
    if (found && found.text === mine.text && !isOld(mine)) showPreview(found);
  } catch (error) {
    problem(error);
  }
}

function showPreview(answer) {
  const place = $("change");
  if (answer.waiting) {
    place.textContent = answer.waiting;
    return;
  }
  if (answer.job) {
    place.textContent = "this machine takes longer; the answer is on its way";
    return;
  }
  const { before, after, better, worse, n_flips: flips } = answer;
  const share = (part) => `${((100 * part.right) / part.rows).toFixed(1)} %`;
  place.textContent = flips
    ? `${share(before)} → ${share(after)} right on rows not trained on; ${flips} case${flips === 1 ? "" : "s"} change${flips === 1 ? "s" : ""}, ${better} better, ${worse} worse (p = ${answer.p_value.toPrecision(2)})`
    : `nothing: ${share(after)} right on rows not trained on, no case changes`;
  $("show-flips").hidden = !flips;
  $("show-flips").href = `${home}/cases?which=flips&tab=${tab}`;
  $("flips").replaceChildren(
    ...answer.flips.slice(0, 6).map((flip) =>
      make(
        "li",
        { class: flip.effect },
        make("a", { href: caseLink(flip.row) }, `case ${flip.row}`),
        ` ${flip.truth}: ${flip.before} → ${flip.after}`,
        flip.rules.length ? ` (${flip.rules.join(", ")})` : "",
      ),
    ),
  );
  isJudged("yes");
}

// Keeping

function openKeep() {
  if (latest.errors.length) {
    tell("Mend the mistakes first; F8 leads to them.", "bad");
    editor.next(latest.errors, false);
    return;
  }
  const dialog = $("keep-dialog");
  if (dialog.open) return;
  $("keep-summary").textContent = $("change").textContent;
  $("why").value = "";
  // A dialog remembers how it was closed the last time, also when it is left by Escape.
  dialog.returnValue = "";
  dialog.showModal();
  $("why").focus();
}

async function keep(why, author, onTop = null) {
  clearTimeout(timers.draft);
  delete timers.draft;
  try {
    const answer = await post("/revisions", {
      text: editor.text,
      why,
      author,
      base: onTop ?? base,
      settings: settings(),
      tab,
    });
    base = head = answer.revision;
    draft.drop();
    isJudged("no");
    later("check", 0, check);
    $("keep").textContent = `Keep as v${head + 1} …`;
    tell(`Kept as version ${head}; its machine is being trained.`);
  } catch (error) {
    if (error instanceof Refused && error.status === 409) showStale(error.body, why, author);
    else problem(error);
  }
}

function showStale(body, why, author) {
  const lines = (pairs) =>
    pairs
      .filter(([sign, line]) => sign !== " " && line.trim())
      .map(([sign, line]) => make("span", { class: sign === "+" ? "came" : "went" }, `${sign} ${line}\n`));
  $("stale-text").textContent = `Version ${body.head.id} was kept by ${body.head.author}: ${body.head.why}`;
  $("stale-mine").replaceChildren(...lines(body.mine_lines));
  $("stale-head").replaceChildren(...lines(body.head_lines));
  const dialog = $("stale");
  dialog.returnValue = "cancel";
  dialog.addEventListener(
    "close",
    async () => {
      if (dialog.returnValue === "mine") await keep(why, author, body.head.id);
      if (dialog.returnValue === "theirs") {
        await post("/draft", { tab: `${tab}aside`.slice(0, 60), base, text: editor.text });
        base = body.head.id;
        editor.set(body.head.text);
        await keepDraft();
        tell("Your text is put aside among the unfinished ones of this page.");
      }
    },
    { once: true },
  );
  dialog.showModal();
}

$("keep").addEventListener("click", openKeep);
$("keep-dialog").addEventListener("close", () => {
  if ($("keep-dialog").returnValue === "keep") keep($("why").value, $("author").value);
});
// Without this, Enter in the form of another browser would send the page.
$("keep-form").addEventListener("submit", (event) => {
  event.preventDefault();
  openKeep();
});

addEventListener("keydown", (event) => {
  const ctrl = event.ctrlKey || event.metaKey;
  if (ctrl && event.key.toLowerCase() === "s") {
    event.preventDefault();
    openKeep();
  } else if (ctrl && event.key === "Enter") {
    event.preventDefault();
    startJob("train", { choose: true });
  } else if (event.key === "F8") {
    event.preventDefault();
    const places = [
      ...latest.errors,
      ...latest.findings.flatMap((f) => f.spans.map(([from, to]) => ({ from, to }))),
    ];
    editor.next(places, event.shiftKey);
  } else if (ctrl && event.key.toLowerCase() === "z" && !event.shiftKey) {
    // What a bound has written is taken back from where the bound is.
    if (!event.target.closest(".rule-card")) return;
    event.preventDefault();
    editor.undo();
  }
});

for (const id of ["machine", "balanced"]) {
  $(id).addEventListener("change", () => {
    isJudged("no");
    dropPreview();
    later("preview", 0, preview);
  });
}

// Tabs on the right

const tabs = ["mine", "machine", "refined"];
function choose(name) {
  for (const other of tabs) {
    const chosen = other === name;
    $(`tab-${other}`).setAttribute("aria-selected", String(chosen));
    $(`tab-${other}`).tabIndex = chosen ? 0 : -1;
    $(`panel-${other}`).hidden = !chosen;
  }
  if (name === "machine") loadMachineRules();
  if (name === "refined") loadRefined();
}
tabs.forEach((name, k) => {
  $(`tab-${name}`).addEventListener("click", () => choose(name));
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(k + step + tabs.length) % tabs.length];
    choose(next);
    $(`tab-${next}`).focus();
  });
});

const extract = (short) => startJob("extract", { short, assume_ranges: $("assume-ranges").checked });
$("extract").addEventListener("click", () => extract(false));
$("extract-short").addEventListener("click", () => extract(true));
$("refine").addEventListener("click", () => startJob("refine", { text: editor.text }));

async function loadMachineRules() {
  const { found } = await get("/results/rules").catch(() => ({ found: null }));
  const place = $("machine-rules");
  if (!found) {
    place.replaceChildren(make("p", { class: "quiet" }, "Not extracted for this version yet."));
    return;
  }
  place.replaceChildren(
    make("p", {}, `${found.budget}. ${found.words}`),
    ...found.lines.map((line) =>
      make(
        "article",
        { class: "card" },
        make("code", {}, line.text),
        make(
          "p",
          { class: "quiet" },
          line.points === undefined || line.points === null ? "" : `${line.points > 0 ? "+" : ""}${Number(line.points.toPrecision(4))} points · `,
          line.covered === null ? "" : `${line.covered} cases`,
          line.right === null || !line.covered ? "" : ` · ${percent(line.right, line.covered)} right`,
          line.proof === "proved" ? " · proved" : "",
        ),
        make(
          "p",
          {},
          make("button", { type: "button", onclick: () => takeOver(line.text) }, "take it over"),
        ),
      ),
    ),
  );
}

function takeOver(line) {
  const text = editor.text;
  const before = text.length && !text.endsWith("\n") ? "\n" : "";
  editor.replace(text.length, text.length, `${before}${line}\n`);
  tell("Added to your rules.");
}

async function loadRefined() {
  const { found } = await get("/results/refined").catch(() => ({ found: null }));
  const place = $("refined");
  if (!found) {
    place.replaceChildren(make("p", { class: "quiet" }, "Nothing was asked yet."));
    return;
  }
  if (found.text !== editor.text) {
    place.replaceChildren(
      make("p", { class: "quiet" }, "Your rules have changed since the data were asked; ask again."),
    );
    return;
  }
  const cards = [];
  found.bounds.forEach((change) => cards.push(boundCard(change)));
  found.rules.forEach((change) => cards.push(refinedCard(change)));
  if (!cards.length) cards.push(make("p", {}, "The data suggest no change that holds up on cases that had no part in finding it."));
  place.replaceChildren(...cards);
}

function suggestion(title, why, accept, drawing = null) {
  const card = make("article", { class: "card suggestion" });
  // Whoever comes by keys goes on with the next one.
  const settle = () => {
    const next = card.nextElementSibling || card.previousElementSibling;
    card.remove();
    (next?.querySelector("button") || $("refine")).focus();
  };
  card.append(
    make("h3", {}, title),
    ...(drawing ? [drawing] : []),
    make("p", {}, why),
    make(
      "p",
      {},
      make("button", { type: "button", class: "main", onclick: async () => (await accept()) && settle() }, "accept"),
      " ",
      make("button", { type: "button", onclick: settle }, "reject"),
    ),
  );
  return card;
}

function ruleName(k) {
  const rule = latest.rules[k];
  return rule ? rule.title : `rule ${k + 1}`;
}

function boundCard(change) {
  const drawing = columns && beforeAfter(columns, latest.rules[change.rule], change);
  const accept = async () => {
    try {
      const rule = latest.rules[change.rule];
      const answer = await post("/edit", {
        text: editor.text,
        rule: rule.place,
        feature: change.feature,
        side: change.side,
        value: change.after,
      });
      editor.set(answer.text);
      return true;
    } catch (error) {
      problem(error);
      return false;
    }
  };
  return suggestion(ruleName(change.rule), change.why, accept, drawing);
}

function refinedCard(change) {
  const why = `As a plane can respect it everywhere: ${change.after} (before: ${change.before})`;
  return suggestion(ruleName(change.rule), why, async () => {
    const rule = latest.rules[change.rule];
    if (!rule) return false;
    editor.replace(rule.from, rule.to, change.after);
    return true;
  });
}

// News

on("result", (body) => {
  if (body.kind === "extract") loadMachineRules();
  if (body.kind === "refine") loadRefined();
  if (body.kind === "preview" && previewJob?.serial === body.serial) fetchPreview();
  if (body.kind === "train") loadColumns().then(check);
});
on("version", (body) => {
  if (body.revision > head) {
    head = body.revision;
    later("check", 0, check);
    $("keep").textContent = `Keep as v${head + 1} …`;
    if (body.revision !== base) tell(`${body.author} kept version ${body.revision}: ${body.why}`);
  }
});

async function loadColumns() {
  const answer = await fetch(bench.dataset.columns);
  columns = new Columns(await answer.arrayBuffer());
}

// What was typed last may not have reached the server before the page was left.
const unsent = draft.get();
const added = query.get("add");
if (unsent && unsent.text !== undefined) {
  base = unsent.base;
  editor.set(added ? `${unsent.text.trimEnd()}\n${added}\n`.trimStart() : unsent.text);
}
if (added) {
  // From now on the rule is a draft: it is not lost when the page is left, nor added again when it is loaded again.
  draft.set({ base, text: editor.text });
  history.replaceState(null, "", `${home}/rules?tab=${tab}`);
  keepDraft();
}
loadColumns().then(check, problem);
