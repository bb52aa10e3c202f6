// The page Data: another target has other classes, and what is refused is said beside what was chosen.

import { Refused, problem, tell } from "./page.js";

const form = document.getElementById("task");
const target = document.getElementById("target");
// Whoever chose it by keys goes on from there.
if (new URLSearchParams(location.search).has("target")) target.focus();
target.addEventListener("change", () => {
  location.href = target.dataset.reload + encodeURIComponent(target.value);
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button.main");
  button.disabled = true;
  tell("");
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(new FormData(form)),
    });
    if (answer.ok) {
      location.href = answer.url;
      return;
    }
    throw new Refused(answer.status, await answer.json().catch(() => ({})));
  } catch (error) {
    problem(error);
    scrollTo(0, 0);
  }
  button.disabled = false;
});
