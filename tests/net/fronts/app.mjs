// SPDX-License-Identifier: MIT
// An application that asks weir by itself: node app.mjs. Its limit is an account's. While weir is
// down or slow a request passes; "allowed: false" would refuse it.
import { createServer } from "node:http";

const UNASKED = { allowed: true, fields: {} };

async function ask(zone, key) {
  const answer = await fetch("http://127.0.0.1:8090/app", {
    method: "POST",
    body: JSON.stringify({ zones: [zone], key }),
    signal: AbortSignal.timeout(250),
  });
  return answer.ok ? answer.json() : UNASKED;
}

createServer(async (request, response) => {
  const account = request.headers["x-account"] ?? "nobody";
  const decision = await ask("account", account).catch(() => UNASKED);
  response.writeHead(decision.allowed ? 200 : 429, decision.fields);
  response.end(decision.allowed ? "hello\n" : "too many requests\n");
}).listen(8083, "127.0.0.1");
