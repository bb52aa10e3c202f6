import { on, startJob } from "./page.js";

const form = document.getElementById("contrast");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  startJob("contrast", { share: Number(form.elements.share.value) });
});
on("result", (body) => {
  if (body.kind === "contrast") location.reload();
});
