// Columns of the open rows, and which of them a rule covers: the same answer as RuleSet.covers.

const TYPES = { "<f8": Float64Array, "<i4": Int32Array, "|u1": Uint8Array };

export class Columns {
  constructor(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const start = 4 + length;
    this.rows = header.rows;
    this.classes = header.classes;
    this.features = header.features;
    this.arrays = {};
    for (const { name, type, offset, n } of header.arrays) {
      this.arrays[name] = new TYPES[type](buffer, start + offset, n);
    }
    this.index = new Map(this.features.map((feature, k) => [feature.name, k]));
  }

  values(k) {
    return this.arrays[`x${k}`];
  }
}

// Leave out of `inside` the rows that a condition is false for; on a missing value every condition is false.
function restrict(inside, values, condition) {
  const n = values.length;
  if (condition.missing) {
    for (let i = 0; i < n; i++) if (values[i] === values[i]) inside[i] = 0;
    return;
  }
  if (condition.codes) {
    const allowed = new Set(condition.codes);
    for (let i = 0; i < n; i++) if (!allowed.has(values[i])) inside[i] = 0;
    return;
  }
  if (condition.known) {
    for (let i = 0; i < n; i++) if (values[i] !== values[i]) inside[i] = 0;
    return;
  }
  const low = condition.low === null ? -Infinity : condition.low;
  const high = condition.high === null ? Infinity : condition.high;
  const lowOpen = condition.low_open;
  const highOpen = condition.high_open;
  for (let i = 0; i < n; i++) {
    const x = values[i];
    // Written so that NaN fails.
    const above = lowOpen ? x > low : x >= low;
    const below = highOpen ? x < high : x <= high;
    if (!(above && below)) inside[i] = 0;
  }
}

export function covered(columns, box) {
  const inside = new Uint8Array(columns.rows).fill(1);
  for (const [feature, condition] of Object.entries(box)) {
    restrict(inside, columns.values(feature), condition);
  }
  return inside;
}

export function count(columns, box, code) {
  const inside = covered(columns, box);
  const { truth, machine } = columns.arrays;
  let n = 0;
  let right = 0;
  let agreed = 0;
  for (let i = 0; i < inside.length; i++) {
    if (!inside[i]) continue;
    n += 1;
    if (truth[i] === code) right += 1;
    if (machine && machine[i] === code) agreed += 1;
  }
  return { covered: n, right, agreed: machine ? agreed : null };
}

// Counts of a feature in its bars, by class; `inside` limits them to some rows.
export function histogram(columns, k, inside = null) {
  const feature = columns.features[k];
  const values = columns.values(k);
  const { truth } = columns.arrays;
  const n = feature.categories ? feature.categories.length : feature.edges.length - 1;
  const counts = [new Uint32Array(n), new Uint32Array(n)];
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    if (x !== x || (inside && !inside[i])) continue;
    const bar = feature.categories ? x : barOf(feature.edges, x);
    if (bar >= 0 && bar < n) counts[truth[i]][bar] += 1;
  }
  return counts;
}

export function barOf(edges, x) {
  let low = 0;
  let high = edges.length - 1;
  if (x < edges[0]) return 0;
  if (x >= edges[high]) return high - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x < edges[middle]) high = middle;
    else low = middle;
  }
  return low;
}
