// A file that is dropped on the page is the file of the form.

import { follow } from "./stream.js";

const form = document.getElementById("upload");
const input = document.getElementById("file");

addEventListener("dragover", (event) => {
  event.preventDefault();
  form.classList.add("dropping");
});
addEventListener("dragleave", () => form.classList.remove("dropping"));
addEventListener("drop", (event) => {
  event.preventDefault();
  form.classList.remove("dropping");
  if (event.dataTransfer.files.length === 1) {
    input.files = event.dataTransfer.files;
    input.focus();
  }
});
form.addEventListener("submit", () => {
  form.querySelector("button").textContent = "Reading the table …";
});

// By this stream the server knows that somebody looks at the page.
follow("/events", 0, [], () => {});
