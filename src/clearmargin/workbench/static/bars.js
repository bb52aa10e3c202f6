// Each condition of a rule as a histogram with an interval over it, whose ends can be pulled.

import { count, covered, histogram } from "./counting.js";
import { make } from "./page.js";

const WIDTH = 320;
const HEIGHT = 46;
const TOP = 4;

export class Scale {
  constructor(feature) {
    this.feature = feature;
    this.edges = feature.edges;
  }

  // Bars have equal width, whatever their range, so that far values take no room.
  x(value) {
    const edges = this.edges;
    const n = edges.length - 1;
    if (value <= edges[0]) return 0;
    if (value >= edges[n]) return WIDTH;
    let k = 0;
    while (k < n - 1 && value >= edges[k + 1]) k += 1;
    return (WIDTH * (k + (value - edges[k]) / (edges[k + 1] - edges[k]))) / n;
  }

  value(x, shift = 0) {
    const edges = this.edges;
    const n = edges.length - 1;
    const place = Math.min(Math.max((x / WIDTH) * n, 0), n);
    const k = Math.min(Math.floor(place), n - 1);
    return this.round(edges[k] + (place - k) * (edges[k + 1] - edges[k]) - shift);
  }

  // Where an end of an interval is drawn: of whole numbers, the bars of those inside are whole.
  end(condition, side) {
    const value = condition[side];
    if (value === null) return side === "low" ? 0 : WIDTH;
    return this.x(value + this.outwards(condition, side));
  }

  outwards(condition, side) {
    if (!this.feature.integer) return 0;
    const out = side === "low" ? -0.5 : 0.5;
    return condition[`${side}_open`] ? -out : out;
  }

  // The value of an end that is pulled to a place; beyond the last bar there is no bound.
  pulled(condition, side, x) {
    if (side === "low" ? x <= 0 : x >= WIDTH) return null;
    return this.value(x, this.outwards(condition, side));
  }

  step(value) {
    if (this.feature.integer) return 1;
    const edges = this.edges;
    const n = edges.length - 1;
    let k = 0;
    while (k < n - 1 && value >= edges[k + 1]) k += 1;
    return 10 ** Math.floor(Math.log10((edges[k + 1] - edges[k]) / 5));
  }

  round(value) {
    const step = this.step(value);
    const rounded = Math.round(value / step) * step;
    return Number(rounded.toPrecision(12));
  }
}

export function percent(part, whole) {
  if (!whole) return "";
  const share = (100 * part) / whole;
  if (share > 99.9 && part < whole) return "99.9 %";
  return `${Number(share.toFixed(1))} %`;
}

// Rows that all conditions but one cover.
function insideOthers(columns, box, k) {
  const { [k]: _, ...rest } = box;
  return covered(columns, rest);
}

// The bars of a histogram, one class on the other; those that are not `chosen` are faint.
function rects(counts, chosen = null) {
  const n = counts[0].length;
  const most = Math.max(1, ...Array.from(counts[0], (c, i) => c + counts[1][i]));
  const width = WIDTH / n;
  const bars = [];
  for (let i = 0; i < n; i++) {
    let y = TOP + HEIGHT;
    for (const code of [0, 1]) {
      const height = (HEIGHT * counts[code][i]) / most;
      if (!height) continue;
      y -= height;
      bars.push(
        make("rect", {
          class: `bar-${code}${chosen && !chosen(i) ? " faint" : ""}`,
          x: (i * width + 0.5).toFixed(2),
          y: y.toFixed(2),
          width: Math.max(width - 1, 0.5).toFixed(2),
          height: height.toFixed(2),
        }),
      );
    }
  }
  return bars;
}

function conditionLine(feature, svg, words) {
  const unit = feature.unit ? ` (${feature.unit})` : "";
  const name = make("span", { class: "condition-name" }, feature.name + unit);
  return make("div", { class: "condition" }, name, svg, words);
}

