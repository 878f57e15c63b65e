import { duration } from "../../terminal/duration.ts";
import { html, type Html } from "./html.ts";

/** A time for people: `2026-07-01 08:00 UTC`, and how far away it is. */
export function timeWithDistance(time: Date, now: Date): Html {
  return html`${timeOf(time)} <span class="soft">(${distance(time, now)})</span>`;
}

export function timeOf(time: Date): Html {
  const iso = time.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

function distance(time: Date, now: Date): string {
  const seconds = (time.getTime() - now.getTime()) / 1000;
  if (seconds >= 1) return `in ${duration(seconds)}`;
  return seconds <= -1 ? `${duration(-seconds)} ago` : "now";
}
