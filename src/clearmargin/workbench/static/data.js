// Another target has other classes: the page is asked for again.

import "./page.js";

const target = document.getElementById("target");
// Whoever chose it by keys goes on from there.
if (new URLSearchParams(location.search).has("target")) target.focus();
target.addEventListener("change", () => {
  location.href = target.dataset.reload + encodeURIComponent(target.value);
});