// One rule as a card; `actions` has hold(), move(rule, feature, side, value, final), drop(), clashes(rule, inside),
// caseLink(row), casesLink(rule, against) and goTo(rule).
export class RuleCard {
  constructor(rule, columns, actions) {
    this.rule = rule;
    this.columns = columns;
    this.actions = actions;
    this.box = rule.box ? structuredClone(rule.box) : null;
    this.counts = make("span", { class: "counts" });
    this.element = make(
      "article",
      { class: "card rule-card", "data-place": rule.place },
      make(
        "div",
        { class: "head" },
        make(
          "h3",
          {},
          make(
            "button",
            { type: "button", class: "plain", onclick: () => actions.goTo(rule) },
            rule.title,
          ),
          " ⇒ ",
          make("span", { class: `class-${rule.code}` }, rule.label),
        ),
        this.counts,
      ),
    );
    this.bars = make("div", { class: "conditions" });
    this.element.append(this.bars);
    this.drawBars();
    this.drawCounts(rule);
    this.element.append(this.words());
  }

  drawCounts(counts) {
    const parts = [`${counts.covered.toLocaleString("en")} cases`];
    if (counts.covered) parts.push(`${percent(counts.right, counts.covered)} right`);
    if (counts.agreed !== null && counts.agreed !== undefined && counts.covered) {
      const others = counts.covered - counts.agreed;
      parts.push(others ? `machine disagrees on ${others}` : "machine agrees");
    }
    for (const { name, n } of counts.clashes || []) parts.push(`${n} also in ${name}`);
    this.counts.textContent = parts.join(" · ");
  }

  words() {
    const { rule, actions } = this;
    const place = make("div", { class: "rule-words" });
    if (rule.standing) {
      const kinds = {
        proved: "proved",
        "within ranges": "proved",
        seen: "observed",
        contradicted: "wrong",
        uncovered: "plain",
      };
      const names = { "within ranges": "proved within ranges" };
      const { kind, text } = rule.standing;
      place.append(
        make(
          "p",
          {},
          make("span", { class: `mark ${kinds[kind]}` }, names[kind] || kind),
          " ",
          text.replace(/^(proved|contradicted|seen)(: | within the ranges of your table; | )/, ""),
        ),
      );
    }
    const lists = [
      ["against it", rule.against, rule.against_count, true],
      ["the machine disagrees", rule.disagree, rule.disagree_count, false],
    ];
    for (const [title, rows, total, against] of lists) {
      if (!total) continue;
      const line = make("p", { class: "quiet" }, `${title}: `);
      rows.forEach((row, k) => {
        line.append(k ? ", " : "", make("a", { href: actions.caseLink(row) }, `case ${row}`));
      });
      if (total > rows.length) {
        line.append(
          " … ",
          make("a", { href: actions.casesLink(rule, against) }, `all ${total}`),
        );
      }
      place.append(line);
    }
    if (rule.box) place.append(this.adding());
    return place;
  }

  adding() {
    const used = new Set(Object.keys(this.rule.box));
    const options = this.columns.features
      .map((feature, k) => ({ feature, k }))
      .filter(({ feature, k }) => !feature.categories && !used.has(String(k)));
    if (!options.length) return make("span");
    const select = make(
      "select",
      { "aria-label": `add a condition to ${this.rule.title}` },
      make("option", { value: "" }, "add a condition …"),
      ...options.map(({ feature, k }) => make("option", { value: k }, feature.name)),
    );
    select.addEventListener("change", () => {
      if (select.value === "") return;
      const feature = this.columns.features[Number(select.value)];
      const scale = new Scale(feature);
      const middle = scale.value(WIDTH / 2);
      this.actions.move(this.rule, feature.name, "low", middle, true);
    });
    return make("p", { class: "no-print" }, select);
  }

