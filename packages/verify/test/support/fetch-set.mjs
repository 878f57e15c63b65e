// Fetches a set in a fresh process, and ends while the connection is still open. Prints what became of it.
import { createRemoteKeySet } from "@signpost/verify";

const [url = "", before] = process.argv.slice(2);
// Node's own fetch sets a dispatcher for all requests.
if (before === "after-fetch") await fetch("data:,");
const outcome = await createRemoteKeySet(url, { allowInsecureLoopback: true })
  .preload()
  .then(
    () => "ok",
    ({ message }) => message.replace(/^.*: /, ""),
  );
console.log(outcome);
