/** @typedef {import("./mutants.mjs").Mutant} Mutant */
/** @typedef {Mutant & { id: number }} Planted */
/** @typedef {import("./mutants.mjs").Range} Range */

/** The name of the function that decides which mutant is active. */
const ASK = "__signpostMutant";

/**
 * The source of a file with all its mutants, of which the one that the state names is active. Programs that a test starts read
 * the same state, so nothing is compiled again for a mutant. The lines keep their numbers.
 *
 * @param {string} source
 * @param {readonly Planted[]} mutants
 * @param {string} statePath
 */
export function render(source, mutants, statePath) {
  const ordered = mutants.toSorted((a, b) => a.host.start - b.host.start || b.host.end - a.host.end || a.id - b.id);
  return `${renderRange(source, { start: 0, end: source.length }, ordered)}${askFunction(statePath)}`;
}

/**
 * The source with one mutant alone.
 *
 * @param {string} source
 * @param {Pick<Mutant, "start" | "end" | "text">} mutant
 */
export function applied(source, { start, end, text }) {
  return source.slice(0, start) + text + source.slice(end);
}

/**
 * @param {string} source
 * @param {Range} range
 * @param {readonly Planted[]} mutants whose hosts are in the range, the outer ones first
 * @returns {string}
 */
function renderRange(source, range, mutants) {
  let text = "";
  let at = range.start;
  let rest = mutants;
  for (let first = rest[0]; first !== undefined; first = rest[0]) {
    const { host } = first;
    const here = rest.filter((mutant) => mutant.host.start === host.start && mutant.host.end === host.end);
    const inside = rest.filter((mutant) => mutant.host.start < host.end && !here.includes(mutant));
    text += source.slice(at, host.start) + choice(source, host, here, inside);
    at = host.end;
    rest = rest.filter((mutant) => mutant.host.start >= host.end);
  }
  return text + source.slice(at, range.end);
}

/** @param {string} source @param {Range} host @param {readonly Planted[]} here @param {readonly Planted[]} inside */
function choice(source, host, here, inside) {
  const original = renderRange(source, host, inside);
  const without = here.filter(({ of }) => of === "statement" || of === "block");
  if (without.length > 0) return `{if(!(${without.map(({ id }) => `${ASK}(${id})`).join("||")})){${original}}}`;
  const choices = here.map((mutant) => {
    const end = host.end + mutant.text.length - (mutant.end - mutant.start);
    return `${ASK}(${mutant.id})?(${applied(source, mutant).slice(host.start, end)}):`;
  });
  return `(${choices.join("")}(${original}))`;
}

/**
 * Which mutant is active is read once for each process and thread. `record` names the test that runs, to learn what it reaches.
 * A program that gave up the rights to write this down goes on, and does so once it has them again.
 *
 * @param {string} statePath
 */
function askFunction(statePath) {
  const path = JSON.stringify(statePath);
  return `
function ${ASK}(id){const g=globalThis as any;if(!g.${ASK}){let ask=(_:number)=>false;try{
const fs=process.getBuiltinModule("node:fs");const {active,record}=JSON.parse(fs.readFileSync(${path},"utf8"));
const seen=new Set();ask=(n)=>{if(record!==null&&!seen.has(n)){try{fs.appendFileSync(${path}+".hits",record+"\\t"+n+"\\n");seen.add(n);}catch{}}
return n===active;};}catch{}Object.defineProperty(g,"${ASK}",{value:ask});}return g.${ASK}(id);}
`;
}