  drawBars() {
    this.bars.replaceChildren();
    if (!this.box) {
      this.bars.append(make("p", { class: "quiet" }, "linear conditions are counted by the server"));
      return;
    }
    for (const [k, condition] of Object.entries(this.box)) {
      const feature = this.columns.features[Number(k)];
      if (condition.missing || condition.known) {
        const words = condition.missing ? "is missing" : "is not missing";
        this.bars.append(make("p", { class: "quiet" }, `${feature.name} ${words}`));
      } else if (condition.codes) this.bars.append(this.categories(Number(k), feature, condition));
      else this.bars.append(this.interval(Number(k), feature, condition));
    }
  }

  categories(k, feature, condition) {
    const counts = histogram(this.columns, k, insideOthers(this.columns, this.box, k));
    const allowed = new Set(condition.codes);
    const names = condition.codes.map((code) => feature.categories[code]).join(", ");
    const svg = make(
      "svg",
      {
        class: "bars",
        viewBox: `-8 0 ${WIDTH + 16} ${HEIGHT + 2 * TOP}`,
        role: "img",
        "aria-label": `${feature.name}: ${names}`,
      },
      ...rects(counts, (i) => allowed.has(i)),
    );
    return conditionLine(feature, svg, make("span", { class: "condition-words" }, names));
  }

  interval(k, feature, condition) {
    const scale = new Scale(feature);
    const counts = histogram(this.columns, k, insideOthers(this.columns, this.box, k));
    const svg = make("svg", {
      class: "bars",
      viewBox: `-8 0 ${WIDTH + 16} ${HEIGHT + 2 * TOP}`,
      role: "group",
      "aria-label": feature.name,
    });
    svg.append(...rects(counts));
    const frame = make("rect", { class: "frame", y: 1, height: HEIGHT + 2 * TOP - 2 });
    svg.append(frame);
    const words = make("span", { class: "condition-words" });
    const handles = ["low", "high"].map((side) => this.handle(svg, k, feature, side, scale));
    const draw = () => {
      const left = scale.end(condition, "low");
      const right = scale.end(condition, "high");
      frame.setAttribute("x", left);
      frame.setAttribute("width", Math.max(right - left, 0.5));
      for (const handle of handles) handle.draw();
      words.textContent = intervalText(condition);
    };
    this.redraw = { ...(this.redraw || {}), [k]: draw };
    svg.append(...handles.map((handle) => handle.element));
    draw();
    return conditionLine(feature, svg, words);
  }

  // An end of an interval: a slider for the mouse and for the keys.
  handle(svg, k, feature, side, scale) {
    const condition = this.box[k];
    const name = this.rule.title;
    const grip = make("rect", { class: "grip", width: 5, height: HEIGHT, y: TOP, rx: 2 });
    const touch = make("rect", { class: "touch", width: 16, height: HEIGHT + 2 * TOP, y: 0 });
    const element = make(
      "g",
      {
        class: "handle",
        role: "slider",
        tabindex: 0,
        "data-feature": feature.name,
        "data-side": side,
        "aria-label": `${side === "low" ? "lower" : "upper"} bound of ${feature.name} in ${name}`,
        "aria-valuemin": scale.edges[0],
        "aria-valuemax": scale.edges[scale.edges.length - 1],
      },
      touch,
      grip,
    );
    const draw = () => {
      const value = condition[side];
      const x = scale.end(condition, side);
      grip.setAttribute("x", x - 2.5);
      touch.setAttribute("x", x - 8);
      element.classList.toggle("absent", value === null);
      const otherwise = side === "low" ? scale.edges[0] : scale.edges[scale.edges.length - 1];
      element.setAttribute("aria-valuenow", value === null ? otherwise : value);
      element.setAttribute("aria-valuetext", value === null ? "no bound" : String(value));
    };
    const move = (value, final) => {
      condition[side] = this.within(condition, side, value);
      this.changed(k);
      this.actions.move(this.rule, feature.name, side, condition[side], final);
    };
    this.dragging(element, svg, {
      start: () => ({ value: condition[side], x: scale.end(condition, side) }),
      pull: (x) => move(scale.pulled(condition, side, x), false),
      release: () => move(condition[side], true),
      cancel: (value) => {
        condition[side] = value;
        this.changed(k);
        this.actions.drop();
      },
    });
    element.addEventListener("keydown", (event) => {
      const directions = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
      if (event.key === "Home" || event.key === "End") {
        event.preventDefault();
        move(null, true);
      } else if (event.key in directions) {
        event.preventDefault();
        const from = condition[side] ?? (side === "low" ? scale.edges[0] : scale.edges.at(-1));
        const step = scale.step(from) * (event.shiftKey ? 10 : 1) * directions[event.key];
        move(scale.round(from + step), true);
      }
    });
    return { element, draw };
  }

