// One case: why it gets its class, what if its values were others, what would change the answer.

import { home, on, post, problem } from "./page.js";

const form = document.getElementById("what-if");
const row = form.dataset.row;
const answer = document.getElementById("what-if-answer");
let serial = 0;

// Features are called as people like, `constructor` or `__proto__` too.
function changed() {
  const values = Object.create(null);
  for (const field of form.querySelectorAll("input[data-was], select[data-was]")) {
    if (field.value !== field.dataset.was) values[field.dataset.feature] = field.value;
  }
  return values;
}

async function ask() {
  const values = changed();
  if (!Object.keys(values).length) {
    answer.textContent = "Change a value to see what the machine would say.";
    return;
  }
  const mine = ++serial;
  try {
    const said = await post(`/cases/${row}/what-if`, { values, serial: mine });
    if (said.serial !== serial) return;
    const sign = said.score >= 0 ? "+" : "";
    answer.textContent = `With these values: ${said.label} (score ${sign}${said.score.toFixed(2)}).`;
    for (const place of form.querySelectorAll("[data-turn]")) {
      const name = place.dataset.turn;
      const turn = Object.hasOwn(said.turns, name) ? said.turns[name] : null;
      place.textContent = turn === null ? "" : `other class at ${Number(turn.toPrecision(5))}`;
    }
  } catch (error) {
    if (mine === serial) answer.textContent = error.message;
  }
}

form.addEventListener("input", ask);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
form.addEventListener("reset", () => setTimeout(ask));

async function explain() {
  const place = document.getElementById("explanation");
  try {
    const said = await post(`/cases/${row}/explain`, {});
    place.textContent = said.text;
    place.classList.remove("quiet");
    const rule = document.getElementById("explanation-rule");
    rule.textContent = said.rule;
    rule.hidden = false;
    const link = document.getElementById("make-rule");
    link.href = `${home}/rules?add=${encodeURIComponent(said.rule)}`;
    link.hidden = false;
    if (said.points) {
      const points = document.getElementById("points");
      points.textContent = said.points;
      points.hidden = false;
    }
  } catch (error) {
    place.textContent = error.message;
  }
}

const button = document.getElementById("recourse");
if (button) {
  button.addEventListener("click", async () => {
    const place = document.getElementById("recourse-answer");
    place.textContent = "searching …";
    try {
      place.textContent = (await post(`/cases/${row}/recourse`, {})).text;
    } catch (error) {
      place.textContent = error.message;
    }
  });
}

on("result", (body) => {
  if (body.kind === "train") explain();
});
explain().catch(problem);
