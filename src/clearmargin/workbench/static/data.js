// Another target has other classes: the page is asked for again.

import "./page.js";

const target = document.getElementById("target");
target.addEventListener("change", () => {
  location.href = target.dataset.reload + encodeURIComponent(target.value);
});