  // A pointer that takes hold of an end pulls it by as much as it moves; a mere click moves nothing.
  dragging(element, svg, end) {
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      // From here on nothing may put other bars in place of these.
      this.actions.hold();
      const start = end.start();
      // Pixels of a unit of the drawing.
      const scale = svg.getScreenCTM().a;
      const listening = new AbortController();
      const { signal } = listening;
      let moved = false;
      const cancel = () => {
        listening.abort();
        if (moved) end.cancel(start.value);
        else this.actions.drop();
      };
      element.addEventListener(
        "pointermove",
        (pointer) => {
          const far = (pointer.clientX - event.clientX) / scale;
          if (!moved && Math.abs(far) < 2) return;
          moved = true;
          end.pull(start.x + far);
        },
        { signal },
      );
      element.addEventListener(
        "pointerup",
        () => {
          listening.abort();
          if (moved) end.release();
          else this.actions.drop();
        },
        { signal },
      );
      element.addEventListener("pointercancel", cancel, { signal });
      element.addEventListener("keydown", (key) => key.key === "Escape" && cancel(), { signal });
    });
  }

  // No end passes the other one.
  within(condition, side, value) {
    const other = condition[side === "low" ? "high" : "low"];
    if (value === null || other === null) return value;
    return side === "low" ? Math.min(value, other) : Math.max(value, other);
  }

  changed(k) {
    this.redraw[k]();
    const clashes = this.actions.clashes(this.rule, covered(this.columns, this.box));
    this.drawCounts({ ...count(this.columns, this.box, this.rule.code), clashes });
  }
}

// Where the data would put a bound, beside where it is.
export function beforeAfter(columns, rule, change) {
  const k = columns.index.get(change.feature);
  if (!rule?.box || k === undefined || columns.features[k].categories) return null;
  const scale = new Scale(columns.features[k]);
  const svg = make(
    "svg",
    {
      class: "bars",
      viewBox: `-8 0 ${WIDTH + 16} ${HEIGHT + 2 * TOP}`,
      role: "img",
      "aria-label": `${change.feature}: ${change.before} before, ${change.after ?? "no bound"} after`,
    },
    ...rects(histogram(columns, k, insideOthers(columns, rule.box, k))),
  );
  for (const when of ["before", "after"]) {
    const condition = { ...rule.box[k], [change.side]: change[when] };
    const left = scale.end(condition, "low");
    const width = Math.max(scale.end(condition, "high") - left, 0.5);
    svg.append(make("rect", { class: `frame ${when}`, x: left, width, y: 1, height: HEIGHT + 2 * TOP - 2 }));
  }
  const words = make("span", { class: "condition-words" }, "dashed: as it is");
  return conditionLine(columns.features[k], svg, words);
}

function intervalText(condition) {
  const low = condition.low === null ? "" : `${condition.low_open ? ">" : "≥"} ${condition.low}`;
  const high = condition.high === null ? "" : `${condition.high_open ? "<" : "≤"} ${condition.high}`;
  return [low, high].filter(Boolean).join(" and ") || "any value";
}
