// The editor: a native textarea over a layer of ours, which marks mistakes and names at the same places.

import { make } from "./page.js";

export class Editor {
  constructor(textarea, layer, candidates, callbacks) {
    this.textarea = textarea;
    this.layer = layer;
    this.list = candidates;
    this.callbacks = callbacks;
    this.marks = [];
    this.found = [];
    this.chosen = -1;
    textarea.addEventListener("input", () => {
      this.draw();
      this.hide();
      callbacks.changed();
    });
    textarea.addEventListener("keydown", (event) => this.onKey(event));
    textarea.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
    textarea.setAttribute("aria-controls", candidates.id);
    this.draw();
  }

  get text() {
    return this.textarea.value;
  }

  // Replace characters as if they were typed, so that undo works; without `focus` it goes back to where it was.
  replace(start, end, text, focus = true) {
    const area = this.textarea;
    const before = document.activeElement;
    const { scrollX, scrollY } = window;
    area.focus({ preventScroll: !focus });
    area.setSelectionRange(start, end);
    // Nothing else lets the browser's own undo go on; where it is missing, the value is set.
    const done = text
      ? document.execCommand("insertText", false, text)
      : document.execCommand("delete");
    if (!done) {
      area.setRangeText(text, start, end, "end");
      area.dispatchEvent(new Event("input"));
    }
    if (focus || before === area) return;
    if (before && before !== document.body) before.focus({ preventScroll: true });
    else area.blur();
    scrollTo(scrollX, scrollY);
  }

  // Show how the text would be while a bound is being pulled; the text itself stays, and with it the way back.
  pull(text) {
    this.layer.parentElement.classList.add("pulling");
    this.layer.replaceChildren(`${text}\u200b`);
  }

  letGo() {
    this.layer.parentElement.classList.remove("pulling");
    this.draw();
  }

  undo() {
    this.textarea.focus();
    document.execCommand("undo");
  }

  set(text, focus = false) {
    if (text === this.text) return;
    const old = this.text;
    let from = 0;
    while (from < old.length && from < text.length && old[from] === text[from]) from += 1;
    let to = 0;
    while (
      to < old.length - from &&
      to < text.length - from &&
      old[old.length - 1 - to] === text[text.length - 1 - to]
    ) {
      to += 1;
    }
    this.replace(from, old.length - to, text.slice(from, text.length - to), focus);
  }

  // Marks are {from, to, kind, title}; kinds are style classes.
  mark(marks) {
    this.marks = marks.filter((mark) => mark.to > mark.from).sort((a, b) => a.from - b.from);
    this.draw();
  }

  draw() {
    const text = this.text;
    const pieces = [];
    let place = 0;
    for (const mark of this.marks) {
      const from = Math.max(mark.from, place);
      if (mark.to > text.length || from >= mark.to) continue;
      pieces.push(text.slice(place, from));
      pieces.push(make("span", { class: mark.kind }, text.slice(from, mark.to)));
      place = mark.to;
    }
    // A last empty line needs something to stand on.
    pieces.push(text.slice(place) + "\u200b");
    this.layer.replaceChildren(...pieces);
    this.textarea.style.height = "auto";
    this.textarea.style.height = `${Math.max(this.textarea.scrollHeight + 2, 220)}px`;
  }

  next(places, backwards) {
    if (!places.length) return;
    const here = this.textarea.selectionStart;
    const sorted = [...places].sort((a, b) => a.from - b.from);
    const found = backwards
      ? sorted.reverse().find((place) => place.from < here) || sorted[0]
      : sorted.find((place) => place.from > here) || sorted[0];
    this.textarea.focus();
    this.textarea.setSelectionRange(found.from, found.to);
  }

  async complete() {
    const text = this.text;
    const found = await this.callbacks.complete(text, this.textarea.selectionStart);
    if (text !== this.text) return;
    this.found = found.slice(0, 100);
    this.chosen = this.found.length ? 0 : -1;
    if (this.found.length) this.show();
    else this.hide();
  }

  show() {
    this.list.replaceChildren(
      ...this.found.map((candidate, k) =>
        make(
          "li",
          {
            role: "option",
            id: `candidate-${k}`,
            "aria-selected": k === this.chosen ? "true" : "false",
            onmousedown: (event) => {
              event.preventDefault();
              this.take(k);
            },
          },
          make("span", {}, candidate.text),
          make("span", { class: "quiet" }, ` ${candidate.detail || candidate.kind}`),
        ),
      ),
    );
    this.list.hidden = false;
    this.textarea.setAttribute("aria-activedescendant", `candidate-${this.chosen}`);
    const place = this.placeOf(this.found[0].from);
    this.list.style.left = `${Math.min(place.left, this.layer.clientWidth - 200)}px`;
    this.list.style.top = `${place.bottom + 4}px`;
    this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
  }

  placeOf(offset) {
    const range = document.createRange();
    let left = offset;
    const walker = document.createTreeWalker(this.layer, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const length = walker.currentNode.length;
      if (left <= length) {
        range.setStart(walker.currentNode, Math.min(left, length));
        range.collapse(true);
        const box = range.getBoundingClientRect();
        const origin = this.layer.getBoundingClientRect();
        return { left: box.left - origin.left, bottom: box.bottom - origin.top };
      }
      left -= length;
    }
    return { left: 0, bottom: 0 };
  }

  hide() {
    this.list.hidden = true;
    this.textarea.removeAttribute("aria-activedescendant");
  }

  take(k) {
    const candidate = this.found[k];
    this.hide();
    const after = /^\S/.test(this.text.slice(candidate.to)) ? " " : "";
    this.replace(candidate.from, candidate.to, candidate.text + after);
  }

  onKey(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === " ") {
      event.preventDefault();
      this.complete();
      return;
    }
    if (this.list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.chosen = (this.chosen + step + this.found.length) % this.found.length;
      this.show();
    } else if (event.key === "Enter" || event.key === "Tab") {
      event.preventDefault();
      this.take(this.chosen);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.hide();
    }
  }
}
